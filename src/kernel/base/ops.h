/** The operations of expressions and programs: enumerator, text, number of arguments (-1: any). */
#ifndef SALTUS_KERNEL_BASE_OPS_H
#define SALTUS_KERNEL_BASE_OPS_H

/* Operators first, then functions; the text of a function is its name in YAML, .net and L3 infix.
 * Comparisons and logic give 1 or 0, and take anything but 0 for true. */
/* clang-format off */
#define SALTUS_OP_LIST(X)                                                                        \
    X(CONST, "", 0)                                                                              \
    X(VARIABLE, "", 0)                                                                           \
    X(TIME, "time", 0)                                                                           \
    X(ADD, "+", 2)                                                                               \
    X(SUB, "-", 2)                                                                               \
    X(MUL, "*", 2)                                                                               \
    X(DIV, "/", 2)                                                                               \
    X(POW, "^", 2)                                                                               \
    X(NEG, "-", 1)                                                                               \
    X(LT, "<", 2)                                                                                \
    X(LE, "<=", 2)                                                                               \
    X(GT, ">", 2)                                                                                \
    X(GE, ">=", 2)                                                                               \
    X(EQ, "==", 2)                                                                               \
    X(NE, "!=", 2)                                                                               \
    X(AND, "&&", 2)                                                                              \
    X(OR, "||", 2)                                                                               \
    X(NOT, "!", 1)                                                                               \
    X(XOR, "xor", 2)                                                                             \
    X(IMPLIES, "implies", 2)                                                                     \
    X(PIECEWISE, "piecewise", -1)                                                                \
    X(MIN, "min", 2)                                                                             \
    X(MAX, "max", 2)                                                                             \
    X(ABS, "abs", 1)                                                                             \
    X(EXP, "exp", 1)                                                                             \
    X(LN, "ln", 1)                                                                               \
    X(LOG10, "log10", 1)                                                                         \
    X(SQRT, "sqrt", 1)                                                                           \
    X(ROOT, "root", 2)                                                                           \
    X(FLOOR, "floor", 1)                                                                         \
    X(CEIL, "ceil", 1)                                                                           \
    X(ROUND, "round", 1)                                                                         \
    X(FACTORIAL, "factorial", 1)                                                                 \
    X(QUOTIENT, "quotient", 2)                                                                   \
    X(REM, "rem", 2)                                                                             \
    X(SIN, "sin", 1)                                                                             \
    X(COS, "cos", 1)                                                                             \
    X(TAN, "tan", 1)                                                                             \
    X(SEC, "sec", 1)                                                                             \
    X(CSC, "csc", 1)                                                                             \
    X(COT, "cot", 1)                                                                             \
    X(SINH, "sinh", 1)                                                                           \
    X(COSH, "cosh", 1)                                                                           \
    X(TANH, "tanh", 1)                                                                           \
    X(SECH, "sech", 1)                                                                           \
    X(CSCH, "csch", 1)                                                                           \
    X(COTH, "coth", 1)                                                                           \
    X(ASIN, "asin", 1)                                                                           \
    X(ACOS, "acos", 1)                                                                           \
    X(ATAN, "atan", 1)                                                                           \
    X(ASEC, "asec", 1)                                                                           \
    X(ACSC, "acsc", 1)                                                                           \
    X(ACOT, "acot", 1)                                                                           \
    X(ASINH, "asinh", 1)                                                                         \
    X(ACOSH, "acosh", 1)                                                                         \
    X(ATANH, "atanh", 1)                                                                         \
    X(ASECH, "asech", 1)                                                                         \
    X(ACSCH, "acsch", 1)                                                                         \
    X(ACOTH, "acoth", 1)

/* Distributions: enumerator, text, number of parameters, and whether two bounds may follow them.
 * Expressions hold them; programs do not: they read a variate that was drawn before. */
#define SALTUS_VARIATE_LIST(X)                                                                   \
    X(UNIFORM, "uniform", 2, 0)         /* least, most */                                        \
    X(NORMAL, "normal", 2, 1)           /* mean, standard deviation */                           \
    X(EXPONENTIAL, "exponential", 1, 1) /* rate */                                               \
    X(GAMMA, "gamma", 2, 1)             /* shape, scale */                                       \
    X(LOGNORMAL, "lognormal", 2, 1)     /* mean and standard deviation of the logarithm */       \
    X(POISSON, "poisson", 1, 1)         /* mean */                                               \
    X(BINOMIAL, "binomial", 2, 1)       /* trials, probability */                                \
    X(BERNOULLI, "bernoulli", 1, 0)     /* probability */                                        \
    X(LAPLACE, "laplace", 2, 1)         /* location, scale */                                    \
    X(CAUCHY, "cauchy", 2, 1)           /* location, scale */                                    \
    X(CHISQUARE, "chisquare", 1, 1)     /* degrees of freedom */                                 \
    X(RAYLEIGH, "rayleigh", 1, 1)       /* scale */
/* Tables: the argument, then arguments and values of the table in pairs, which are numbers. In a
 * program they have the argument's row, the table's first row and that of its length. */
#define SALTUS_TABLE_LIST(X)                                                                       \
    X(HELD, "held")     /* the value of the last argument that is not larger */                    \
    X(LINEAR, "linear") /* on straight lines between */                                            \
    X(SPLINE, "spline") /* on cubics between, which rise or fall where the values do */
/* clang-format on */

/* SELECT (a ? b : c) is what a program has for PIECEWISE; no expression holds it. */
typedef enum saltus_op {
#define SALTUS_OP_ENUM(name, text, arity) SALTUS_OP_##name,
    SALTUS_OP_LIST(SALTUS_OP_ENUM)
#undef SALTUS_OP_ENUM
        SALTUS_N_OPS,
    SALTUS_OP_SELECT = SALTUS_N_OPS,
#define SALTUS_TABLE_ENUM(name, text) SALTUS_OP_##name,
    SALTUS_TABLE_LIST(SALTUS_TABLE_ENUM)
#undef SALTUS_TABLE_ENUM
#define SALTUS_VARIATE_ENUM(name, text, n, bounded) SALTUS_OP_##name,
        SALTUS_VARIATE_LIST(SALTUS_VARIATE_ENUM)
#undef SALTUS_VARIATE_ENUM
            SALTUS_OP_END,
    SALTUS_OP_FIRST_VARIATE = SALTUS_OP_SPLINE + 1
} saltus_op;

#endif
