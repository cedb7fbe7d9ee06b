/* Tau-leaping in registers: what of a leap is written for the model (kernel/tau/tau_thread.h). The
 * formulas are those of kernel/tau/formulas.h, in the order of tau.h. Nothing branches: a reaction
 * that does not leap counts 0. */
#include "backend/cuda/codegen/registers_text.h"

#include <inttypes.h>

/* Write critical marks: a[reaction], and mR, what of it leaps. */
static void put_marks(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    for (int r = 0; r < t->n_reactions; ++r) {
        fprintf(w->out,
                "    const double a%d = saltus_law%d(s);\n    const int is%d = a%d > 0.0 && (0", r,
                r, r, r);
        for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
            const int64_t amount = t->change_amount[c];
            const int s = t->change_species[c];
            if (amount < 0 || t->order[s] > 0.0) {
                fprintf(w->out, " || SALTUS_X(%d) < few * %" PRId64 ".0", s,
                        amount < 0 ? -amount : amount);
            }
        }
        fprintf(w->out,
                ");\n    const double m%d = a%d > 0.0 && !is%d ? a%d : 0.0;\n"
                "    *critical = is%d ? *critical + a%d : *critical;\n"
                "    a[%d] = is%d ? -a%d : m%d;\n",
                r, r, r, r, r, r, r, r, r, r);
    }
}

/* Write lS, the loss of a species over its bound, for each that reactions read; it raises
 * `fastest`. */
static void put_bound(const saltus_writer *w, int s)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "    double l%d = 0.0, v%d = 0.0;\n", s, s);
    for (int r = 0; r < t->n_reactions; ++r) {
        const int64_t amount = saltus_change_of(t, r, s);
        if (amount != 0) {
            fprintf(w->out,
                    "    l%d = l%d + %" PRId64 ".0 * m%d;\n"
                    "    v%d = v%d + %" PRId64 ".0 * (%" PRId64 ".0 * m%d);\n",
                    s, s, amount, r, s, s, amount, amount, r);
        }
    }
    fprintf(w->out, "    fastest = saltus_tau_bound(tau, saltus_tau_order(");
    saltus_put_number(w->out, t->order[s]);
    fprintf(w->out, ", %d, SALTUS_X(%d)), SALTUS_X(%d), v%d, &l%d, fastest);\n", t->order_own[s], s,
            s, s, s);
}

/* Write `relaxation`, the fastest of reactions that leap. */
static void put_relaxation(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    for (int r = 0; r < t->n_reactions; ++r) {
        fprintf(w->out, "    relaxation = m%d > 0.0 ? saltus_tau_larger(relaxation, 0.0", r);
        for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
            if (t->order[t->change_species[c]] > 0.0) {
                fprintf(w->out, " + l%d", t->change_species[c]);
            }
        }
        fprintf(w->out, ") : relaxation;\n");
    }
}

/* Write how counts move. */
static void put_move(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out, "SALTUS_FN int saltus_leaper_move(saltus_worker_state *s, double sign, const "
                    "double *k)\n{\n    int few = 0, many = 0;\n");
    for (int s = 0; s < t->n_species; ++s) {
        const char *before = "";
        for (int r = 0; r < t->n_reactions; ++r) {
            const int64_t amount = saltus_change_of(t, r, s);
            if (amount != 0) {
                fprintf(w->out, "%s%" PRId64 ".0 * k[%d]",
                        *before ? before : "    {\n        const double x = ", amount, r);
                before = " + ";
            }
        }
        if (*before) {
            fprintf(w->out,
                    ";\n        const double moved = SALTUS_X(%d) + sign * (x);\n"
                    "        few |= moved < 0.0;\n        many |= moved > 0x1p51;\n"
                    "        SALTUS_X(%d) = moved;\n    }\n",
                    s, s);
        }
    }
    fprintf(w->out, "    return few | many << 1;\n}\n");
}

void saltus_put_leaps(const saltus_writer *w)
{
    const saltus_tables *t = w->t;
    fprintf(w->out,
            "#define SALTUS_N_REACTIONS %d\n#define SALTUS_LARGEST_CHANGE %" PRId64 ".0\n"
            "#define SALTUS_MAY_LACK %d\n"
            "SALTUS_FN void saltus_leaper_laws(const saltus_worker_state *s, double *a)\n{\n",
            t->n_reactions, t->largest_change, t->idles && t->n_unsafe > 0);
    for (int r = 0; r < t->n_reactions; ++r) {
        fprintf(w->out, "    a[%d] = saltus_law%d(s);\n", r, r);
    }
    fprintf(
        w->out,
        "}\nSALTUS_FN double saltus_leaper_bound(const saltus_worker_state *s, const saltus_tau "
        "*tau,\n                                   double *a, double *critical)\n{\n"
        "    const double few = (double)tau->n_critical;\n"
        "    double fastest = 0.0, relaxation = 0.0;\n    *critical = 0.0;\n    (void)few;\n");
    put_marks(w);
    for (int s = 0; s < t->n_species; ++s) {
        if (t->order[s] > 0.0) {
            put_bound(w, s);
        }
    }
    put_relaxation(w);
    fprintf(w->out, "    return saltus_tau_step(fastest, relaxation);\n}\n");
    put_move(w);
}
