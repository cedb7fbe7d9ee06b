/* Kernels for models with rate rules: the program of what moves as a function of the trajectory and
 * of the components of a step (kernel/ode/ode_global.h), and of a state in registers
 * (kernel/ode/rate_thread.h). */
#include "backend/cuda/codegen/motion.h"

#include "backend/cuda/codegen/registers_text.h"
#include "kernel/base/ops.h"

#include <stdlib.h>
#include <string.h>

/* Of larger models the thread's memory or the compiler's time would grow too much. */
enum { MOST_COMPONENTS = 8, MOST_OPERATIONS = 100 };

/* Whether `motion` is short, and nothing happens but reactions. */
static bool fits(const saltus_tables *t)
{
    return t->n_rates < MOST_COMPONENTS && t->motion.n <= MOST_OPERATIONS && !t->has_tables &&
           t->n_triggers == 0 && t->n_flags == 0 && t->n_kinks == 0 && t->n_delayed == 0 &&
           t->n_variates == 0;
}

/* Whether there is a program beside `motion`: a rule, or a law that does not move. */
static bool has_others(const saltus_tables *t)
{
    bool has = t->n_rules > 0;
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

bool saltus_is_rate_row(const saltus_tables *t, int row)
{
    bool is = false;
    for (int i = 0; i < t->n_rates; ++i) {
        is |= t->rate_rows[i] == row;
    }
    return is;
}

bool saltus_is_moving(const saltus_tables *t, int r)
{
    bool is = false;
    for (int i = 0; i < t->n_moving_laws; ++i) {
        is |= t->moving_laws[i] == r;
    }
    return is;
}

void saltus_put_rate_state(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    for (int i = 0; i < t->n_rates; ++i) {
        fprintf(w->out, "    double y%d;\n", t->rate_rows[i] - t->row_variables);
    }
    for (int i = 0; i < t->n_moving_laws; ++i) {
        fprintf(w->out, "    double m%d;\n", t->moving_laws[i]);
    }
}

/* Write what rate_thread.h needs. */
static void put_thread(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    saltus_put_reactions(w);
    fprintf(w->out, "SALTUS_FN void saltus_state_move(saltus_worker_state *s, double time, const "
                    "double *y,\n                                 double *slope, double *laws)\n"
                    "{\n    s->time = time;\n    (void)laws;\n");
    for (int i = 0; i < t->n_rates; ++i) {
        fprintf(w->out, "    s->y%d = y[%d];\n", t->rate_rows[i] - t->row_variables, i);
    }
    saltus_put_code(w, t->motion);
    for (int i = 0; i < t->n_rates + t->n_moving_laws; ++i) {
        fprintf(w->out, i < t->n_rates ? "    slope[%d] = " : "    laws[%d] = ",
                i < t->n_rates ? i : i - t->n_rates);
        saltus_put_row(w, t->motion_rows[i]);
        fprintf(w->out, ";\n");
    }
    fprintf(w->out, "}\nSALTUS_FN void saltus_state_give(saltus_worker_state *s, const double "
                    "*laws)\n{\n    (void)s, (void)laws;\n");
    for (int i = 0; i < t->n_moving_laws; ++i) {
        fprintf(w->out, "    s->m%d = laws[%d];\n", t->moving_laws[i], i);
    }
    fprintf(w->out,
            "}\nSALTUS_FN int saltus_state_load(saltus_worker_state *s, const saltus_launch "
            "*a, int64_t slot,\n                                double *y)\n"
            "{\n    int beyond = 0;\n");
    for (int s = 0; s < t->n_species; ++s) {
        fprintf(w->out,
                "    SALTUS_X(%d) = (double)a->x[slot + SALTUS_AT(%d)];\n"
                "    beyond |= SALTUS_X(%d) > 0x1p51;\n",
                s, s, s);
    }
    for (int i = 0; i < t->n_rates; ++i) {
        fprintf(w->out, "    y[%d] = a->v[slot + SALTUS_AT(%d)];\n", i, t->rate_rows[i]);
    }
    fprintf(w->out, "    return beyond;\n}\nSALTUS_FN void saltus_state_save(const "
                    "saltus_worker_state *s, const saltus_launch *a,\n"
                    "                                int64_t slot, const double *y)\n{\n");
    for (int s = 0; s < t->n_species; ++s) {
        fprintf(w->out,
                "    a->x[slot + SALTUS_AT(%d)] = (int64_t)SALTUS_X(%d);\n"
                "    a->v[slot + SALTUS_AT(%d)] = SALTUS_X(%d);\n",
                s, s, s, s);
    }
    for (int i = 0; i < t->n_rates; ++i) {
        fprintf(w->out, "    a->v[slot + SALTUS_AT(%d)] = y[%d];\n", t->rate_rows[i], i);
    }
    fprintf(w->out, "}\n#include \"kernel/ode/rate_thread.h\"\n");
}

saltus_status saltus_motion_text(const saltus_tables *tables, const uint8_t *varies, char **text,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    static const char kernel[] = "#include \"kernel/ode/ode_global.h\"\n";
    held_rows h = {.t = tables};
    size_t size = 0;
    char *motion = NULL;
    FILE *out = NULL;
    *text = NULL;
    if (!fits(tables)) {
        *text = strdup(kernel);
        SALTUS_NEED(*text);
        goto done;
    }
    out = open_memstream(&motion, &size);
    SALTUS_NEED(out);
    const saltus_writer w = {.t = tables, .varies = varies, .out = out};
    const bool in_registers = !saltus_registers_against(tables);
    fprintf(out, "#define SALTUS_RATE_THREADS %d\n%s", in_registers,
            in_registers ? "#define SALTUS_LEAST_BLOCKS 1\n" : "");
    if (has_others(tables)) {
        saltus_put_run_list(&w);
    } else {
        fprintf(out, "#define SALTUS_PROGRAMS 0\n");
    }
    fputs(kernel, out);
    put_motion(&h, out);
    if (in_registers) {
        put_thread(&w);
    }
    SALTUS_NEED(fclose(out) == 0);
    if (asprintf(text,
                 "#define SALTUS_EVENTS 0\n#define SALTUS_ODE_SIZE %d\n"
                 "#define SALTUS_N_MOVING %d\n#define SALTUS_N_HELD %d\n%s",
                 tables->n_rates + 1, tables->n_moving_laws, h.n, motion) < 0) {
        *text = NULL;
    }
    SALTUS_NEED(*text);
done:
    free(motion);
    return status;
}
