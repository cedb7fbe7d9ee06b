/* Kernels for up to 64 reactions in groups of eight that are not alike: no branch depends on the
 * reaction, and threads of a warp stay together whatever happens to them. Counts are in shared
 * memory. Every event computes all propensities and their sums, and keeps those of groups and of
 * their parts of SPAN reactions. In the part that the event falls into, laws and changes are read
 * from tables, which are in shared memory too: threads are at different places in them. */
#include "backend/cuda/codegen/registers_kinds.h"

#include <inttypes.h>
#include <string.h>

enum { SPAN = 4, PARTS = SALTUS_FANOUT / SPAN };

/* The upper half of a whole number as a double; false: the lower half is not 0. */
static bool upper_half(int64_t amount, uint32_t *upper)
{
    const double x = (double)amount;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    *upper = (uint32_t)(bits >> 32);
    return (bits & 0xffffffff) == 0;
}

static int n_factors(const saltus_tables *t, int r)
{
    return t->factor_row[r + 1] - t->factor_row[r];
}

/* Whether the second factor of reaction r is a count less 1. */
static bool is_pair(const saltus_tables *t, int r)
{
    return n_factors(t, r) == 2 && t->factor_offset[t->factor_row[r] + 1] == 1.0;
}

bool saltus_uniform_fits(const saltus_tables *t)
{
    uint32_t upper;
    for (int r = 0; r < t->n_reactions; ++r) {
        const double *offset = t->factor_offset + t->factor_row[r];
        const int n = n_factors(t, r);
        if (!saltus_is_product(t, r) || n > 2 || (n > 0 && offset[0] != 0.0) ||
            (n > 1 && offset[1] != 0.0 && !is_pair(t, r))) {
            return false;
        }
        for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
            if (!upper_half(t->change_amount[c], &upper)) {
                return false;
            }
        }
    }
    return true;
}

/* How many counts a reaction changes, at most. */
static int n_changes(const saltus_tables *t)
{
    int n = 1;
    for (int r = 0; r < t->n_reactions; ++r) {
        const int own = t->change_row[r + 1] - t->change_row[r];
        n = own > n ? own : n;
    }
    return n;
}

/* Rows of the tables are an odd number of doubles long, so that different ones begin in different
 * banks of the memory. */
static int change_stride(const saltus_tables *t)
{
    return n_changes(t) | 1;
}

int saltus_uniform_table_bytes(const saltus_tables *t)
{
    return 8 * saltus_n_groups(t) * (PARTS * (2 * SPAN + 1) + SALTUS_FANOUT * change_stride(t));
}

/* Write rates and factors by part. The species after the last stands for none and counts 1. */
static void put_laws(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    for (int p = 0; p < saltus_n_groups(t) * PARTS; ++p) {
        fprintf(w->out, "    {{");
        for (int r = p * SPAN; r < (p + 1) * SPAN; ++r) {
            const int n = r < t->n_reactions ? n_factors(t, r) : 0;
            const int32_t *species = r < t->n_reactions ? t->factor_species + t->factor_row[r] : 0;
            fprintf(w->out, "{");
            saltus_put_table_rate(w, r);
            fprintf(w->out, ", %d * SALTUS_BLOCK, %d * SALTUS_BLOCK}, ",
                    n > 0 ? species[0] : t->n_species, n > 1 ? species[1] : t->n_species);
        }
        fprintf(w->out, "}, 0.0},\n");
    }
}

static void put_changes(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    const int stride = change_stride(t);
    for (int r = 0; r < saltus_n_groups(t) * SALTUS_FANOUT; ++r) {
        const int first = r < t->n_reactions ? t->change_row[r] : 0,
                  n = r < t->n_reactions ? t->change_row[r + 1] - first : 0;
        fprintf(w->out, "    {");
        for (int i = 0; i < stride; ++i) {
            uint32_t upper = 0;
            if (i < n) {
                (void)upper_half(t->change_amount[first + i], &upper);
            }
            fprintf(w->out, "{%d * SALTUS_BLOCK, 0x%" PRIx32 "u}, ",
                    i < n ? t->change_species[first + i] : t->n_species, upper);
        }
        fprintf(w->out, "},\n");
    }
}

void saltus_put_uniform_state(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    const int groups = saltus_n_groups(t);
    fprintf(
        w->out,
        "typedef struct saltus_law {\n    double rate;\n    int32_t first, second;\n} saltus_law;\n"
        "typedef struct saltus_part {\n    saltus_law laws[%d];\n    double spare;\n} "
        "saltus_part;\n"
        "typedef struct saltus_change {\n    int32_t place;\n    uint32_t amount; /* the upper "
        "half of a double */\n} saltus_change;\n"
        "typedef struct saltus_model {\n    saltus_part parts[%d];\n    saltus_change "
        "changes[%d][%d];\n} saltus_model;\n"
        "SALTUS_TABLE saltus_model saltus_the_model = {{\n",
        SPAN, groups * PARTS, groups * SALTUS_FANOUT, change_stride(t));
    put_laws(w);
    fprintf(w->out, "}, {\n");
    put_changes(w);
    fprintf(w->out,
            "}};\ntypedef struct saltus_worker_state {\n    double time;\n    double *x;\n");
    for (int g = 0; g < groups; ++g) {
        /* running sums of groups, and within them at the ends of parts */
        fprintf(w->out, "    double t%d;\n", g);
        for (int j = 0; j + 1 < PARTS; ++j) {
            fprintf(w->out, "    double e%d_%d;\n", g, j);
        }
    }
    if (saltus_has_events(t)) {
        saltus_put_event_state(w);
    }
    fprintf(w->out,
            "} saltus_worker_state;\n#define SALTUS_X(i) s->x[(i)*SALTUS_BLOCK]\n"
            "#define SALTUS_K(i) SALTUS_X(%d + (i))\n"
            "SALTUS_FN void saltus_state_open(saltus_worker_state *s, const "
            "saltus_launch *a)\n{\n    (void)a;\n"
            "    saltus_block_copy(saltus_shared, (const double *)&saltus_the_model,\n"
            "                      (int)(sizeof(saltus_model) / 8));\n"
            "    s->x = saltus_shared + sizeof(saltus_model) / 8 + SALTUS_THREAD_IN_BLOCK;\n"
            "    s->x[%d * SALTUS_BLOCK] = 1.0; /* nowhere, and no factor */\n}\n",
            t->n_species + 1, t->n_species);
}

/* Write the sum of all propensities, which are computed for it. */
static void put_total(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out,
            "SALTUS_FN int saltus_state_refresh(saltus_worker_state *s, const saltus_launch *a)\n"
            "{\n    (void)s;\n    (void)a;\n    return 0;\n}\n"
            "SALTUS_FN double saltus_state_total(saltus_worker_state *s, const saltus_launch "
            "*a,\n                                          int *bad)\n{\n    (void)a;\n"
            "    (void)bad;\n");
    for (int g = 0; g < saltus_n_groups(t); ++g) {
        const int first = g * SALTUS_FANOUT, end = saltus_group_end(t, g);
        for (int r = first; r < end; ++r) {
            fprintf(w->out, "    const double c%d = ", r);
            fprintf(w->out, r > first ? "c%d + saltus_law%d(s);\n" : "saltus_law%d(s);\n",
                    r > first ? r - 1 : r, r);
        }
        for (int j = 0; j + 1 < PARTS; ++j) {
            const int last = first + (j + 1) * SPAN - 1;
            fprintf(w->out, "    s->e%d_%d = c%d;\n", g, j, last < end ? last : end - 1);
        }
        if (g == 0) {
            fprintf(w->out, "    s->t0 = c%d;\n", end - 1);
        } else {
            fprintf(w->out, "    s->t%d = s->t%d + c%d;\n", g, g - 1, end - 1);
        }
    }
    fprintf(w->out, "    return s->t%d;\n}\n", saltus_n_groups(t) - 1);
}

/* Write p, the part that holds l, and start, the sum before it. */
static void put_choose_part(const saltus_writer *w)
{
    const int last = saltus_n_groups(w->t) - 1;
    fprintf(w->out, "        int p = %d;\n        double start = 0.0;\n", last * PARTS);
    for (int g = last - 1; g >= 0; --g) {
        fprintf(w->out, "        p = isg%d ? %d : p;\n", g, g * PARTS);
    }
    fprintf(w->out, "        const double h = high - base, l = low - base;\n");
    for (int j = 0; j + 1 < PARTS; ++j) {
        fprintf(w->out, "        double e%d = s->e%d_%d;\n", j, last, j);
        for (int g = last - 1; g >= 0; --g) {
            fprintf(w->out, "        e%d = isg%d ? s->e%d_%d : e%d;\n", j, g, g, j, j);
        }
        fprintf(w->out,
                "        const int past%d = !(e%d > l);\n        p += past%d;\n"
                "        start = past%d ? e%d : start;\n",
                j, j, j, j, j);
    }
}

/* Write c0, c1 …, the running sums in part p. */
static void put_part_sums(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "        const saltus_part *part = &model->parts[p];\n");
    for (int i = 0; i < SPAN; ++i) {
        uint32_t pairs = 0;
        for (int r = i; r < t->n_reactions; r += SPAN) {
            pairs |= (uint32_t)is_pair(t, r) << (r / SPAN);
        }
        fprintf(w->out, "        const double y%d = s->x[part->laws[%d].second]", i, i);
        if (pairs) {
            fprintf(w->out, " - (0x%" PRIx32 "u >> p & 1 ? 1.0 : 0.0)", pairs);
        }
        fprintf(w->out, ";\n        double rate%d = part->laws[%d].rate;\n", i, i);
        for (int r = i; r < t->n_reactions; r += SPAN) {
            if (saltus_varies(w, r)) {
                fprintf(w->out, "        rate%d = p == %d ? ", i, r / SPAN);
                saltus_put_rate(w, r);
                fprintf(w->out, " : rate%d;\n", i);
            }
        }
        fprintf(w->out, "        const double c%d = ", i);
        fprintf(w->out, i > 0 ? "c%d" : "start", i - 1);
        fprintf(w->out, " + rate%d * s->x[part->laws[%d].first] * y%d;\n", i, i, i);
    }
}

/* Write how the counts of reaction k of the part change. The species that stands for none keeps its
 * 1. */
static void put_steps(const saltus_writer *w)
{
    const int n = n_changes(w->t);
    fprintf(w->out, "        int k = %d;\n", SPAN - 1);
    for (int i = SPAN - 2; i >= 0; --i) {
        fprintf(w->out, "        k = is%d ? %d : k;\n", i, i);
    }
    fprintf(w->out, "        const saltus_change *changes = model->changes[p * %d + k];\n", SPAN);
    for (int i = 0; i < n; ++i) {
        fprintf(w->out,
                "        double *x%d = s->x + changes[%d].place;\n"
                "        const double v%d =\n            *x%d + "
                "SALTUS_AS_F64((int64_t)((uint64_t)changes[%d].amount << 32));\n",
                i, i, i, i, i);
    }
    const bool idles = saltus_may_idle(w->t);
    for (int i = 0; i < n && w->t->n_unsafe > 0; ++i) {
        fprintf(w->out, idles ? "        fires &= v%d >= 0.0;\n" : "        bad |= v%d < 0.0;\n",
                i);
    }
    for (int i = 0; i < n; ++i) {
        fprintf(w->out, idles ? "        *x%d = fires ? v%d : *x%d;\n" : "        *x%d = v%d;\n", i,
                i, i);
    }
}

void saltus_put_uniform(const saltus_writer *w)
{
    const bool idles = saltus_may_idle(w->t);
    fprintf(w->out, "%s", idles ? "#define SALTUS_IDLES 1\n" : "");
    put_total(w);
    fprintf(
        w->out,
        SALTUS_FIRE_HEAD
        "    int bad = 0%s;\n    const saltus_model *model = (const saltus_model *)saltus_shared;\n"
        "    for (int refined = 0;;) {\n",
        idles ? ", fires = 1" : "");
    saltus_put_choose_group(w);
    put_choose_part(w);
    put_part_sums(w);
    char check[80];
    (void)snprintf(check, sizeof check, "                bad |= !(l < c%d);\n", SPAN - 1);
    saltus_put_choose(w, SPAN, check);
    put_steps(w);
    fprintf(w->out, "        break;\n    }\n    return %s;\n}\n",
            idles ? "bad | (fires ? 0 : 2)" : "bad");
}
