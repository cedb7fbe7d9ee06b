/* Which rows programs read. */
#include "model/network/expr.h"
#include "model/network/network.h"

int saltus_program_arity(int op)
{
    return op == SALTUS_OP_SELECT  ? 3
           : op > SALTUS_OP_SELECT ? 1 /* other rows of a table are constants */
                                   : saltus_op_arity((saltus_op)op);
}

void saltus_program_reads(const saltus_tables *t, saltus_program program,
                          void (*found)(void *user, int row), void *user)
{
    found(user, program.result);
    for (int i = program.first; i < program.first + program.n; ++i) {
        const saltus_instruction *q = &t->code[i];
        const int arity = saltus_program_arity(q->op);
        found(user, q->a);
        if (arity > 1) {
            found(user, q->b);
        }
        if (arity > 2) {
            found(user, q->c);
        }
    }
}
