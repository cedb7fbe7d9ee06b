/* Which name a mistyped one may have meant. */
#include "model/network/model.h"

#include <string.h>
#include <strings.h>

/* Edit distance by the two-row dynamic programme; names longer than the row are no neighbours. */
static int edit_distance(const char *a, const char *b)
{
    enum { MAX = 40 };
    int row[MAX + 1];
    const size_t n = strlen(a), m = strlen(b);
    if (n > MAX || m > MAX) {
        return MAX;
    }
    for (size_t j = 0; j <= m; ++j) {
        row[j] = (int)j;
    }
    for (size_t i = 1; i <= n; ++i) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; ++j) {
            const int replace = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const int shorter = row[j - 1] < row[j] ? row[j - 1] : row[j];
            row[j] = replace < shorter + 1 ? replace : shorter + 1;
        }
    }
    return row[m];
}

/* Of one kind, or of any: -1. */
static const char *find_nearest(const saltus_model *model, const char *name, int kind)
{
    const char *best = NULL;
    int best_distance = 1 + (int)strlen(name) / 3;
    for (size_t i = 0; i < model->n_variables; ++i) {
        const saltus_variable *v = &model->variables[i];
        if (kind >= 0 && (int)v->kind != kind) {
            continue;
        }
        const int d = edit_distance(name, v->id);
        const bool is_alike = d < (int)strlen(name) || d < (int)strlen(v->id) ||
                              strcasecmp(name, v->id) == 0; /* all letters differ in 'k' and 'q' */
        if (is_alike && d <= best_distance && (!best || d < best_distance)) {
            best = v->id;
            best_distance = d;
        }
    }
    return best;
}

const char *saltus_model_nearest(const saltus_model *model, const char *name)
{
    return find_nearest(model, name, -1);
}

const char *saltus_model_nearest_of(const saltus_model *model, const char *name, saltus_kind kind)
{
    return find_nearest(model, name, (int)kind);
}
