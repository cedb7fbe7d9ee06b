#include "backend/cuda/codegen/operations.h"

#include "backend/cuda/codegen/registers_text.h"
#include "kernel/base/ops.h"

bool saltus_is_arithmetic(int op)
{
    return op == SALTUS_OP_ADD || op == SALTUS_OP_SUB || op == SALTUS_OP_MUL ||
           op == SALTUS_OP_DIV || op == SALTUS_OP_NEG;
}

typedef struct operations {
    bool is_needed[SALTUS_N_OPS];
} operations;

static void add_code(operations *o, const saltus_instruction *code, int n)
{
    for (int i = 0; i < n; ++i) {
        if (code[i].op < SALTUS_N_OPS) {
            o->is_needed[code[i].op] = true;
        }
    }
}

/* Those on intervals, and those that others are made of. */
static void add_bounds(operations *o, const saltus_tables *t)
{
    static const struct {
        saltus_op of, needs;
    } parts[] = {{SALTUS_OP_SEC, SALTUS_OP_COS},
                 {SALTUS_OP_CSC, SALTUS_OP_SIN},
                 {SALTUS_OP_REM, SALTUS_OP_QUOTIENT}};
    add_code(o, t->bound_code, t->n_bound_code);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        o->is_needed[parts[i].needs] |= o->is_needed[parts[i].of];
    }
}

static void put(const operations *o, const char *list, FILE *out)
{
    fprintf(out, "#define %s(X)", list);
    for (int op = 0; op < SALTUS_N_OPS; ++op) {
        if (o->is_needed[op]) {
            fprintf(out, " X(%s, \"\", 0)", saltus_op_name(op));
        }
    }
    fprintf(out, "\n");
}

void saltus_put_run_list(const saltus_tables *t, FILE *out)
{
    operations o = {.is_needed = {[SALTUS_OP_ADD] = true}};
    add_code(&o, t->code, t->n_code);
    put(&o, "SALTUS_RUN_LIST", out);
}

void saltus_put_apply_list(const saltus_tables *t, FILE *out)
{
    operations o = {.is_needed = {false}};
    add_bounds(&o, t);
    for (int op = 0; op < SALTUS_N_OPS; ++op) {
        o.is_needed[op] &= !saltus_is_arithmetic(op);
    }
    put(&o, "SALTUS_APPLY_LIST", out);
}

void saltus_put_shared_lists(const saltus_tables *t, FILE *out)
{
    operations o = {.is_needed = {false}};
    for (int op = 0; op < SALTUS_OP_EXP; ++op) { /* functions come last */
        o.is_needed[op] = op != SALTUS_OP_POW;
    }
    add_code(&o, t->code, t->n_code);
    add_bounds(&o, t);
    put(&o, "SALTUS_RUN_LIST", out);
    fputs("#define SALTUS_APPLY_LIST SALTUS_RUN_LIST\n", out);
}

void saltus_put_distributions(const saltus_tables *t, FILE *out)
{
    unsigned drawn = 0;
    for (int i = 0; i < t->n_variates; ++i) {
        drawn |= 1u << (t->variates[i].op - SALTUS_OP_FIRST_VARIATE);
    }
    if (drawn) {
        fprintf(out, "#define SALTUS_DISTRIBUTIONS %#xu\n", drawn);
    } else {
        fprintf(out, "#define SALTUS_VARIATES 0\n");
    }
}
