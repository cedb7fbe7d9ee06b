/* Collectors as bytes: what was made of an ensemble so far, so that more can be added to it later.
 *
 *     u64 n, reactions, width of statistics, of reals, of both splits
 *     u64 points, columns and bins of the histogram
 *
 *     statistics, then splits: per column sum (2 words), squares (2 words), min, max
 *     reals: per column what was not finite, sum and squares (each: first word, words, they), min,
 *         max
 *     histogram: shifts (a word each), counts, below, above
 *     samples and quantities of n trajectories, where these are kept
 *
 * All words have 64 bits and are little-endian. Equal ensembles have equal bytes. */
#include "sweep/collect.h"

#include "core/memory.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are stored as they lie");

/* Bytes that are written or read one after the other. */
typedef struct cursor {
    char *at, *end; /* at is NULL: they are only counted */
    size_t n;
    bool is_short; /* there were fewer than were wanted */
} cursor;

static void put(cursor *c, const void *from, size_t size)
{
    if (c->at) {
        memcpy(c->at, from, size);
        c->at += size;
    }
    c->n += size;
}

static void get(cursor *c, void *to, size_t size)
{
    c->is_short |= (size_t)(c->end - c->at) < size;
    if (c->is_short) {
        memset(to, 0, size);
        return;
    }
    memcpy(to, c->at, size);
    c->at += size;
}

static uint64_t get_word(cursor *c)
{
    uint64_t word;
    get(c, &word, sizeof word);
    return word;
}

/* ------------------------------------------------------------------------------------------------
 * What there is
 */

enum { N_HEAD = 9, N_COUNTED = 2 };

static void head_of(const saltus_collector *c, uint64_t head[N_HEAD])
{
    const saltus_histogram *h = &c->histogram;
    const uint64_t all[N_HEAD] = {(uint64_t)c->n,
                                  (uint64_t)c->events,
                                  c->statistics.width,
                                  c->reals.width,
                                  c->splits[0].width,
                                  c->splits[1].width,
                                  h->n_bins > 0 ? (uint64_t)h->n_points : 0,
                                  h->n_bins > 0 ? (uint64_t)h->n_columns : 0,
                                  (uint64_t)h->n_bins};
    memcpy(head, all, sizeof all);
}

/* Values that are kept of a trajectory, of so many columns; those of a run are in its file. */
static size_t kept(const saltus_collection *w, int n_columns)
{
    const int64_t points = w->record == SALTUS_RECORD_ALL ? w->n_times : 1;
    return w->n_runs > 0 ? (size_t)n_columns * (size_t)points : 0;
}

/* ------------------------------------------------------------------------------------------------
 * Storing
 */

static void put_statistics(cursor *c, const saltus_statistics *s)
{
    for (size_t q = 0; q < s->width; ++q) {
        const int64_t extremes[2] = {s->n > 0 ? s->min[q] : 0, s->n > 0 ? s->max[q] : 0};
        put(c, &s->sum[q], 16);
        put(c, &s->square[q], 16);
        put(c, extremes, sizeof extremes);
    }
}

/* A number in two's complement without the zeros below and the signs above. */
static void put_number(cursor *c, const uint64_t *words, uint64_t n)
{
    const uint64_t fill = words[n - 1] >> 63 ? UINT64_MAX : 0;
    uint64_t first = 0, end = n;
    while (end > 1 && words[end - 1] == fill && words[end - 2] >> 63 == fill >> 63) {
        --end;
    }
    while (first + 1 < end && words[first] == 0) {
        ++first;
    }
    const uint64_t head[2] = {first, end - first};
    put(c, head, sizeof head);
    put(c, words + first, 8 * (size_t)(end - first));
}

static void put_reals(cursor *c, const saltus_real_statistics *s)
{
    uint64_t words[SALTUS_EXACT_WORDS];
    for (size_t q = 0; q < s->width; ++q) {
        saltus_exact_sums_store(&s->sums, q, words);
        put(c, words, 8);
        put_number(c, words + 1, SALTUS_EXACT_SUM_WORDS);
        put_number(c, words + 1 + SALTUS_EXACT_SUM_WORDS, SALTUS_EXACT_SQUARE_WORDS);
        put(c, &s->min[q], 8);
        put(c, &s->max[q], 8);
    }
}

static void put_histogram(cursor *c, const saltus_histogram *h)
{
    const size_t n = h->n_bins > 0 ? (size_t)h->n_points * (size_t)h->n_columns : 0;
    for (size_t i = 0; i < n; ++i) {
        const uint64_t shift = h->shift[i];
        put(c, &shift, sizeof shift);
    }
    if (n > 0) {
        put(c, h->counts, 8 * n * (size_t)h->n_bins);
        put(c, h->below, 8 * n);
        put(c, h->above, 8 * n);
    }
}

static void put_state(cursor *out, const saltus_collector *c)
{
    uint64_t head[N_HEAD];
    head_of(c, head);
    put(out, head, sizeof head);
    put_statistics(out, &c->statistics);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        put_statistics(out, &c->splits[i]);
    }
    put_reals(out, &c->reals);
    put_histogram(out, &c->histogram);
}

static void put_all(cursor *out, const saltus_collector *c)
{
    const saltus_collection *w = c->what;
    const size_t n = (size_t)c->n;
    put_state(out, c);
    if (c->counts) {
        put(out, c->counts, 8 * n * kept(w, w->n_counts));
    }
    if (c->observables) {
        put(out, c->observables, 8 * n * kept(w, w->n_observables));
    }
    for (int q = 0; q < w->derivation.n && w->n_runs > 0; ++q) {
        put(out, c->derived + (int64_t)q * w->n_runs, 8 * n);
    }
}

saltus_status saltus_collector_store(const saltus_collector *c, void **bytes, size_t *size,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    cursor count = {0};
    put_all(&count, c);
    char *all = saltus_calloc(count.n, 1);
    SALTUS_NEED(all);
    cursor out = {.at = all};
    put_all(&out, c);
    *bytes = all;
    *size = count.n;
done:
    return status;
}

size_t saltus_collector_put_state(const saltus_collector *c, void *out)
{
    cursor to = {.at = out};
    put_state(&to, c);
    return to.n;
}

size_t saltus_collector_most_bytes(const saltus_collector *c)
{
    enum { NUMBERS = SALTUS_EXACT_WORDS + 4 + 2 };
    const saltus_histogram *h = &c->histogram;
    const size_t widths = c->statistics.width + c->splits[0].width + c->splits[1].width;
    const size_t cells = h->n_bins > 0 ? (size_t)h->n_points * (size_t)h->n_columns : 0;
    return 8 * (N_HEAD + 6 * widths + NUMBERS * c->reals.width + cells * (3 + (size_t)h->n_bins));
}

/* ------------------------------------------------------------------------------------------------
 * Loading
 */

static void get_statistics(cursor *c, saltus_statistics *s, int64_t n)
{
    s->n = n;
    for (size_t q = 0; q < s->width; ++q) {
        get(c, &s->sum[q], 16);
        get(c, &s->square[q], 16);
        get(c, &s->min[q], 8);
        get(c, &s->max[q], 8);
    }
}

static void get_number(cursor *c, uint64_t *words, uint64_t n)
{
    const uint64_t first = get_word(c), length = get_word(c);
    c->is_short |= first >= n || length < 1 || length > n - first;
    memset(words, 0, 8 * (size_t)n);
    if (c->is_short) {
        return;
    }
    get(c, words + first, 8 * (size_t)length);
    const uint64_t fill = words[first + length - 1] >> 63 ? UINT64_MAX : 0;
    for (uint64_t i = first + length; i < n; ++i) {
        words[i] = fill;
    }
}

static saltus_status get_reals(cursor *c, saltus_real_statistics *s, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint64_t *words = saltus_calloc(s->width, 8 * SALTUS_EXACT_WORDS);
    SALTUS_NEED(words);
    for (size_t q = 0; q < s->width; ++q) {
        uint64_t *w = words + q * SALTUS_EXACT_WORDS;
        w[0] = get_word(c);
        get_number(c, w + 1, SALTUS_EXACT_SUM_WORDS);
        get_number(c, w + 1 + SALTUS_EXACT_SUM_WORDS, SALTUS_EXACT_SQUARE_WORDS);
        get(c, &s->min[q], 8);
        get(c, &s->max[q], 8);
    }
    if (!c->is_short && s->width > 0) {
        SALTUS_TRY(saltus_exact_sums_add_stored(&s->sums, words, err));
    }
    s->n = n;
done:
    saltus_free(words);
    return status;
}

static void get_histogram(cursor *c, saltus_histogram *h)
{
    const size_t n = h->n_bins > 0 ? (size_t)h->n_points * (size_t)h->n_columns : 0;
    for (size_t i = 0; i < n; ++i) {
        const uint64_t shift = get_word(c);
        c->is_short |= shift > 63;
        h->shift[i] = (uint8_t)shift;
    }
    if (n > 0) {
        get(c, h->counts, 8 * n * (size_t)h->n_bins);
        get(c, h->below, 8 * n);
        get(c, h->above, 8 * n);
    }
}

saltus_status saltus_collector_load(saltus_collector *c, const void *bytes, size_t size,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_collection *w = c->what;
    cursor in = {.at = (char *)bytes, .end = (char *)bytes + size};
    uint64_t head[N_HEAD], mine[N_HEAD];
    head_of(c, mine);
    get(&in, head, sizeof head);
    if (in.is_short ||
        memcmp(head + N_COUNTED, mine + N_COUNTED, sizeof head - N_COUNTED * sizeof *head) != 0 ||
        head[0] > INT64_MAX || (w->n_runs > 0 && (int64_t)head[0] > w->n_runs)) {
        SALTUS_FAIL(SALTUS_E_SYNTAX, "the state of the statistics is of something else");
    }
    const int64_t n = (int64_t)head[0];
    get_statistics(&in, &c->statistics, n);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        get_statistics(&in, &c->splits[i], n);
    }
    SALTUS_TRY(get_reals(&in, &c->reals, n, err));
    get_histogram(&in, &c->histogram);
    if (c->counts) {
        get(&in, c->counts, 8 * (size_t)n * kept(w, w->n_counts));
    }
    if (c->observables) {
        get(&in, c->observables, 8 * (size_t)n * kept(w, w->n_observables));
    }
    for (int q = 0; q < w->derivation.n && w->n_runs > 0; ++q) {
        get(&in, c->derived + (int64_t)q * w->n_runs, 8 * (size_t)n);
    }
    if (in.is_short || in.at != in.end) {
        SALTUS_FAIL(SALTUS_E_SYNTAX, "the state of the statistics is damaged");
    }
    c->n = n;
    c->events = (int64_t)head[1];
done:
    return status;
}
