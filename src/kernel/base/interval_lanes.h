/**
 * The interval arithmetic of intervals.h over lanes, an interval of its own in each, to the same
 * bits. Arithmetic, minimum, maximum, sine, cosine, the exponential, and whatever is done with
 * numbers alone, are done for all lanes together; other operations one lane after the other, by a
 * function that whoever runs programs passes.
 */
#ifndef SALTUS_KERNEL_BASE_INTERVAL_LANES_H
#define SALTUS_KERNEL_BASE_INTERVAL_LANES_H

#include "kernel/base/program.h"

#if SALTUS_LANES == 1
#error "intervals.h is for one lane"
#endif

/** Ends of an interval in each lane, as saltus_interval has them. */
typedef struct saltus_spans {
    saltus_f64 lo, hi;
} saltus_spans;

/** Does one operation in lane l: y[0] and y[1] become its ends, from those of its operands,
 * ends[operand][end]. */
typedef void saltus_span_fallback(void *user, int l, const saltus_instruction *i, double ends[3][2],
                                  double y[2]);

/* Unknown where either end is NaN. */
SALTUS_FN saltus_spans saltus_spans_of(saltus_f64 lo, saltus_f64 hi)
{
    const saltus_mask known = SALTUS_EQ(lo, lo) & SALTUS_EQ(hi, hi);
    const saltus_f64 unknown = lo + hi;
    return (saltus_spans){saltus_select(known, lo, unknown), saltus_select(known, hi, unknown)};
}

SALTUS_FN saltus_spans saltus_spans_select(saltus_mask m, saltus_spans a, saltus_spans b)
{
    return (saltus_spans){saltus_select(m, a.lo, b.lo), saltus_select(m, a.hi, b.hi)};
}

SALTUS_FN saltus_f64 saltus_spans_step(saltus_f64 x, saltus_mask outwards)
{
    const saltus_i64 bits = SALTUS_AS_I64(x), zero = bits & 0;
    const saltus_i64 most = zero + 0x7ff0000000000000;
    const saltus_i64 size = bits & 0x7fffffffffffffff;
    const saltus_mask stays = SALTUS_EQ(size, zero) | SALTUS_LE(most, size);
    const saltus_i64 inwards = saltus_select_i64(SALTUS_LT(zero + 2, size), size - 2, zero);
    const saltus_i64 moved = saltus_select_i64(outwards, size + 2, inwards);
    const saltus_i64 capped = saltus_select_i64(SALTUS_LT(moved, most), moved, most);
    return saltus_select(stays, x, SALTUS_AS_F64((bits ^ size) | capped));
}

SALTUS_FN saltus_spans saltus_spans_wider(saltus_f64 lo, saltus_f64 hi)
{
    const saltus_f64 largest = saltus_splat(0x1.fffffffffffffp+1023);
    const saltus_f64 inf = saltus_splat(SALTUS_INFINITY), zero = saltus_splat(0.0);
    const saltus_f64 l = saltus_select(SALTUS_EQ(lo, inf), largest, lo);
    const saltus_f64 h = saltus_select(SALTUS_EQ(hi, -inf), -largest, hi);
    return saltus_spans_of(saltus_spans_step(l, SALTUS_LT(l, zero)),
                           saltus_spans_step(h, SALTUS_LT(zero, h)));
}

SALTUS_FN saltus_mask saltus_spans_has_zero(saltus_spans a)
{
    const saltus_f64 zero = saltus_splat(0.0);
    return SALTUS_LE(a.lo, zero) & SALTUS_LE(zero, a.hi);
}

SALTUS_FN saltus_mask saltus_spans_is_zero(saltus_spans a)
{
    return SALTUS_EQ(a.lo, saltus_splat(0.0)) & SALTUS_EQ(a.hi, saltus_splat(0.0));
}

/* One operation on numbers, which is a program of one instruction. */
SALTUS_FN saltus_f64 saltus_spans_number(const saltus_instruction *i, saltus_f64 a, saltus_f64 b,
                                         saltus_f64 c)
{
    const saltus_instruction one = {i->op, 3, 0, 1, 2};
    const saltus_program p = {0, 1, 3};
    saltus_f64 v[4] = {a, b, c};
    saltus_program_run(&one, p, v);
    return v[3];
}

SALTUS_FN saltus_f64 saltus_spans_least(saltus_f64 a, saltus_f64 b)
{
    return saltus_select(SALTUS_LT(b, a), b, a);
}

SALTUS_FN saltus_f64 saltus_spans_most(saltus_f64 a, saltus_f64 b)
{
    return saltus_select(SALTUS_LT(a, b), b, a);
}

/* From the least to the largest of four; unknown where one of them is NaN. */
SALTUS_FN saltus_spans saltus_spans_among(saltus_f64 p, saltus_f64 q, saltus_f64 r, saltus_f64 s)
{
    const saltus_mask known = SALTUS_EQ(p, p) & SALTUS_EQ(q, q) & SALTUS_EQ(r, r) & SALTUS_EQ(s, s);
    const saltus_f64 unknown = SALTUS_NAN;
    const saltus_f64 lo = saltus_spans_least(saltus_spans_least(p, q), saltus_spans_least(r, s));
    const saltus_f64 hi = saltus_spans_most(saltus_spans_most(p, q), saltus_spans_most(r, s));
    return (saltus_spans){saltus_select(known, lo, unknown), saltus_select(known, hi, unknown)};
}

SALTUS_FN saltus_spans saltus_spans_add(saltus_spans a, saltus_spans b)
{
    const saltus_f64 inf = saltus_splat(SALTUS_INFINITY);
    const saltus_mask differ = (SALTUS_EQ(a.lo, -inf) & SALTUS_EQ(b.hi, inf)) |
                               (SALTUS_EQ(a.hi, inf) & SALTUS_EQ(b.lo, -inf));
    const saltus_spans sum = saltus_spans_of(a.lo + b.lo, a.hi + b.hi);
    const saltus_f64 unknown = SALTUS_NAN;
    return saltus_spans_select(differ, (saltus_spans){unknown, unknown}, sum);
}

/* 0, unless the other factor is infinite throughout or unknown. */
SALTUS_FN saltus_spans saltus_spans_no_product(saltus_spans other)
{
    const saltus_mask is_number = SALTUS_NE(other.lo, other.lo) | SALTUS_EQ(other.lo, other.hi);
    const saltus_f64 y = saltus_select(is_number, other.lo * 0.0, saltus_splat(0.0));
    return (saltus_spans){y, y};
}

SALTUS_FN saltus_spans saltus_spans_multiply(saltus_spans a, saltus_spans b)
{
    const saltus_mask a_is_zero = saltus_spans_is_zero(a), b_is_zero = saltus_spans_is_zero(b);
    saltus_spans y = saltus_spans_among(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
    if (saltus_any(a_is_zero | b_is_zero)) {
        y = saltus_spans_select(b_is_zero, saltus_spans_no_product(a), y);
        y = saltus_spans_select(a_is_zero, saltus_spans_no_product(b), y);
    }
    return y;
}

SALTUS_FN saltus_spans saltus_spans_divide(saltus_spans a, saltus_spans b)
{
    const saltus_mask by_zero = saltus_spans_has_zero(b);
    saltus_spans y = saltus_spans_among(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi);
    if (saltus_any(by_zero)) {
        const saltus_f64 zero = saltus_splat(0.0), inf = saltus_splat(SALTUS_INFINITY),
                         unknown = SALTUS_NAN;
        const saltus_mask is_unknown = SALTUS_NE(a.lo, a.lo) | saltus_spans_is_zero(b);
        saltus_spans pole = {-inf, inf};
        pole = saltus_spans_select(saltus_spans_is_zero(a), (saltus_spans){zero, zero}, pole);
        pole = saltus_spans_select(is_unknown, (saltus_spans){unknown, unknown}, pole);
        y = saltus_spans_select(by_zero, pole, y);
    }
    return y;
}

/* Whether a number that is `first` and whole multiples of 4 away from it lies in an interval of
 * quarter turns, or within 2^-20 of it. */
SALTUS_FN saltus_mask saltus_spans_turns(saltus_spans a, double first)
{
    const double per_turn = 0x1.45f306dc9c883p-1; /* 2 / pi */
    const saltus_f64 lo = a.lo * per_turn - 0x1p-20, hi = a.hi * per_turn + 0x1p-20;
    return ~SALTUS_LT(hi, first + 4.0 * saltus_ceil((lo - first) / 4.0));
}

/* Sine or cosine, from its values at the ends. */
SALTUS_FN saltus_spans saltus_spans_wave(saltus_spans a, saltus_f64 left, saltus_f64 right,
                                         double top)
{
    const double turns = 0x1p30;
    const saltus_f64 one = saltus_splat(1.0), unknown = SALTUS_NAN,
                     inf = saltus_splat(SALTUS_INFINITY);
    const saltus_mask is_far =
        ~(SALTUS_LT(saltus_splat(-turns), a.lo) & SALTUS_LT(a.hi, saltus_splat(turns)));
    const saltus_mask rises = SALTUS_LT(left, right);
    saltus_spans s =
        saltus_spans_wider(saltus_select(rises, left, right), saltus_select(rises, right, left));
    s.hi = saltus_select(saltus_spans_turns(a, top), one, s.hi);
    s.lo = saltus_select(saltus_spans_turns(a, top - 2.0), -one, s.lo);
    s.lo = saltus_select(SALTUS_LT(s.lo, -one), -one, s.lo);
    s.hi = saltus_select(SALTUS_LT(one, s.hi), one, s.hi);
    if (saltus_any(is_far)) {
        const saltus_mask is_finite = SALTUS_LT(-inf, a.lo) & SALTUS_LT(a.hi, inf);
        const saltus_spans far = {saltus_select(is_finite, -one, unknown),
                                  saltus_select(is_finite, one, unknown)};
        s = saltus_spans_select(is_far, far, s);
    }
    return s;
}

/* One lane after the other. */
SALTUS_OUTLINE saltus_spans saltus_spans_singly(const saltus_instruction *i, saltus_spans a,
                                                saltus_spans b, saltus_spans c, uint64_t lanes,
                                                saltus_span_fallback *fallback, void *user)
{
    saltus_spans y = a;
    for (uint64_t bits = lanes; bits; bits &= bits - 1) {
        const int l = __builtin_ctzll(bits);
        double ends[3][2] = {{a.lo[l], a.hi[l]}, {b.lo[l], b.hi[l]}, {c.lo[l], c.hi[l]}};
        double one[2];
        fallback(user, l, i, ends, one);
        y.lo[l] = one[0];
        y.hi[l] = one[1];
    }
    return y;
}

/* One operation in the given lanes; others become anything. */
SALTUS_FN saltus_spans saltus_spans_apply(const saltus_instruction *i, saltus_spans a,
                                          saltus_spans b, saltus_spans c, uint64_t lanes,
                                          saltus_span_fallback *fallback, void *user)
{
    const saltus_f64 zero = saltus_splat(0.0);
    switch (i->op) {
    case SALTUS_OP_ADD:
        return saltus_spans_add(a, b);
    case SALTUS_OP_SUB:
        return saltus_spans_add(a, (saltus_spans){-b.hi, -b.lo});
    case SALTUS_OP_MUL:
        return saltus_spans_multiply(a, b);
    case SALTUS_OP_DIV:
        return saltus_spans_divide(a, b);
    case SALTUS_OP_NEG:
        return (saltus_spans){-a.hi, -a.lo};
    case SALTUS_OP_MIN:
    case SALTUS_OP_MAX:
        return saltus_spans_of(saltus_spans_number(i, a.lo, b.lo, b.lo),
                               saltus_spans_number(i, a.hi, b.hi, b.hi));
    default:
        break;
    }
    /* numbers give the number */
    const saltus_mask are_numbers = SALTUS_EQ(a.lo, a.hi) & SALTUS_EQ(b.lo, b.hi) &
                                    SALTUS_EQ(c.lo, c.hi) & SALTUS_NE(a.lo, zero) &
                                    SALTUS_NE(b.lo, zero) & SALTUS_NE(c.lo, zero);
    const int is_wave = i->op == SALTUS_OP_SIN || i->op == SALTUS_OP_COS;
    const uint64_t others = lanes & ~saltus_bits(are_numbers);
    if (i->op > SALTUS_OP_SELECT || (!is_wave && i->op != SALTUS_OP_EXP && others == lanes)) {
        return saltus_spans_singly(i, a, b, c, lanes, fallback, user);
    }
    const saltus_f64 left = saltus_spans_number(i, a.lo, b.lo, c.lo);
    const saltus_spans number = saltus_spans_of(left, left);
    if (!others) {
        return number;
    }
    saltus_spans y;
    if (is_wave || i->op == SALTUS_OP_EXP) {
        const saltus_f64 right = saltus_spans_number(i, a.hi, b.hi, c.hi);
        y = is_wave ? saltus_spans_wave(a, left, right, i->op == SALTUS_OP_SIN ? 1.0 : 0.0)
                    : saltus_spans_wider(left, right);
    } else {
        y = saltus_spans_singly(i, a, b, c, others, fallback, user);
    }
    return saltus_spans_select(are_numbers, number, y);
}

/* Operand of a program on intervals, as in intervals.h. */
SALTUS_FN saltus_spans saltus_spans_operand(int32_t at, const saltus_spans *slots,
                                            const saltus_f64 *v)
{
    return at < 0 ? (saltus_spans){v[-1 - at], v[-1 - at]} : slots[at];
}

/** Run one program on intervals in the given lanes; in others slots become anything. */
SALTUS_OUTLINE saltus_spans saltus_spans_run(const saltus_instruction *code, saltus_program p,
                                             saltus_spans *slots, const saltus_f64 *v,
                                             uint64_t lanes, saltus_span_fallback *fallback,
                                             void *user)
{
    const saltus_instruction *end = code + p.first + p.n;
    for (const saltus_instruction *i = code + p.first; i < end; ++i) {
        slots[i->dst] = saltus_spans_apply(
            i, saltus_spans_operand(i->a, slots, v), saltus_spans_operand(i->b, slots, v),
            saltus_spans_operand(i->c, slots, v), lanes, fallback, user);
    }
    return saltus_spans_operand(p.result, slots, v);
}

#endif
