/* Lines of JSON. */
#include "bench/bench.h"

#include <math.h>

bench_field bench_text(const char *name, const char *x)
{
    return (bench_field){.name = name, .kind = BENCH_TEXT, .text = x};
}

bench_field bench_integer(const char *name, int64_t x)
{
    return (bench_field){.name = name, .kind = BENCH_INTEGER, .integer = x};
}

bench_field bench_real(const char *name, double x)
{
    return (bench_field){.name = name, .kind = BENCH_REAL, .real = x};
}

bench_field bench_truth(const char *name, bool x)
{
    return (bench_field){.name = name, .kind = BENCH_TRUTH, .integer = x};
}

/* What stands in JSON's quotes. */
static void print_text(const char *text)
{
    putchar('"');
    for (; *text; ++text) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        if ((unsigned char)*text >= ' ') {
            putchar(*text);
        }
    }
    putchar('"');
}

static void print_value(const bench_field *f)
{
    if (f->kind == BENCH_TEXT && f->text) {
        print_text(f->text);
    } else if (f->kind == BENCH_INTEGER) {
        printf("%lld", (long long)f->integer);
    } else if (f->kind == BENCH_REAL && isfinite(f->real)) {
        printf("%.6g", f->real);
    } else if (f->kind == BENCH_TRUTH) {
        printf(f->integer ? "true" : "false");
    } else {
        printf("null");
    }
}

void bench_put_fields(bench *b, const bench_field *fields)
{
    if (!b->is_in_line) {
        printf("{\"bench\": \"%s\"", b->name);
        b->is_in_line = true;
    }
    for (const bench_field *f = fields; f->kind != BENCH_END; ++f) {
        if (f->kind != BENCH_NONE) {
            printf(", \"%s\": ", f->name);
            print_value(f);
        }
    }
}

void bench_end(bench *b)
{
    printf("}\n");
    (void)fflush(stdout);
    b->is_in_line = false;
}

void bench_end_checked(bench *b, bool is_right)
{
    bench_put(b, FIELD("check", is_right ? "ok" : "failed"));
    b->has_failed |= !is_right;
    bench_end(b);
}

void bench_end_skipped(bench *b, const char *why)
{
    bench_put(b, FIELD("skipped", why));
    bench_end(b);
}

double bench_ratio(double a, double b)
{
    return a > 0.0 && b > 0.0 ? a / b : NAN;
}

const char *bench_engine(const bench *b, const saltus_backend *device)
{
    return device == b->gpu ? "gpu" : "cores";
}
