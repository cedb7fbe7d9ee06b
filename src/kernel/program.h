/** Programs: what expressions become when a model is frozen, run over lanes. */
#ifndef SALTUS_KERNEL_PROGRAM_H
#define SALTUS_KERNEL_PROGRAM_H

#include "kernel/math.h"
#include "kernel/math_hyperbolic.h"
#include "kernel/math_trig.h"
#include "kernel/ops.h"
#include "kernel/tables.h"

/* 1 where the mask is set, else 0. */
SALTUS_FN saltus_f64 saltus_truth(saltus_mask m)
{
    return saltus_select(m, saltus_splat(1.0), saltus_splat(0.0));
}

SALTUS_FN saltus_mask saltus_is_true(saltus_f64 x)
{
    return SALTUS_NE(x, saltus_splat(0.0));
}

/**
 * Run one program on the rows v[row][lane]. Both branches of a piecewise are computed and one is
 * chosen, so an invalid operation in the other does no harm.
 */
SALTUS_OUTLINE void saltus_program_run(const saltus_instruction *code, saltus_program p,
                                       saltus_f64 *v)
{
    const saltus_instruction *end = code + p.first + p.n;
    for (const saltus_instruction *i = code + p.first; i < end; ++i) {
        const saltus_f64 a = v[SALTUS_AT(i->a)], b = v[SALTUS_AT(i->b)];
        saltus_f64 y;
        /* clang-format off */
        switch (i->op) {
        case SALTUS_OP_ADD: y = a + b; break;
        case SALTUS_OP_SUB: y = a - b; break;
        case SALTUS_OP_MUL: y = a * b; break;
        case SALTUS_OP_DIV: y = a / b; break;
        case SALTUS_OP_POW: y = saltus_pow(a, b); break;
        case SALTUS_OP_NEG: y = -a; break;
        case SALTUS_OP_LT: y = saltus_truth(SALTUS_LT(a, b)); break;
        case SALTUS_OP_LE: y = saltus_truth(SALTUS_LE(a, b)); break;
        case SALTUS_OP_GT: y = saltus_truth(SALTUS_LT(b, a)); break;
        case SALTUS_OP_GE: y = saltus_truth(SALTUS_LE(b, a)); break;
        case SALTUS_OP_EQ: y = saltus_truth(SALTUS_EQ(a, b)); break;
        case SALTUS_OP_NE: y = saltus_truth(SALTUS_NE(a, b)); break;
        case SALTUS_OP_AND: y = saltus_truth(saltus_is_true(a) & saltus_is_true(b)); break;
        case SALTUS_OP_OR: y = saltus_truth(saltus_is_true(a) | saltus_is_true(b)); break;
        case SALTUS_OP_NOT: y = saltus_truth(~saltus_is_true(a)); break;
        case SALTUS_OP_XOR: y = saltus_truth(saltus_is_true(a) ^ saltus_is_true(b)); break;
        case SALTUS_OP_IMPLIES: y = saltus_truth(~saltus_is_true(a) | saltus_is_true(b)); break;
        case SALTUS_OP_SELECT: y = saltus_select(saltus_is_true(a), b, v[SALTUS_AT(i->c)]); break;
        case SALTUS_OP_MIN: y = saltus_min(a, b); break;
        case SALTUS_OP_MAX: y = saltus_max(a, b); break;
        case SALTUS_OP_ABS: y = saltus_abs(a); break;
        case SALTUS_OP_EXP: y = saltus_exp(a); break;
        case SALTUS_OP_LN: y = saltus_log(a); break;
        case SALTUS_OP_LOG10: y = saltus_log10(a); break;
        case SALTUS_OP_SQRT: y = saltus_sqrt(a); break;
        case SALTUS_OP_ROOT: y = saltus_root(a, b); break;
        case SALTUS_OP_FLOOR: y = saltus_floor(a); break;
        case SALTUS_OP_CEIL: y = saltus_ceil(a); break;
        case SALTUS_OP_ROUND: y = saltus_round_even(a); break;
        case SALTUS_OP_FACTORIAL: y = saltus_factorial(a); break;
        case SALTUS_OP_QUOTIENT: y = saltus_quotient(a, b); break;
        case SALTUS_OP_REM: y = saltus_rem(a, b); break;
        case SALTUS_OP_SIN: y = saltus_sin(a); break;
        case SALTUS_OP_COS: y = saltus_cos(a); break;
        case SALTUS_OP_TAN: y = saltus_tan(a); break;
        case SALTUS_OP_SEC: y = saltus_sec(a); break;
        case SALTUS_OP_CSC: y = saltus_csc(a); break;
        case SALTUS_OP_COT: y = saltus_cot(a); break;
        case SALTUS_OP_SINH: y = saltus_sinh(a); break;
        case SALTUS_OP_COSH: y = saltus_cosh(a); break;
        case SALTUS_OP_TANH: y = saltus_tanh(a); break;
        case SALTUS_OP_SECH: y = saltus_sech(a); break;
        case SALTUS_OP_CSCH: y = saltus_csch(a); break;
        case SALTUS_OP_COTH: y = saltus_coth(a); break;
        case SALTUS_OP_ASIN: y = saltus_asin(a); break;
        case SALTUS_OP_ACOS: y = saltus_acos(a); break;
        case SALTUS_OP_ATAN: y = saltus_atan(a); break;
        case SALTUS_OP_ASEC: y = saltus_asec(a); break;
        case SALTUS_OP_ACSC: y = saltus_acsc(a); break;
        case SALTUS_OP_ACOT: y = saltus_acot(a); break;
        case SALTUS_OP_ASINH: y = saltus_asinh(a); break;
        case SALTUS_OP_ACOSH: y = saltus_acosh(a); break;
        case SALTUS_OP_ATANH: y = saltus_atanh(a); break;
        case SALTUS_OP_ASECH: y = saltus_asech(a); break;
        case SALTUS_OP_ACSCH: y = saltus_acsch(a); break;
        case SALTUS_OP_ACOTH: y = saltus_acoth(a); break;
        default: y = a; break;
        }
        /* clang-format on */
        v[SALTUS_AT(i->dst)] = y;
    }
}

#endif
