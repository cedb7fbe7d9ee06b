/* Kernels for models with rate rules: the program of what moves as a function of the trajectory and
 * of the components of a step (kernel/ode/ode_global.h). */
#include "backend/cuda/codegen/motion.h"

#include "backend/cuda/codegen/operations.h"
#include "backend/cuda/codegen/registers_text.h"
#include "kernel/base/ops.h"

#include <stdlib.h>

/* Of larger models the thread's memory or the compiler's time would grow too much. */
enum { MOST_COMPONENTS = 8, MOST_OPERATIONS = 100 };

bool saltus_motion_is_written(const saltus_tables *t)
{
    return t->n_rates > 0 && t->n_rates < MOST_COMPONENTS && t->motion.n <= MOST_OPERATIONS &&
           !t->has_tables && t->n_kinks == 0 && t->n_delayed == 0;
}

/* Whether there is a program beside `motion`: of a rule, an event, a law that does not move. */
static bool has_others(const saltus_tables *t)
{
    bool has = t->n_rules > 0 || saltus_has_events(t);
    for (int r = 0; r < t->n_reactions; ++r) {
        has |= t->law_program[r] >= 0 && !saltus_is_moving(t, r);
    }
    return has;
}

/* Whether one of the first n operations of the program leaves its result in a row. */
static bool is_result(const saltus_tables *t, int row, int n)
{
    for (int i = t->motion.first; i < t->motion.first + n; ++i) {
        if (t->code[i].dst == row) {
            return true;
        }
    }
    return false;
}

/* Rows that the program reads and no step changes: counts, constants, parameters. */
typedef struct held_rows {
    const saltus_tables *t;
    int n, rows[3 * MOST_OPERATIONS + MOST_COMPONENTS];
} held_rows;

/* The value of a row behind n operations. */
static void put_row(held_rows *h, int row, int n, FILE *out)
{
    const saltus_tables *t = h->t;
    int k = 0;
    for (int i = 0; i < t->n_rates; ++i) {
        if (row == t->rate_rows[i]) {
            fprintf(out, "y[%d]", i);
            return;
        }
    }
    if (row == t->row_time || is_result(t, row, n)) {
        fprintf(out, row == t->row_time ? "time" : "w%d", row);
        return;
    }
    while (k < h->n && h->rows[k] != row) {
        ++k;
    }
    h->rows[k] = row;
    h->n += k == h->n;
    fprintf(out, "o->held[%d]", k);
}

/* Write the functions, the second of which gives `held` its values. */
static void put_motion(held_rows *h, FILE *out)
{
    const saltus_tables *t = h->t;
    fprintf(out, "SALTUS_FN void saltus_motion(const saltus_trajectory *p, saltus_ode *o, double "
                 "time,\n                             const double *y, double *slope)\n{\n"
                 "    (void)p, (void)time, (void)y;\n");
    for (int i = 0; i < t->motion.n; ++i) {
        const saltus_instruction *q = &t->code[t->motion.first + i];
        const int rows[] = {q->a, q->b, q->c};
        fprintf(out, "    %sw%d = SALTUS_DO_%s(", is_result(t, q->dst, i) ? "" : "double ", q->dst,
                saltus_op_name(q->op));
        for (int k = 0; k < 3; ++k) {
            put_row(h, rows[k], i, out);
            fprintf(out, k < 2 ? ", " : ");\n");
        }
    }
    for (int i = 0; i < t->n_rates + t->n_moving_laws; ++i) {
        fprintf(out, i < t->n_rates ? "    slope[%d] = " : "    o->laws[%d] = ",
                i < t->n_rates ? i : i - t->n_rates);
        put_row(h, t->motion_rows[i], t->motion.n, out);
        fprintf(out, ";\n");
    }
    fprintf(out, "}\nSALTUS_FN void saltus_ode_hold(const saltus_trajectory *p, saltus_ode *o)\n{\n"
                 "    (void)p, (void)o;\n");
    for (int k = 0; k < h->n; ++k) {
        fprintf(out, "    o->held[%d] = p->v[SALTUS_AT(%d)];\n", k, h->rows[k]);
    }
    fprintf(out, "}\n");
}

saltus_status saltus_motion_text(const saltus_tables *tables, const uint8_t *varies, char **text,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    held_rows h = {.t = tables};
    size_t size = 0;
    char *motion = NULL;
    FILE *out = NULL;
    *text = NULL;
    out = open_memstream(&motion, &size);
    SALTUS_NEED(out);
    const saltus_writer w = {.t = tables, .varies = varies, .out = out};
    const bool in_registers = !saltus_registers_against(tables);
    fprintf(out, "#define SALTUS_RATE_THREADS %d\n%s", in_registers,
            in_registers ? "#define SALTUS_LEAST_BLOCKS 1\n" : "");
    if (!saltus_has_events(tables)) {
        fprintf(out, "#define SALTUS_EVENTS 0\n");
    }
    if (has_others(tables)) {
        saltus_put_run_list(tables, out);
    } else {
        fprintf(out, "#define SALTUS_PROGRAMS 0\n");
    }
    fputs("#include \"kernel/ode/ode_global.h\"\n", out);
    put_motion(&h, out);
    if (in_registers) {
        saltus_put_rate_thread(&w);
    }
    SALTUS_NEED(fclose(out) == 0);
    if (asprintf(text,
                 "#define SALTUS_ODE_SIZE %d\n"
                 "#define SALTUS_N_MOVING %d\n#define SALTUS_N_HELD %d\n%s",
                 tables->n_rates + 1, tables->n_moving_laws, h.n, motion) < 0) {
        *text = NULL;
    }
    SALTUS_NEED(*text);
done:
    free(motion);
    return status;
}
