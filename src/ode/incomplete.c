#include "ode/incomplete.h"

#include "core/memory.h"

saltus_status saltus_incomplete_init(saltus_incomplete *f, const saltus_columns_of *rows, int32_t n,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    f->rows = rows;
    f->n = n;
    f->value = saltus_calloc((size_t)rows->first[n], sizeof *f->value);
    f->diagonal = saltus_calloc((size_t)n, sizeof *f->diagonal);
    f->work = saltus_calloc((size_t)n, sizeof *f->work);
    f->is_there = saltus_calloc((size_t)n, 1);
    SALTUS_NEED(f->value && f->diagonal && f->work && f->is_there);
    for (int32_t j = 0; j < n; ++j) {
        f->diagonal[j] = rows->first[j];
        while (rows->item[f->diagonal[j]] != j) {
            ++f->diagonal[j];
        }
    }
done:
    return status;
}

void saltus_incomplete_free(saltus_incomplete *f)
{
    saltus_free(f->value);
    saltus_free(f->diagonal);
    saltus_free(f->work);
    saltus_free(f->is_there);
}

/* Column j of the factors, from those before it. */
static bool factor_column(saltus_incomplete *f, int32_t j, const double *jacobian, double gamma)
{
    const int64_t *first = f->rows->first;
    const int32_t *row = f->rows->item;
    for (int64_t i = first[j]; i < first[j + 1]; ++i) {
        f->work[row[i]] = (row[i] == j ? 1.0 : 0.0) - gamma * jacobian[i];
        f->is_there[row[i]] = 1;
    }
    for (int64_t u = first[j]; u < f->diagonal[j]; ++u) {
        const int32_t k = row[u];
        const double x = f->work[k];
        for (int64_t i = f->diagonal[k] + 1; i < first[k + 1] && x != 0.0; ++i) {
            f->work[row[i]] -= f->is_there[row[i]] ? f->value[i] * x : 0.0;
        }
    }
    const double pivot = f->work[j];
    for (int64_t i = first[j]; i < first[j + 1]; ++i) {
        f->value[i] = row[i] > j ? f->work[row[i]] / pivot : f->work[row[i]];
        f->work[row[i]] = 0.0;
        f->is_there[row[i]] = 0;
    }
    return 0.0 * pivot == 0.0 && pivot != 0.0;
}

bool saltus_incomplete_factor(saltus_incomplete *f, const double *jacobian, double gamma)
{
    bool is_fine = true;
    for (int32_t j = 0; j < f->n && is_fine; ++j) {
        is_fine = factor_column(f, j, jacobian, gamma);
    }
    return is_fine;
}

void saltus_incomplete_solve(const saltus_incomplete *f, double *x)
{
    const int64_t *first = f->rows->first;
    const int32_t *row = f->rows->item;
    for (int32_t k = 0; k < f->n; ++k) {
        for (int64_t i = f->diagonal[k] + 1; i < first[k + 1] && x[k] != 0.0; ++i) {
            x[row[i]] -= f->value[i] * x[k];
        }
    }
    for (int32_t k = f->n - 1; k >= 0; --k) {
        x[k] /= f->value[f->diagonal[k]];
        for (int64_t i = first[k]; i < f->diagonal[k] && x[k] != 0.0; ++i) {
            x[row[i]] -= f->value[i] * x[k];
        }
    }
}
