/* Shuffled, n consecutive numbers are eight planes of n bytes. The lowest repeats after 256 bytes:
 * as many literals, then copies from 256 bytes before. Each other one is some long runs of equal
 * bytes: a literal, then copies from one byte before. All in one block of fixed codes. Example, the
 * numbers 254, 255, 256 and 257, of which only the two lowest planes are not zero:
 *
 *     plane 0   fe ff 00 01   four literals
 *     plane 1   00 00 01 01   runs of 2 and 2, too short for a copy: four literals
 */
#include "write/hdf5/consecutive.h"

#include <string.h>

enum { PLANES = 8, PERIOD = 256, LEAST = 3, MOST = 258, ADLER = 65521 };

typedef struct writer {
    unsigned char *out;
    size_t n;
    uint64_t bits; /* not written yet, the lowest first */
    int n_bits;
    uint64_t a, b; /* Adler-32 of what the stream says */
} writer;

static void put(writer *w, uint32_t bits, int n)
{
    w->bits |= (uint64_t)bits << w->n_bits;
    w->n_bits += n;
    while (w->n_bits >= 8) {
        w->out[w->n++] = (unsigned char)w->bits;
        w->bits >>= 8;
        w->n_bits -= 8;
    }
}

/* Huffman codes stand with their highest bit first. */
static void put_code(writer *w, uint32_t code, int n)
{
    uint32_t turned = 0;
    for (int i = 0; i < n; ++i) {
        turned |= (code >> i & 1) << (n - 1 - i);
    }
    put(w, turned, n);
}

/* A literal, an end or a length by its fixed code. */
static void put_symbol(writer *w, uint32_t symbol)
{
    if (symbol < 144) {
        put_code(w, 0x30 + symbol, 8);
    } else if (symbol < 256) {
        put_code(w, 0x190 + symbol - 144, 9);
    } else if (symbol < 280) {
        put_code(w, symbol - 256, 7);
    } else {
        put_code(w, 0xc0 + symbol - 280, 8);
    }
}

/* n bytes of this value have been told. */
static void sum(writer *w, unsigned char byte, size_t n)
{
    const uint64_t m = n % ADLER, c = byte;
    w->b = (w->b + m * w->a + c * (n * (n + 1) / 2 % ADLER)) % ADLER;
    w->a = (w->a + m * c) % ADLER;
}

/* A copy of 3 to 258 bytes from one byte before, or from PERIOD. */
static void put_copy(writer *w, size_t length, bool is_near)
{
    uint32_t code = 257, extra = 0,
             base = LEAST; /* from 265 on, four codes with as many extra bits */
    if (length == MOST) {
        put_symbol(w, 285);
    } else {
        while (length >= base + (UINT32_C(1) << extra)) {
            base += UINT32_C(1) << extra;
            ++code;
            extra = code < 265 ? 0 : (code - 261) / 4;
        }
        put_symbol(w, code);
        put(w, (uint32_t)(length - base), (int)extra);
    }
    put_code(w, is_near ? 0 : 15, 5); /* 15: 193 to 256, with 6 bits */
    if (!is_near) {
        put(w, PERIOD - 193, 6);
    }
}

/* The longest copy of what is left. */
static size_t part_of(size_t left)
{
    return left < MOST ? left : MOST;
}

static void put_run(writer *w, unsigned char byte, size_t n)
{
    if (n == 0) {
        return;
    }
    sum(w, byte, n);
    put_symbol(w, byte);
    for (size_t left = n - 1; left > 0;) {
        const size_t m = part_of(left);
        if (m < LEAST) {
            put_symbol(w, byte);
            --left;
        } else {
            put_copy(w, m, true);
            left -= m;
        }
    }
}

static void put_lowest(writer *w, uint64_t first, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        w->a += (unsigned char)(first + i);
        w->b += w->a;
        if (i % PERIOD == 0) {
            w->a %= ADLER;
            w->b %= ADLER;
        }
    }
    w->a %= ADLER;
    w->b %= ADLER;
    for (size_t i = 0; i < n;) {
        const size_t m = part_of(n - i);
        if (i < PERIOD || m < LEAST) {
            put_symbol(w, (unsigned char)(first + i));
            ++i;
        } else {
            put_copy(w, m, false);
            i += m;
        }
    }
}

static void put_plane(writer *w, uint64_t first, size_t n, int plane)
{
    const int shift = 8 * plane;
    for (size_t i = 0; i < n;) {
        const uint64_t high = (first + i) >> shift;
        const uint64_t left_of_run = ((high + 1) << shift) - (first + i);
        const size_t m = left_of_run > n - i ? n - i : (size_t)left_of_run;
        put_run(w, (unsigned char)high, m);
        i += m;
    }
}

bool saltus_is_consecutive(const void *values, size_t n)
{
    const char *bytes = values;
    uint64_t first = 0, wrong = 0;
    memcpy(&first, bytes, n > 0 ? sizeof first : 0);
    for (size_t i = 0; i < n; ++i) {
        uint64_t value;
        memcpy(&value, bytes + i * sizeof value, sizeof value);
        wrong |= value - first - i;
    }
    return n > 0 && wrong == 0;
}

size_t saltus_consecutive_bound(size_t n_full)
{
    /* a literal has 9 bits at most; runs of the second plane, of 256, have 3 tokens of 18 */
    return 64 + 2 * (PERIOD + 2 * LEAST) + PLANES * (n_full / 16 + 64);
}

size_t saltus_consecutive_encode(uint64_t first, size_t n, size_t n_full, unsigned char *out)
{
    writer w = {.out = out, .a = 1};
    put(&w, 0x78, 8); /* deflate, a window of 32 KiB */
    put(&w, 0x01, 8); /* the check bits of that */
    put(&w, 3, 3);    /* the last block, of fixed codes */
    for (int plane = 0; plane < PLANES; ++plane) {
        if (plane == 0) {
            put_lowest(&w, first, n);
        } else {
            put_plane(&w, first, n, plane);
        }
        put_run(&w, 0, n_full - n);
    }
    put_symbol(&w, 256);
    put(&w, 0, (8 - w.n_bits) % 8);
    for (int i = 3; i >= 0; --i) {
        const uint64_t adler = w.b << 16 | w.a;
        put(&w, (uint32_t)(adler >> (8 * i) & 0xff), 8);
    }
    return w.n;
}
