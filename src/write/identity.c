#include "write/identity.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "model/freeze/point.h"

#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void say(saltus_identity *id, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (id->n < SALTUS_MOST_IDENTITY) {
        (void)vsnprintf(id->lines[id->n], SALTUS_IDENTITY_SIZE, format, values);
        id->of[id->n] = id->lines[id->n];
        ++id->n;
    }
    va_end(values);
}

/* As it is, or what stands for it when that is long. */
static void say_text(saltus_identity *id, const char *what, const char *text)
{
    char hex[65];
    if (strlen(text) < 200) {
        say(id, "%s: %s", what, text);
    } else {
        saltus_sha256_hex(text, strlen(text), hex);
        say(id, "%s: SHA-256 %s", what, hex);
    }
}

static void say_numbers(saltus_identity *id, const char *what, const double *x, int64_t n)
{
    char hex[65];
    saltus_sha256_hex(x, (size_t)n * sizeof *x, hex);
    if (n > 0) {
        say(id, "%s: %lld from %.17g to %.17g, SHA-256 %s", what, (long long)n, x[0], x[n - 1],
            hex);
    }
}

/* ---- site types: what shapes and images came to ---- */

enum { PIECE = 1 << 20 /* sites that are hashed at a time */, HEX = 64 };

typedef struct type_hashes {
    const saltus_lattice *lattice;
    char *hex; /* [piece][HEX] */
} type_hashes;

static void hash_pieces(void *user, int part, int64_t first, int64_t end)
{
    const type_hashes *x = user;
    (void)part;
    for (int64_t i = first; i < end; ++i) {
        char hex[HEX + 1];
        const int64_t left = x->lattice->n_sites - i * PIECE;
        saltus_sha256_hex(x->lattice->types + i * PIECE, (size_t)(left < PIECE ? left : PIECE),
                          hex);
        memcpy(x->hex + i * HEX, hex, HEX);
    }
}

/* The text of a model does not have an image's pixels, and another version may paint otherwise. */
static saltus_status say_types(saltus_identity *id, const saltus_lattice *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n = l->types ? (l->n_sites - 1) / PIECE + 1 : 0;
    type_hashes x = {l, saltus_calloc((size_t)n + 1, HEX)};
    char hex[HEX + 1];
    SALTUS_NEED(x.hex);
    saltus_parallel(n, 1, hash_pieces, &x);
    saltus_sha256_hex(x.hex, (size_t)n * HEX, hex);
    if (n > 0) {
        say(id, "map of site types: SHA-256 %s", hex);
    }
done:
    saltus_free(x.hex);
    return status;
}

static const char of_values[] = "values of parameters and amounts:";

/* All numbers that parameters and amounts make, and how laws were understood. */
static saltus_status say_values(saltus_identity *id, const saltus_plan *plan, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *model = plan->model;
    const saltus_tables *t = &model->network->tables;
    const saltus_lattice *l = model->network->lattice;
    const size_t size = (size_t)saltus_point_of(t).size;
    char hex[65], all[3 * 65 + 1] = "";
    double *row = saltus_calloc(size, sizeof *row);
    SALTUS_NEED(row);
    saltus_point_read(t, saltus_plan_amounts(plan), row);
    saltus_sha256_hex(row, size * sizeof *row, hex);
    strcat(all, hex);
    if (l) {
        const size_t types = (size_t)l->n_types;
        saltus_sha256_hex(l->jump, types * types * (size_t)l->n_species * sizeof *l->jump, hex);
        strcat(all, hex);
        saltus_sha256_hex(l->rate, types * (size_t)l->n_reactions * sizeof *l->rate, hex);
        strcat(all, hex);
        say(id, "lattice: %d x %d x %d sites of %.17g m, steps of %.17g s", l->size[0], l->size[1],
            l->size[2], l->spacing, l->step);
        SALTUS_TRY(say_types(id, l, err));
    }
    saltus_sha256_hex(all, strlen(all), hex);
    say(id, "%s SHA-256 %s", of_values, hex);
    say(id, "law: %s", model->law & SALTUS_LAW_COMBINATORIAL ? "combinatorial" : "literal");
    if (model->law & SALTUS_STOICHIOMETRY_DRAW || model->draws_stoichiometry) {
        say(id, "stoichiometry: drawn");
    }
done:
    saltus_free(row);
    return status;
}

static saltus_status say_columns(saltus_identity *id, const saltus_plan *plan, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n[2] = {saltus_plan_n_counts(plan), saltus_plan_n_observables(plan)};
    size_t size = 1, at = 0;
    for (int i = 0; i < n[0] + n[1]; ++i) {
        size += strlen(i < n[0] ? saltus_plan_count_name(plan, i)
                                : saltus_plan_observable_name(plan, i - n[0])) +
                1;
    }
    char *names = saltus_calloc(size, 1);
    SALTUS_NEED(names);
    for (int i = 0; i < n[0] + n[1]; ++i) {
        at += (size_t)snprintf(names + at, size - at, "%s%s", i > 0 ? "," : "",
                               i < n[0] ? saltus_plan_count_name(plan, i)
                                        : saltus_plan_observable_name(plan, i - n[0]));
    }
    say_text(id, "species", names);
done:
    saltus_free(names);
    return status;
}

static void say_sweep(saltus_identity *id, const saltus_sweep *sweep, int64_t n_each, bool common)
{
    char hex[65], all[65 * 16 + 1] = "";
    say(id, "points: %lld, of %lld trajectories", (long long)saltus_sweep_n_points(sweep),
        (long long)n_each);
    for (int a = 0; a < saltus_sweep_n_axes(sweep); ++a) {
        const saltus_axis *x = &sweep->axes[a];
        const int64_t n = sweep->has_design || sweep->file ? sweep->n_points : x->n;
        saltus_sha256_hex(x->values, (size_t)n * sizeof *x->values, hex);
        const size_t length = strlen(all);
        if (length > sizeof all - 140) { /* a hash of those before */
            char before[65];
            saltus_sha256_hex(all, length, before);
            memcpy(all, before, sizeof before);
        }
        strcat(all, hex);
        saltus_sha256_hex(x->name, strlen(x->name), hex);
        strcat(all, hex);
    }
    saltus_sha256_hex(all, strlen(all), hex);
    say(id, "varied: SHA-256 %s", hex);
    say(id, "common random numbers: %s", common ? "yes" : "no");
}

static const char *const records[] = {"all", "stats", "final", "histogram"};

static void say_results(saltus_identity *id, const saltus_hdf5_options *o)
{
    say(id, "record: %s", records[o->record]);
    if (o->record == SALTUS_RECORD_HISTOGRAM) {
        say(id, "bins: %lld", (long long)o->n_bins);
        say(id, "range: %.17g to %.17g", o->range_low, o->range_high);
    }
    say_text(id, "derive", o->derive ? o->derive : "");
    say(id, "burn-in: %.17g", o->burn_in);
}

saltus_status saltus_identity_make(const saltus_plan *plan, const saltus_run_options *run,
                                   const saltus_hdf5_options *results, const saltus_sweep *sweep,
                                   bool common_random_numbers, saltus_identity *id,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *model = saltus_plan_model(plan);
    *id = (saltus_identity){0};
    say_text(id, "model", saltus_model_name(model));
    say(id, "text of the model: SHA-256 %s", saltus_model_sha256(model));
    SALTUS_TRY(say_values(id, plan, err));
    say(id, "method: %s", saltus_plan_method(plan));
    say(id, "version of its streams: %d", saltus_plan_stream_version(plan));
    if (saltus_plan_method_ops(plan)->leaps) {
        say(id, "leaps: epsilon %.17g, critical %d, exact %d", plan->tau.epsilon,
            plan->tau.n_critical, plan->tau.n_exact);
    }
    if (saltus_plan_integrates(plan)) {
        say(id, "integration: rtol %.17g, atol %.17g, stiff %d%s", plan->tolerance.rtol,
            plan->tolerance.atol, plan->tolerance.stiff,
            saltus_plan_may_solve(plan) ? " by CVODE" : "");
    }
    if (plan->method == SALTUS_METHOD_HYBRID) {
        say(id, "continuous: from %.17g molecules on", plan->tolerance.continuous);
    }
    say(id, "rng: %s", saltus_plan_rng(plan));
    say(id, "seed: %llu", (unsigned long long)run->seed);
    say_numbers(id, "times", run->times, run->n_times);
    say_numbers(id, "frames", run->frame_times, run->n_frames);
    SALTUS_TRY(say_columns(id, plan, err));
    say(id, "counts by type: %d, by plane: %d of axis %d", plan->n_parts[SALTUS_BY_TYPE],
        plan->n_parts[SALTUS_BY_PLANE], plan->axis);
    say_results(id, results);
    if (sweep) {
        say_sweep(id, sweep, results->n_shards > 0 ? results->whole_runs : run->n_trajectories,
                  common_random_numbers);
    }
done:
    return status;
}

/* What a reader can make use of: a value up to its hash. */
static int length_to_tell(const char *value)
{
    const char *hash = strstr(value, ", SHA-256 ");
    return strncmp(value, " SHA-256 ", 9) == 0 ? 0 : hash ? (int)(hash - value) : 150;
}

static const char *told(const char *value)
{
    return value[strspn(value, " ")] ? value : " none";
}

/* Whether a line begins as `key` does. */
static bool has_key(char *const *lines, int n, const char *key, size_t length)
{
    bool found = false;
    for (int i = 0; i < n; ++i) {
        found |= strncmp(lines[i], key, length) == 0;
    }
    return found;
}

saltus_status saltus_identity_compare(const char *file, const saltus_identity *here, int n,
                                      char *const *there, saltus_error *err)
{
    const int most = here->n > n ? here->n : n;
    for (int k = 0; k < 2 * most; ++k) { /* values last: they follow from what a sweep varies */
        const int i = k % most;
        const char *mine = i < here->n ? here->of[i] : "", *other = i < n ? there[i] : "";
        const char *colon = strchr(mine, ':');
        const size_t length = colon ? (size_t)(colon - mine) + 1 : 0;
        if (strcmp(mine, other) == 0 ||
            (k < most && strncmp(mine, of_values, sizeof of_values - 1) == 0)) {
            continue;
        }
        if (colon && strncmp(mine, other, length) == 0) {
            const char *a = other + length, *b = mine + length;
            const int n_a = length_to_tell(a), n_b = length_to_tell(b);
            if (n_a == n_b && strncmp(a, b, (size_t)n_a) == 0) {
                return saltus_error_set(err, SALTUS_E_INVALID,
                                        "%.200s: is of another run: %.*s: not the same there and "
                                        "here",
                                        file, (int)length - 1, mine);
            }
            return saltus_error_set(err, SALTUS_E_INVALID,
                                    "%.200s: is of another run: %.*s is%.*s there and%.*s here",
                                    file, (int)length - 1, mine, n_a, told(a), n_b, told(b));
        }
        const bool is_mine = length > 0 && (!other[0] || !has_key(there, n, mine, length));
        return saltus_error_set(err, SALTUS_E_INVALID,
                                "%.200s: is of another run: '%.150s' %s alone", file,
                                is_mine ? mine : other, is_mine ? "here" : "there");
    }
    return SALTUS_OK;
}

saltus_status saltus_identity_take(const char *file, char *const *lines, int n,
                                   saltus_identity *out, saltus_error *err)
{
    if (n < 1 || n > SALTUS_MOST_IDENTITY) {
        return saltus_error_set(err, SALTUS_E_INVALID,
                                "%s: does not say what its trajectories are functions of", file);
    }
    *out = (saltus_identity){.n = n};
    for (int i = 0; i < n; ++i) {
        out->of[i] = lines[i];
    }
    return SALTUS_OK;
}

void saltus_identity_read(const saltus_identity *id, saltus_hdf5_options *o)
{
    char record[16] = "";
    long long bins = 0;
    for (int i = 0; i < id->n; ++i) {
        (void)!sscanf(id->of[i], "record: %15s", record);
        (void)!sscanf(id->of[i], "range: %lg to %lg", &o->range_low, &o->range_high);
        if (sscanf(id->of[i], "bins: %lld", &bins) == 1) {
            o->n_bins = bins;
        }
    }
    for (int i = 0; i < 4; ++i) {
        o->record = strcmp(record, records[i]) == 0 ? (saltus_record)i : o->record;
    }
}
