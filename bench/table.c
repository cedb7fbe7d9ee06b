/* Tables and other texts that are embedded in this program: papers/NAME.csv. */
#include "bench/bench.h"

#include "core/memory.h"
#include "core/status.h"

#include <stdlib.h>
#include <string.h>

extern const char *const bench_files[][2]; /* name, text; {NULL, NULL} behind the last */

const char *bench_file(const char *name)
{
    int i = 0;
    while (bench_files[i][0] && strcmp(bench_files[i][0], name) != 0) {
        ++i;
    }
    return bench_files[i][1];
}

/* Cut a line into its cells, which are counted; with `cells` they are also kept. */
static int cut(char *line, const char **cells)
{
    int n = 0;
    for (char *cell = line; cell; ++n) {
        char *comma = strchr(cell, ',');
        if (cells) {
            cells[n] = cell;
            if (comma) {
                *comma = '\0';
            }
        }
        cell = comma ? comma + 1 : NULL;
    }
    return n;
}

saltus_status bench_table_open(const char *name, bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char file[100], *rest = NULL;
    (void)snprintf(file, sizeof file, "%s.csv", name);
    const char *text = bench_file(file);
    *t = (bench_table){0};
    if (!text) {
        SALTUS_FAIL(SALTUS_E_INTERNAL, "there is no table %s", file);
    }
    const size_t size = strlen(text);
    t->text = saltus_calloc(size + 1, 1);
    t->cells = saltus_calloc(size + 1, sizeof *t->cells); /* no more than there are characters */
    SALTUS_NEED(t->text && t->cells);
    memcpy(t->text, text, size);
    for (char *line = strtok_r(t->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '#') {
            continue;
        }
        const int n = cut(line, NULL);
        if (t->n_rows > 0 && n != t->n_columns) {
            SALTUS_FAIL(SALTUS_E_INTERNAL, "%s: row %d has %d cells, not %d", file, t->n_rows, n,
                        t->n_columns);
        }
        t->n_columns = cut(line, t->cells + (size_t)t->n_rows++ * (size_t)n);
    }
done:
    return status;
}

void bench_table_close(bench_table *t)
{
    saltus_free(t->text);
    saltus_free((void *)t->cells);
}

bool bench_next(bench_table *t)
{
    return ++t->row < t->n_rows;
}

const char *bench_cell(const bench_table *t, const char *column)
{
    for (int c = 0; c < t->n_columns; ++c) {
        if (strcmp(t->cells[c], column) == 0) {
            return t->cells[t->row * t->n_columns + c];
        }
    }
    return "";
}

double bench_number(const bench_table *t, const char *column)
{
    return strtod(bench_cell(t, column), NULL);
}

int64_t bench_whole(const bench_table *t, const char *column)
{
    return (int64_t)bench_number(t, column);
}

double bench_sized(const bench *b, const bench_table *t, const char *name)
{
    char quick[100];
    (void)snprintf(quick, sizeof quick, "%s%s", b->quick ? "quick_" : "", name);
    return bench_number(t, quick);
}

saltus_status bench_each_row(bench *b, const char *name,
                             saltus_status (*act)(bench *b, const bench_table *t,
                                                  saltus_error *err),
                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bench_table t;
    SALTUS_TRY(bench_table_open(name, &t, err));
    while (bench_next(&t)) {
        SALTUS_TRY(act(b, &t, err));
    }
done:
    bench_table_close(&t);
    return status;
}

bool bench_word(const char **at, char word[BENCH_WORD])
{
    if (!*at) {
        return false;
    }
    const size_t n = strcspn(*at, " ");
    (void)snprintf(word, BENCH_WORD, "%.*s", (int)n, *at);
    *at = (*at)[n] ? *at + n + 1 : NULL;
    return true;
}
