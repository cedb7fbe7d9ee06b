/* The points of a sweep, from the texts of the command line. */
#include "sweep/sweep.h"

#include "core/memory.h"
#include "core/number.h"
#include "ensemble/plan.h"
#include "method/method.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each axis of a design has as many numbers. */
static const int64_t most_points = SALTUS_MOST_POINTS;

saltus_status saltus_sweep_create(saltus_sweep **out, saltus_error *err)
{
    if (!out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    *out = saltus_calloc(1, sizeof **out);
    SALTUS_NEED(*out);
    saltus_handle_add(&(*out)->handle, SALTUS_HANDLE_SWEEP);
done:
    return status;
}

saltus_axis *saltus_sweep_add_axis(saltus_sweep *sweep)
{
    saltus_axis *grown =
        saltus_grow(sweep->axes, sweep->n_axes, &sweep->capacity, sizeof *sweep->axes);
    if (!grown) {
        return NULL;
    }
    sweep->axes = grown;
    grown[sweep->n_axes] = (saltus_axis){0};
    return &grown[sweep->n_axes++];
}

/* All axes from this one on. */
static void drop_axes(saltus_sweep *sweep, size_t from)
{
    for (; sweep->n_axes > from; --sweep->n_axes) {
        saltus_free(sweep->axes[sweep->n_axes - 1].name);
        saltus_free(sweep->axes[sweep->n_axes - 1].values);
    }
}

static void drop_file(saltus_sweep *sweep)
{
    saltus_free(sweep->file);
    saltus_free(sweep->lines);
    sweep->file = NULL;
    sweep->lines = NULL;
}

void saltus_sweep_destroy(saltus_sweep *sweep)
{
    if (sweep && saltus_handle_take(&sweep->handle, SALTUS_HANDLE_SWEEP)) {
        drop_axes(sweep, 0);
        drop_file(sweep);
        saltus_free(sweep->axes);
        saltus_free(sweep);
    }
}

void saltus_sweep_read_through(saltus_sweep *sweep, saltus_archive *archive)
{
    if (sweep) {
        sweep->archive = archive;
    }
}

static bool has_axis(const saltus_sweep *sweep, int axis)
{
    return sweep && axis >= 0 && (size_t)axis < sweep->n_axes;
}

int saltus_sweep_n_axes(const saltus_sweep *sweep)
{
    return sweep ? (int)sweep->n_axes : 0;
}

int64_t saltus_sweep_n_points(const saltus_sweep *sweep)
{
    return sweep ? sweep->n_points : 0;
}

const char *saltus_sweep_name(const saltus_sweep *sweep, int axis)
{
    return has_axis(sweep, axis) ? sweep->axes[axis].name : "";
}

int64_t saltus_sweep_axis_length(const saltus_sweep *sweep, int axis)
{
    return !has_axis(sweep, axis) || sweep->has_design ? 0 : sweep->axes[axis].n;
}

double saltus_sweep_value(const saltus_sweep *sweep, int axis, int64_t point)
{
    if (!has_axis(sweep, axis) || !sweep->is_finished || point < 0 || point >= sweep->n_points) {
        return (double)NAN;
    }
    int64_t behind = 1; /* points of the axes behind this one, which run faster */
    for (size_t a = (size_t)axis + 1; a < sweep->n_axes && !sweep->has_design; ++a) {
        behind *= sweep->axes[a].n;
    }
    const saltus_axis *x = &sweep->axes[axis];
    return x->values[sweep->has_design ? point : point / behind % x->n];
}

/* "FILE:LINE: " in front of what is wrong with a table. */
static void name_line(const saltus_sweep *sweep, int64_t line, saltus_error *err)
{
    if (sweep->file && err) {
        char message[sizeof err->message];
        (void)snprintf(message, sizeof message, "%.200s:%lld: %.350s", sweep->file, (long long)line,
                       err->message);
        memcpy(err->message, message, sizeof message);
    }
}

saltus_status saltus_sweep_set(const saltus_sweep *sweep, int64_t point, saltus_model *model,
                               saltus_error *err)
{
    saltus_model_thaw(model);
    for (size_t a = 0; a < sweep->n_axes; ++a) {
        const saltus_status set = saltus_model_set(model, sweep->axes[a].name,
                                                   saltus_sweep_value(sweep, (int)a, point), err);
        if (set != SALTUS_OK) {
            name_line(sweep, 1, err);
            return set;
        }
    }
    return SALTUS_OK;
}

saltus_status saltus_sweep_freeze(const saltus_sweep *sweep, int64_t point, saltus_model *model,
                                  saltus_law law, saltus_error *err)
{
    if (!sweep || !model) {
        return saltus_no_argument(err, __func__);
    }
    if (!sweep->is_finished || point < 0 || point >= sweep->n_points) {
        return saltus_error_set(err, SALTUS_E_INVALID, "there is no point %lld in this sweep",
                                (long long)point);
    }
    saltus_status status = saltus_sweep_set(sweep, point, model, err);
    if (status != SALTUS_OK) {
        return status;
    }
    status = saltus_model_freeze(model, law, err);
    if (status != SALTUS_OK) {
        name_line(sweep, sweep->file ? sweep->lines[point] : 0, err);
    }
    return status;
}

saltus_status saltus_sweep_check_point(const saltus_sweep *sweep, int64_t point,
                                       saltus_model *model, saltus_law law,
                                       const saltus_plan_options *plan, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_plan_options o = saltus_plan_options_given(plan);
    saltus_method method;
    SALTUS_TRY(saltus_sweep_freeze(sweep, point, model, law, err));
    if (!o.method || saltus_method_is_auto(o.method)) {
        method = saltus_method_usual(model);
    } else {
        SALTUS_TRY(saltus_method_parse(o.method, model->network->lattice != NULL, &method, err));
    }
    status = saltus_method_of(method)->check(model, &o, err);
    if (status != SALTUS_OK) {
        name_line(sweep, sweep->file ? sweep->lines[point] : 0, err);
    }
done:
    return status;
}

/* At at / of of the way from low to high, which are met exactly, as are whole numbers between them
 * when the steps are whole. Of bounds so far apart that this overflows each has its part. */
static double between(const saltus_axis *x, double at, double of)
{
    const double value = at <= 0.0   ? x->low
                         : at >= of  ? x->high
                         : x->is_log ? pow(x->low, 1.0 - at / of) * pow(x->high, at / of)
                                     : x->low + at * (x->high - x->low) / of;
    return isfinite(value) ? value : x->low * (1.0 - at / of) + x->high * (at / of);
}

static saltus_status parse_list(saltus_axis *x, const char *what, char *text, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t capacity = 0;
    for (char *item = text, *next; item; item = next) {
        double value;
        next = strchr(item, ',');
        if (next) {
            *next++ = '\0';
        }
        if (!saltus_number_read(item, &value)) {
            SALTUS_FAIL(SALTUS_E_INVALID, "`vary` '%.100s': '%.40s' is no number", what, item);
        }
        double *grown = saltus_grow(x->values, (size_t)x->n, &capacity, sizeof *x->values);
        SALTUS_NEED(grown);
        x->values = grown;
        x->values[x->n++] = value;
    }
done:
    return status;
}

/* LO:HI:N, or LO:HI for a design. */
static saltus_status parse_range(saltus_axis *x, const char *what, char *text, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *const high = strchr(text, ':'), *const n = high ? strchr(high + 1, ':') : NULL;
    double count = 0.0;
    if (high) {
        *high = '\0';
    }
    if (n) {
        *n = '\0';
    }
    if (!high || !saltus_number_read(text, &x->low) || !saltus_number_read(high + 1, &x->high) ||
        (n && (!saltus_number_read(n + 1, &count) || count != floor(count)))) {
        SALTUS_FAIL(SALTUS_E_INVALID, "`vary` '%.100s': LOW:HIGH:N is needed behind lin and log",
                    what);
    }
    if (x->is_log && !(x->low > 0.0)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "`vary` '%.100s': log needs bounds above 0", what);
    }
    if (x->low > x->high || (x->low == x->high && !(n && count == 1.0))) {
        SALTUS_FAIL(SALTUS_E_INVALID, "`vary` '%.100s': the low bound must be below the high one",
                    what);
    }
    x->is_range = !n;
    if (n && !(count >= 1.0)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "`vary` '%.100s': there must be at least one value", what);
    }
    if (n && count > (double)most_points) {
        SALTUS_FAIL(SALTUS_E_INVALID, "`vary` '%.100s': a sweep has at most %lld points", what,
                    (long long)most_points);
    }
    x->n = (int64_t)count;
    if (n) {
        x->values = saltus_calloc((size_t)x->n, sizeof *x->values);
        SALTUS_NEED(x->values);
    }
    for (int64_t i = 0; i < x->n; ++i) {
        x->values[i] = between(x, (double)i, (double)(x->n - 1));
    }
done:
    return status;
}

static saltus_status parse_axis(saltus_axis *x, const char *what, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *equals = strrchr(what, '=');
    char *text = NULL;
    if (!equals || equals == what) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "`vary` '%.100s': NAME=lin:LOW:HIGH:N, NAME=log:LOW:HIGH:N or NAME=list:A,B is "
                    "needed",
                    what);
    }
    x->name = saltus_strdup(what);
    text = saltus_strdup(equals + 1);
    SALTUS_NEED(x->name && text);
    x->name[equals - what] = '\0';
    x->is_log = strncmp(text, "log:", 4) == 0;
    if (strncmp(text, "list:", 5) == 0) {
        SALTUS_TRY(parse_list(x, what, text + 5, err));
    } else if (x->is_log || strncmp(text, "lin:", 4) == 0) {
        SALTUS_TRY(parse_range(x, what, text + 4, err));
    } else {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "`vary` '%.100s': the values are lin:LOW:HIGH:N, log:LOW:HIGH:N or "
                    "list:A,B",
                    what);
    }
done:
    saltus_free(text);
    return status;
}

saltus_status saltus_sweep_vary(saltus_sweep *sweep, const char *what, saltus_error *err)
{
    if (!sweep || !what) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    if (sweep->is_finished) {
        return saltus_error_set(err, SALTUS_E_INVALID, "the sweep has its points already");
    }
    saltus_axis *x = saltus_sweep_add_axis(sweep);
    SALTUS_NEED(x);
    SALTUS_TRY(parse_axis(x, what, err));
    for (size_t a = 0; a + 1 < sweep->n_axes; ++a) {
        if (strcmp(sweep->axes[a].name, x->name) == 0) {
            SALTUS_FAIL(SALTUS_E_INVALID, "`vary`: '%.100s' is named twice", x->name);
        }
    }
done:
    if (status != SALTUS_OK && x) {
        drop_axes(sweep, sweep->n_axes - 1);
    }
    return status;
}

static saltus_status make_grid(saltus_sweep *sweep, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    sweep->n_points = 1;
    for (size_t a = 0; a < sweep->n_axes; ++a) {
        const saltus_axis *x = &sweep->axes[a];
        if (x->is_range) {
            SALTUS_FAIL(SALTUS_E_INVALID,
                        "`vary` '%.100s': how many values? LOW:HIGH:N, or LOW:HIGH with `design`",
                        x->name);
        }
        if (x->n > most_points / sweep->n_points) {
            SALTUS_FAIL(SALTUS_E_INVALID, "a sweep has at most %lld points; this one has more",
                        (long long)most_points);
        }
        sweep->n_points *= x->n;
    }
done:
    return status;
}

static saltus_status make_design(saltus_sweep *sweep, const char *design, uint64_t seed,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *colon = strchr(design, ':');
    const bool is_lhs = strncmp(design, "lhs:", 4) == 0;
    double n;
    if (!colon || (!is_lhs && strncmp(design, "sobol:", 6) != 0) ||
        !saltus_number_read(colon + 1, &n) || !(n >= 1.0) || n != floor(n) ||
        n > (double)most_points) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "`design` '%.60s': lhs:N or sobol:N with 1 to %lld points, or file:POINTS.csv, "
                    "is needed",
                    design, (long long)most_points);
    }
    if (!is_lhs && sweep->n_axes > SALTUS_SOBOL_AXES) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "`design sobol`: at most %d names can be varied; lhs has no "
                    "bound",
                    SALTUS_SOBOL_AXES);
    }
    sweep->has_design = true;
    sweep->n_points = (int64_t)n;
    for (size_t a = 0; a < sweep->n_axes; ++a) {
        saltus_axis *x = &sweep->axes[a];
        if (!x->is_range) {
            SALTUS_FAIL(SALTUS_E_INVALID,
                        "`vary` '%.100s': with `design` it takes lin:LOW:HIGH or log:LOW:HIGH",
                        x->name);
        }
        x->values = saltus_calloc((size_t)sweep->n_points, sizeof *x->values);
        SALTUS_NEED(x->values);
        if (is_lhs) {
            SALTUS_TRY(saltus_design_lhs(sweep->n_points, seed, (int)a, x->values, err));
        } else {
            saltus_design_sobol(sweep->n_points, (int)a, x->values);
        }
        for (int64_t i = 0; i < sweep->n_points; ++i) {
            x->values[i] = between(x, x->values[i], 1.0);
        }
    }
done:
    return status;
}

static saltus_status make_points(saltus_sweep *sweep, const char *design, uint64_t seed,
                                 saltus_error *err)
{
    if (design && strncmp(design, "file:", 5) == 0) {
        return saltus_design_read(sweep, design + 5, err);
    }
    if (sweep->n_axes == 0) {
        return saltus_error_set(err, SALTUS_E_INVALID, "`vary` is needed: what is to be varied");
    }
    return design ? make_design(sweep, design, seed, err) : make_grid(sweep, err);
}

saltus_status saltus_sweep_finish(saltus_sweep *sweep, const char *design, uint64_t seed,
                                  saltus_error *err)
{
    if (!sweep) {
        return saltus_no_argument(err, __func__);
    }
    if (sweep->is_finished) {
        return saltus_error_set(err, SALTUS_E_INVALID, "the sweep has its points already");
    }
    const size_t n_axes = sweep->n_axes;
    const saltus_status status = make_points(sweep, design, seed, err);
    sweep->is_finished = status == SALTUS_OK;
    if (status != SALTUS_OK) { /* as before */
        drop_axes(sweep, n_axes);
        drop_file(sweep);
        sweep->has_design = false;
        sweep->n_points = 0;
        for (size_t a = 0; a < n_axes; ++a) {
            if (sweep->axes[a].is_range) {
                saltus_free(sweep->axes[a].values);
                sweep->axes[a].values = NULL;
            }
        }
    }
    return status;
}

static saltus_status check_table(const saltus_sweep *sweep, const char *const *names, int n_names,
                                 const double *values, int64_t n_points, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (sweep->is_finished || sweep->n_axes > 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the sweep varies something already");
    }
    if (n_names < 1 || n_points < 1 || n_points > most_points) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "a table of %lld points and %d names: 1 to %lld points and at least 1 name are "
                    "needed",
                    (long long)n_points, n_names, (long long)most_points);
    }
    for (int a = 0; a < n_names; ++a) {
        if (!names[a]) {
            SALTUS_FAIL(SALTUS_E_INVALID, "name %d of the table is NULL", a);
        }
        for (int b = 0; b < a; ++b) {
            if (strcmp(names[a], names[b]) == 0) {
                SALTUS_FAIL(SALTUS_E_INVALID, "'%.100s' is named twice", names[a]);
            }
        }
        for (int64_t i = 0; i < n_points; ++i) {
            if (!isfinite(values[i * n_names + a])) {
                SALTUS_FAIL(SALTUS_E_INVALID, "'%.100s' cannot be %g, at point %lld", names[a],
                            values[i * n_names + a], (long long)i);
            }
        }
    }
done:
    return status;
}

saltus_status saltus_sweep_table(saltus_sweep *sweep, const char *const *names, int n_names,
                                 const double *values, int64_t n_points, saltus_error *err)
{
    if (!sweep || !names || !values) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(check_table(sweep, names, n_names, values, n_points, err));
    for (int a = 0; a < n_names; ++a) {
        saltus_axis *x = saltus_sweep_add_axis(sweep);
        SALTUS_NEED(x);
        *x = (saltus_axis){.name = saltus_strdup(names[a]),
                           .n = n_points,
                           .values = saltus_calloc((size_t)n_points, sizeof *x->values)};
        SALTUS_NEED(x->name && x->values);
        for (int64_t i = 0; i < n_points; ++i) {
            x->values[i] = values[i * n_names + a];
        }
    }
    sweep->n_points = n_points;
    sweep->has_design = sweep->is_finished = true;
done:
    if (status == SALTUS_E_NO_MEMORY) {
        drop_axes(sweep, 0);
    }
    return status;
}

saltus_status saltus_sweep_load(const saltus_sweep_options *options, saltus_model **out,
                                saltus_error *err)
{
    saltus_error reason = {0};
    *out = options->load(options->load_user, &reason);
    if (*out) {
        return SALTUS_OK;
    }
    if (reason.code == SALTUS_OK) {
        return saltus_error_set(err, SALTUS_E_CANCELLED, "no model was given");
    }
    return saltus_error_pass(err, &reason);
}

void saltus_sweep_unload(const saltus_sweep_options *options, saltus_model *model)
{
    if (options->unload && model) {
        saltus_model_thaw(model);
        options->unload(options->load_user, model);
    } else {
        saltus_model_destroy(model);
    }
}

saltus_status saltus_sweep_check_numbers(const saltus_sweep *sweep, int64_t first, int64_t n_each,
                                         saltus_error *err)
{
    return n_each > (INT64_MAX - first) / sweep->n_points
               ? saltus_error_set(err, SALTUS_E_INVALID,
                                  "the last trajectory's number would be beyond 2^63 - 1")
               : SALTUS_OK;
}
