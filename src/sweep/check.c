/* What points of a sweep are refused for, or round, before one of them is simulated. */
#include "sweep/sweep.h"

#include <string.h>

/* Amounts that points round and the first does not. */
typedef struct rounding {
    int n_first;      /* amounts that the first point rounds */
    char first[1000]; /* the sentences about them */
    char *text;       /* one about another, or "" */
    size_t size;
} rounding;

static void note_rounding(const saltus_sweep *sweep, int64_t point, const saltus_model *model,
                          rounding *r)
{
    int n = 0;
    const char *other = NULL;
    for (int i = 0; i < saltus_model_n_warnings(model); ++i) {
        const char *sentence = saltus_model_warning(model, i);
        if (!saltus_model_warning_is_of_whole(model, i)) {
            continue;
        }
        ++n;
        if (point == 0) {
            const size_t at = strlen(r->first);
            (void)snprintf(r->first + at, sizeof r->first - at, "%s\n", sentence);
        } else if (!strstr(r->first, sentence)) {
            other = sentence;
        }
    }
    if (point == 0) {
        r->n_first = n;
    } else if (n > r->n_first && other && r->text[0] == '\0') {
        saltus_error where = {0};
        (void)snprintf(where.message, sizeof where.message, "%s", other);
        saltus_sweep_name_point(sweep, point, &where);
        (void)snprintf(r->text, r->size, "%s", where.message);
    }
}

static saltus_status check_point(const saltus_sweep *sweep, int64_t point, saltus_model *model,
                                 saltus_law law, const saltus_plan_options *plan, rounding *r,
                                 saltus_error *err)
{
    const saltus_status status = saltus_sweep_check_point(sweep, point, model, law, plan, err);
    if (status != SALTUS_OK && point > 0) { /* what the first is refused for is seldom its own */
        saltus_sweep_name_point(sweep, point, err);
    }
    note_rounding(sweep, point, model, r);
    return status;
}

saltus_status saltus_sweep_check(const saltus_sweep *sweep, int64_t most, saltus_model *model,
                                 saltus_law law, const saltus_plan_options *plan, char *rounded,
                                 size_t size, saltus_error *err)
{
    if (!sweep || !model || !rounded || size == 0) {
        return saltus_no_argument(err, __func__);
    }
    rounded[0] = '\0';
    rounding r = {.text = rounded, .size = size};
    saltus_status status = check_point(sweep, 0, model, law, plan, &r, err);
    int64_t behind = saltus_sweep_n_points(sweep);
    const int n_axes = sweep->has_design ? 1 : saltus_sweep_n_axes(sweep);
    for (int a = 0; a < n_axes && status == SALTUS_OK; ++a) {
        const int64_t n = sweep->axes[a].n > 0 ? sweep->axes[a].n : sweep->n_points;
        behind = sweep->has_design ? 1 : behind / n;
        for (int64_t i = 1; i < n && status == SALTUS_OK;
             i += i < most || i == n - 1 ? 1 : n - 1 - i) {
            status = check_point(sweep, i * behind, model, law, plan, &r, err);
        }
    }
    return status;
}
