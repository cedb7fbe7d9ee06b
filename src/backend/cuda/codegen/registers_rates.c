/* Kernels in registers for models with rate rules: what kernel/ode/rate_thread.h asks for. */
#include "backend/cuda/codegen/registers_text.h"

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

/* Beside events, all variables are in the state. */
void saltus_put_rate_state(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    for (int i = 0; i < t->n_rates && !saltus_has_events(t); ++i) {
        fprintf(w->out, "    double y%d;\n", t->rate_rows[i] - t->row_variables);
    }
    for (int i = 0; i < t->n_moving_laws; ++i) {
        fprintf(w->out, "    double m%d;\n", t->moving_laws[i]);
    }
}

/* Write how what moves follows from the state, and what is made of it. */
static void put_slope(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "SALTUS_FN void saltus_state_at(saltus_worker_state *s, double time, const "
                    "double *y)\n{\n    s->time = time;\n");
    for (int i = 0; i < t->n_rates; ++i) {
        fprintf(w->out, "    s->y%d = y[%d];\n", t->rate_rows[i] - t->row_variables, i);
    }
    fprintf(w->out, "}\nSALTUS_FN void saltus_state_slope(const saltus_worker_state *s, double "
                    "*slope,\n                                  double *laws)\n{\n"
                    "    (void)s, (void)laws;\n");
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
    fprintf(w->out, "}\n");
}

/* Write how the state is read and written. */
static void put_memory(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "SALTUS_FN int saltus_state_load(saltus_worker_state *s, const saltus_launch "
                    "*a, int64_t slot,\n                                double *y)\n"
                    "{\n    int beyond = 0;\n");
    if (saltus_has_events(t)) {
        saltus_put_event_load(w);
    }
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
    fprintf(w->out, "}\n");
}

/* Write what triggers that move compare. */
static void put_roots(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    for (int i = 0; i < t->n_roots; ++i) {
        saltus_put_program(w, "saltus_root", i, t->roots[i]);
    }
    fprintf(w->out, "SALTUS_FN void saltus_state_roots(const saltus_worker_state *s, double "
                    "*roots)\n{\n    (void)s, (void)roots;\n");
    for (int i = 0; i < t->n_roots; ++i) {
        fprintf(w->out, "    roots[%d] = saltus_root%d(s);\n", i, i);
    }
    fprintf(w->out, "}\n");
}

void saltus_put_rate_thread(const saltus_writer *w)
{
    const bool looks = w->t->n_moving_triggers > 0;
    saltus_put_reactions(w);
    put_slope(w);
    put_memory(w);
    fprintf(w->out, "#define SALTUS_HAPPENINGS %d\n#define SALTUS_N_ROOTS %d\n",
            saltus_has_events(w->t), looks ? w->t->n_roots : -1);
    if (saltus_has_events(w->t)) {
        saltus_put_turns(w);
        put_roots(w);
    }
    fprintf(w->out, "#include \"kernel/ode/rate_thread.h\"\n");
}
