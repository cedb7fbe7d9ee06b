/* Derived quantities of a result file: of every trajectory as CSV, and what they are on average. */
#include "core/file.h"
#include "core/memory.h"
#include "core/number.h"
#include "write/numbers.h"
#include "write/results.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* All of a file, [quantity][point of the sweep][run]. */
static saltus_status load(const saltus_results *r, double ***out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (r->n_derived == 0) {
        (void)saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no derived quantities", r->path);
        saltus_error_hint(err, "run or sweep with `derive`, such as `derive mean:X,period:X`");
        return SALTUS_E_INVALID;
    }
    *out = saltus_calloc((size_t)r->n_derived, sizeof **out);
    SALTUS_NEED(*out);
    for (int d = 0; d < r->n_derived; ++d) {
        SALTUS_TRY(saltus_results_derived(r, r->derived_names[d], &(*out)[d], err));
        if (!(*out)[d]) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: derived quantity '%.100s' is missing", r->path,
                        r->derived_names[d]);
        }
    }
done:
    return status;
}

static void unload(const saltus_results *r, double **values)
{
    for (int d = 0; values && d < r->n_derived; ++d) {
        saltus_free(values[d]);
    }
    saltus_free(values);
}

static void put_value(FILE *out, double x)
{
    char text[SALTUS_NUMBER_SIZE];
    (void)fprintf(out, ",%s", saltus_number_format(x, text));
}

/* The lines of one point of a sweep, or all there are. */
static saltus_status print_runs(const saltus_results *r, double **values, FILE *out,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *prefix = saltus_results_point_prefix(r);
    int64_t *numbers = saltus_calloc((size_t)r->runs, sizeof *numbers);
    SALTUS_NEED(prefix && numbers);
    SALTUS_TRY(saltus_results_numbers(r, 0, r->runs, numbers, err));
    for (int64_t i = 0; i < r->runs && !ferror(out); ++i) {
        (void)fprintf(out, "%s%" PRId64, prefix, numbers[i]);
        for (int d = 0; d < r->n_derived; ++d) {
            put_value(out, values[d][r->at * r->runs + i]);
        }
        (void)fputc('\n', out);
    }
done:
    saltus_free(prefix);
    saltus_free(numbers);
    return status;
}

saltus_status saltus_results_print_derived(const saltus_results *r, FILE *out, saltus_error *err)
{
    if (!r || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    double **values = NULL;
    saltus_results view = *r;
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);
    SALTUS_TRY(load(r, &values, err));
    saltus_results_put_axes(r, "run", out);
    (void)fputs("run", out);
    for (int d = 0; d < r->n_derived; ++d) {
        (void)fputc(',', out);
        saltus_results_put_name(out, "", r->derived_names[d], "");
    }
    (void)fputc('\n', out);
    for (; view.at < saltus_results_n_swept(r); ++view.at) {
        SALTUS_TRY(print_runs(&view, values, out, err));
    }
    status = saltus_check_written(out, err);
done:
    unload(r, values);
    saltus_usual_numbers(plain, saved);
    return status;
}

/* ---- on average ---- */

/* Of the trajectories that have the quantity; their values come to stand in front, sorted. */
struct average {
    int64_t n;
    double mean, variance, min, max;
};

static struct average average_of(double *values, int64_t n_runs)
{
    struct average a = {.mean = (double)NAN, .variance = (double)NAN, (double)NAN, (double)NAN};
    double sum = 0.0, squares = 0.0;
    saltus_quantile_sort(values, n_runs);
    while (a.n < n_runs && !isnan(values[a.n])) {
        sum += values[a.n++];
    }
    if (a.n == 0) {
        return a;
    }
    a.mean = sum / (double)a.n;
    for (int64_t i = 0; i < a.n; ++i) {
        squares += (values[i] - a.mean) * (values[i] - a.mean);
    }
    a.variance = a.n > 1 ? squares / (double)(a.n - 1) : 0.0;
    a.min = values[0];
    a.max = values[a.n - 1];
    return a;
}

static saltus_status print_point(const saltus_results *r, double **values,
                                 const saltus_table_options *o, FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *prefix = saltus_results_point_prefix(r);
    SALTUS_NEED(prefix);
    for (int d = 0; d < r->n_derived; ++d) {
        double *of_point = values[d] + r->at * r->runs;
        const struct average a = average_of(of_point, r->runs);
        (void)fputs(prefix, out);
        saltus_results_put_name(out, "", r->derived_names[d], "");
        (void)fprintf(out, ",%" PRId64, a.n);
        put_value(out, a.mean);
        put_value(out, sqrt(a.variance));
        if (o->variance) {
            put_value(out, a.variance);
        }
        if (o->fano) {
            put_value(out, saltus_fano(a.mean, a.variance));
        }
        for (int q = 0; q < o->n_quantiles; ++q) {
            put_value(out, saltus_quantile_of(of_point, a.n, o->quantiles[q]));
        }
        (void)fputc('\n', out);
    }
done:
    saltus_free(prefix);
    return status;
}

saltus_status saltus_results_print_derived_table(const saltus_results *r,
                                                 const saltus_table_options *options, FILE *out,
                                                 saltus_error *err)
{
    if (!r || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    const saltus_table_options o = options ? *options : saltus_table_options_default();
    double **values = NULL;
    saltus_results view = *r;
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);
    SALTUS_TRY(saltus_table_options_check(&o, err));
    SALTUS_TRY(load(r, &values, err));
    saltus_results_put_axes(r, "quantity,runs,mean,sd", out);
    (void)fputs("quantity,runs,mean,sd", out);
    saltus_results_put_heads(&o, out);
    (void)fputc('\n', out);
    for (; view.at < saltus_results_n_swept(r) && !ferror(out); ++view.at) {
        SALTUS_TRY(print_point(&view, values, &o, out, err));
    }
    status = saltus_check_written(out, err);
done:
    unload(r, values);
    saltus_usual_numbers(plain, saved);
    return status;
}

saltus_status saltus_results_summarise_derived(const saltus_results *r, FILE *out,
                                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double **values = NULL;
    int width = 4;
    if (r->n_derived == 0 || r->runs == 0) {
        return SALTUS_OK;
    }
    SALTUS_TRY(load(r, &values, err));
    for (int d = 0; d < r->n_derived; ++d) {
        const int w = saltus_width_of(r->derived_names[d]);
        width = w > width ? w : width;
    }
    (void)fprintf(out, "of every trajectory:\n  %-*s  %12s  %12s  %12s  %12s", width, "", "mean",
                  "sd", "min", "max");
    for (int d = 0; d < r->n_derived; ++d) {
        const char *name = r->derived_names[d];
        const struct average a = average_of(values[d], r->runs);
        (void)fprintf(out, "\n  %s%*s  %12.6g  %12.6g  %12.6g  %12.6g", name,
                      width - saltus_width_of(name), "", a.mean, sqrt(a.variance), a.min, a.max);
        if (a.n < r->runs) {
            (void)fprintf(out, "  (%" PRId64 " of %" PRId64 ")", a.n, r->runs);
        }
    }
    (void)fputc('\n', out);
done:
    unload(r, values);
    return status;
}
