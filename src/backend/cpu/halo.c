/* An exchange is one message to each side and one from it, and a second one where many particles
 * cross:
 *
 *     slab 0                                     slab 1
 *     departures above: 3      n = 3, 3 of them -->  3 arrivals from below
 *     520 arrivals             <-- n = 520, 509     departures below: 520
 *                              <-- 11 more
 */
#include "backend/cpu/halo.h"

#include "core/memory.h"

#include <string.h>

enum { LEAST_ROOM = 1 << 12 };

saltus_status saltus_halo_create(const saltus_peers *peers, bool is_ring, saltus_halo *h,
                                 saltus_error *err)
{
    const int i = peers->number, n = peers->n;
    h->peers = peers;
    h->beside[0] = i > 0 ? i - 1 : is_ring ? n - 1 : -1;
    h->beside[1] = i + 1 < n ? i + 1 : is_ring ? 0 : -1;
    return saltus_halo_grow(h, err);
}

void saltus_halo_free(saltus_halo *h)
{
    for (int side = 0; side < 2; ++side) {
        saltus_free(h->departures[side].what);
        saltus_free(h->departures[side].number);
        saltus_free(h->rest[side]);
    }
}

bool saltus_halo_is_full(const saltus_halo *h)
{
    return h->departures[0].n > h->departures[0].capacity ||
           h->departures[1].n > h->departures[1].capacity;
}

saltus_status saltus_halo_grow(saltus_halo *h, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int side = 0; side < 2; ++side) {
        saltus_mpd_departures *d = &h->departures[side];
        const int64_t wanted = 2 * d->n > LEAST_ROOM ? 2 * d->n : LEAST_ROOM;
        d->n = 0;
        if (wanted <= d->capacity) {
            continue;
        }
        saltus_mpd_departure *what = saltus_realloc(d->what, (size_t)wanted, sizeof *what);
        SALTUS_NEED(what);
        d->what = what;
        int32_t *number = saltus_realloc(d->number, (size_t)wanted, sizeof *number);
        SALTUS_NEED(number);
        d->number = number;
        d->capacity = wanted;
    }
done:
    return status;
}

/* The message that goes to a side: what goes up comes from below. */
static saltus_transfer transfer(const saltus_halo *h, int side, bool is_sent, void *bytes,
                                size_t size)
{
    return (saltus_transfer){h->beside[side],
                             (side == 1) == is_sent ? SALTUS_PEER_UP : SALTUS_PEER_DOWN, is_sent,
                             bytes, size};
}

static int64_t behind_first(int64_t n)
{
    return n > SALTUS_HALO_FIRST ? n - SALTUS_HALO_FIRST : 0;
}

static saltus_status exchange_rest(saltus_halo *h, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_transfer all[4];
    int n = 0;
    for (int side = 0; side < 2; ++side) {
        const int64_t n_out = behind_first(h->out[side].n), n_in = behind_first(h->in[side].n);
        if (n_in > h->rest_capacity[side]) {
            saltus_mpd_departure *grown =
                saltus_realloc(h->rest[side], (size_t)n_in, sizeof *grown);
            SALTUS_NEED(grown);
            h->rest[side] = grown;
            h->rest_capacity[side] = n_in;
        }
        if (n_in > 0) {
            all[n++] = transfer(h, side, false, h->rest[side], (size_t)n_in * sizeof **h->rest);
        }
        if (n_out > 0) {
            all[n++] = transfer(h, side, true, h->departures[side].what + SALTUS_HALO_FIRST,
                                (size_t)n_out * sizeof **h->rest);
        }
    }
    if (n > 0) {
        SALTUS_TRY(h->peers->exchange(h->peers->user, all, n, err));
    }
done:
    return status;
}

saltus_status saltus_halo_exchange(saltus_halo *h, bool *is_void, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_transfer all[4];
    int n = 0;
    *is_void |= saltus_halo_is_full(h);
    for (int side = 0; side < 2; ++side) {
        const saltus_mpd_departures *d = &h->departures[side];
        h->out[side].n = *is_void ? -1 : d->n;
        h->in[side].n = 0;
        if (h->beside[side] < 0) {
            h->out[side].n = 0;
            continue;
        }
        if (!*is_void) {
            memcpy(h->out[side].first, d->what,
                   (size_t)(d->n - behind_first(d->n)) * sizeof *d->what);
        }
        all[n++] = transfer(h, side, false, &h->in[side], sizeof h->in[side]);
        all[n++] = transfer(h, side, true, &h->out[side], sizeof h->out[side]);
    }
    SALTUS_TRY(h->peers->exchange(h->peers->user, all, n, err));
    SALTUS_TRY(exchange_rest(h, err));
    *is_void |= h->in[0].n < 0 || h->in[1].n < 0;
done:
    return status;
}

int64_t saltus_halo_n_arrivals(const saltus_halo *h, int side)
{
    return h->in[side].n;
}

const saltus_mpd_departure *saltus_halo_arrival(const saltus_halo *h, int side, int64_t i)
{
    return i < SALTUS_HALO_FIRST ? &h->in[side].first[i] : &h->rest[side][i - SALTUS_HALO_FIRST];
}
