#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check.h"

#include <math.h>
#include <string.h>

saltus_model *parse_frozen(const char *text)
{
    saltus_model *m = NULL;
    saltus_error err = {0};
    OK(saltus_model_parse_yaml(text, strlen(text), "m", &m, &err));
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    return m;
}

void check_mean(double sum, double n, double mean, double variance, const char *what)
{
    const double error = sqrt(fmax(variance, 0.0) / n) + 1e-12;
    if (!(fabs(sum / n - mean) <= 5.0 * error)) {
        fail_msg("%s: %g, not %g +- %g", what, sum / n, mean, error);
    }
}

void check_alike(const moments *x, const moments *y, int n_columns, const char *what)
{
    const double n = (double)x->n;
    assert_true(x->n == y->n);
    for (int i = 0; i < n_columns; ++i) {
        const double mean = y->sum[i] / n, variance = y->squares[i] / n - mean * mean;
        const double mine = x->squares[i] / n - x->sum[i] / n * (x->sum[i] / n);
        check_mean(x->sum[i], n, mean, 2.0 * variance, what);
        assert_true(fabs(mine / variance - 1.0) < 5.0 * sqrt(4.0 / n) * 1.5);
    }
}
