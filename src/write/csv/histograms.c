/* Histograms of a result file as CSV: a line for every bin. */
#include "core/file.h"
#include "core/memory.h"
#include "core/number.h"
#include "write/numbers.h"
#include "write/results.h"

#include <inttypes.h>

/* What stands in front of a line's bin. */
struct line {
    const char *prefix; /* values of a sweep's point */
    double time;
    const char *species;
};

static void put_bin(FILE *out, const struct line *l, const char *low, const char *high, uint64_t n)
{
    char text[SALTUS_NUMBER_SIZE];
    (void)fprintf(out, "%s%s,", l->prefix, saltus_number_format(l->time, text));
    saltus_results_put_name(out, "", l->species, "");
    (void)fprintf(out, ",%s,%s,%" PRIu64 "\n", low, high, n);
}

static void put_bins(FILE *out, const struct line *l, const double *edges, int64_t n_bins,
                     const uint64_t *counts)
{
    char low[SALTUS_NUMBER_SIZE], high[SALTUS_NUMBER_SIZE];
    for (int64_t b = 0; b < n_bins; ++b) {
        put_bin(out, l, saltus_number_format(edges[b], low),
                saltus_number_format(edges[b + 1], high), counts[b]);
    }
}

static saltus_status print_species(const saltus_results *r, int c, const char *prefix, FILE *out,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results_bins bins = {0};
    char low[SALTUS_NUMBER_SIZE], high[SALTUS_NUMBER_SIZE];
    SALTUS_TRY(saltus_results_histogram(r, c, &bins, err));
    (void)saltus_number_format(bins.edges[0], low);
    (void)saltus_number_format(bins.edges[bins.n], high);
    for (int64_t p = 0; p < r->n_points && !ferror(out); ++p) {
        const struct line l = {prefix, r->times[p], r->count_names[c]};
        if (bins.below) {
            put_bin(out, &l, "-inf", low, bins.below[p]);
        }
        put_bins(out, &l, bins.edges, bins.n, bins.counts + p * bins.n);
        if (bins.above) {
            put_bin(out, &l, high, "inf", bins.above[p]);
        }
    }
done:
    saltus_results_free_bins(&bins);
    return status;
}

/* The lines of one point of a sweep, or all there are. */
static saltus_status print_point(const saltus_results *r, FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *prefix = saltus_results_point_prefix(r);
    SALTUS_NEED(prefix);
    for (int c = 0; c < r->n_counts; ++c) {
        SALTUS_TRY(print_species(r, c, prefix, out, err));
    }
done:
    saltus_free(prefix);
    return status;
}

saltus_status saltus_results_print_histograms(const saltus_results *r, FILE *out, saltus_error *err)
{
    if (!r || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_results view = *r;
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);
    if (!r->has_histogram) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no histograms", r->path);
        saltus_error_hint(err, "run with `record histogram`; one that was interrupted before its "
                               "end has none");
        goto done;
    }
    saltus_results_put_axes(r, "time,species,low,high,count", out);
    saltus_results_put_time(r, out);
    (void)fputs(",species,low,high,count\n", out);
    for (; view.at < saltus_results_n_swept(r); ++view.at) {
        SALTUS_TRY(print_point(&view, out, err));
    }
    status = saltus_check_written(out, err);
done:
    saltus_usual_numbers(plain, saved);
    return status;
}
