/* The form: a version, the model's sizes, where the trajectory is, and what the sites hold. Sites
 * of entries are told by their distance from the one before, which is mostly small; so entries can
 * be put into bytes in parts, at the same time, which are the bytes of all one after the other. */
#include "engine/rdme_keep.h"

enum { FORM = 1, MANY = 1 << 16 /* entries that are worth a thread */ };

static void pack_head(saltus_packer *k, const saltus_mpd_tables *tables, saltus_mpd_position *at,
                      int64_t *n)
{
    saltus_pack_same(k, FORM);
    saltus_pack_same(k, tables->m.n_species);
    saltus_pack_same(k, tables->lattice->n_sites);
    SALTUS_PACK(k, at->frame);
    SALTUS_PACK(k, at->step);
    SALTUS_PACK(k, at->fired);
    SALTUS_PACK(k, at->work);
    SALTUS_PACK(k, *n);
}

static void pack_entry(saltus_packer *k, int64_t *away, int64_t *species, int64_t *count)
{
    saltus_pack_small(k, away);
    saltus_pack_small(k, species);
    saltus_pack_small(k, count);
}

/* ------------------------------------------------------------------------------------------------
 * Keeping
 */

typedef struct packing {
    const saltus_contents *contents;
    saltus_packer parts[SALTUS_MOST_PARTS];
} packing;

static void pack_part(void *user, int part, int64_t first, int64_t end)
{
    packing *p = user;
    const saltus_contents *c = p->contents;
    saltus_packer *k = &p->parts[part];
    int64_t site = first > 0 ? c->site[first - 1] : 0;
    for (int64_t i = first; i < end && !k->failed; ++i) {
        int64_t away = c->site[i] - site, species = c->species[i], count = c->count[i];
        pack_entry(k, &away, &species, &count);
        site = c->site[i];
    }
}

static void hand_over(void *user, int number)
{
    saltus_mpd_keeping *keeping = user;
    saltus_packer state = {0};
    packing p = {.contents = &keeping->contents};
    const saltus_mpd_engine *aside = keeping->aside;
    saltus_error err = {0};
    int64_t n;
    size_t size = 0;
    (void)number;
    if (aside && aside->collect_aside(aside->user, &keeping->contents, &err) != SALTUS_OK) {
        saltus_keep_answer(keeping->task, false);
        return;
    }
    n = keeping->contents.n;
    pack_head(&state, keeping->tables, &keeping->at, &n);
    saltus_parallel(n, MANY, pack_part, &p);
    for (int i = 0; i < SALTUS_MOST_PARTS; ++i) {
        size += p.parts[i].n;
        state.failed |= p.parts[i].failed;
    }
    saltus_pack_reserve(&state, size);
    for (int i = 0; i < SALTUS_MOST_PARTS; ++i) {
        if (p.parts[i].n > 0) {
            saltus_pack_bytes(&state, p.parts[i].data, p.parts[i].n);
        }
        saltus_pack_free(&p.parts[i]);
    }
    saltus_keep(keeping->task, keeping->job, keeping->n_samples, &state);
    saltus_pack_free(&state);
    saltus_keep_answer(keeping->task, false);
}

void saltus_mpd_keep(saltus_mpd_keeping *k, const saltus_mpd_position *at, int64_t n_samples)
{
    k->at = *at;
    k->n_samples = n_samples;
    saltus_keep_answer(k->task, true);
    k->is_busy = (k->aside || k->contents.n >= MANY) &&
                 saltus_threads_start(&k->thread, 1, 0, hand_over, k) == 1;
    if (!k->is_busy) {
        hand_over(k, 0);
    }
}

void saltus_mpd_keep_wait(saltus_mpd_keeping *k)
{
    if (k->is_busy) {
        saltus_threads_join(&k->thread, 1);
    }
    k->is_busy = false;
}

void saltus_mpd_keep_end(saltus_mpd_keeping *k)
{
    saltus_mpd_keep_wait(k);
    saltus_contents_free(&k->contents);
}

/* ------------------------------------------------------------------------------------------------
 * Taking
 */

saltus_status saltus_mpd_keep_take(const saltus_mpd_keeping *keeping, bool *is_taken,
                                   saltus_mpd_position *at, saltus_contents *contents,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_mpd_tables *tables = keeping->tables;
    saltus_packer k;
    int64_t n = 0, site = 0;
    *is_taken = saltus_keep_open(keeping->job, &k);
    if (!*is_taken) {
        goto done;
    }
    pack_head(&k, tables, at, &n);
    for (int64_t i = 0; i < n && !k.failed; ++i) {
        int64_t away = 0, species = 0, count = 0;
        pack_entry(&k, &away, &species, &count);
        site += away;
        k.failed |= site < 0 || site >= tables->lattice->n_sites || species < 0 ||
                    species >= tables->m.n_species || count < 0 || count > INT32_MAX;
        if (!k.failed) {
            SALTUS_TRY(saltus_contents_add(contents, site, (int)species, (int32_t)count, err));
        }
    }
    *is_taken = !k.failed;
done:
    return status;
}
