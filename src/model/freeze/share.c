/* What stands twice in a program is computed once. Operations are pure, so that two with the same
 * operands have one value, with the same bits. */
#include "model/freeze/freeze.h"

/* So many operations back an equal one is looked for, as a program may be very long. */
enum { WINDOW = 256 };

/* A program while its values have numbers, and not places yet. */
typedef struct sharer {
    saltus_instruction *code; /* operands at `base` or above are base + a value */
    int n;
    int base;         /* the first row of temporaries */
    int *value_of;    /* [temporary] the value that stands there */
    int *last;        /* [value] the last operation that reads it; n: the program's result */
    int *place;       /* [value] its temporary */
    int *free_places; /* a stack */
    int n_free, n_places;
} sharer;

static bool is_place(const sharer *s, int row)
{
    return row >= s->base && row < 2 * s->base;
}

static int renamed(const sharer *s, int row, const int *names)
{
    return is_place(s, row) ? s->base + names[row - s->base] : row;
}

static bool is_equal(const saltus_instruction *p, const saltus_instruction *q)
{
    const bool commutes = p->op == SALTUS_OP_ADD || p->op == SALTUS_OP_MUL;
    return p->op == q->op && p->c == q->c &&
           ((p->a == q->a && p->b == q->b) || (commutes && p->a == q->b && p->b == q->a));
}

/* Name values in place of temporaries, and leave out operations whose value is there. */
static void name_values(sharer *s)
{
    int n = 0;
    for (int i = 0; i < s->n; ++i) {
        saltus_instruction q = s->code[i];
        const int to = q.dst - s->base;
        int value = n;
        q.a = renamed(s, q.a, s->value_of);
        q.b = renamed(s, q.b, s->value_of);
        q.c = renamed(s, q.c, s->value_of);
        for (int k = n - 1; k >= 0 && k > n - WINDOW; --k) {
            if (is_equal(&s->code[k], &q)) {
                value = k;
                break;
            }
        }
        s->value_of[to] = value;
        if (value == n) {
            s->code[n++] = q;
        }
    }
    s->n = n;
}

static void note_use(sharer *s, int row, int by)
{
    if (is_place(s, row)) {
        s->last[row - s->base] = by;
    }
}

/* The operation is the last that reads a value: its place is free. */
static void release(sharer *s, int row, int by)
{
    if (is_place(s, row) && s->last[row - s->base] == by) {
        s->free_places[s->n_free++] = s->place[row - s->base];
        s->last[row - s->base] = -1; /* once, if both operands are that value */
    }
}

/* Give every value a temporary until it is read for the last time. */
static void place_values(sharer *s)
{
    for (int i = 0; i < s->n; ++i) {
        saltus_instruction *q = &s->code[i];
        const saltus_instruction of = *q;
        q->a = renamed(s, of.a, s->place);
        q->b = renamed(s, of.b, s->place);
        q->c = renamed(s, of.c, s->place);
        release(s, of.a, i);
        release(s, of.b, i);
        release(s, of.c, i);
        s->place[i] = s->n_free > 0 ? s->free_places[--s->n_free] : s->n_places++;
        q->dst = s->base + s->place[i];
    }
}

saltus_status saltus_share(saltus_freezer *f, size_t first, int base, int *row, int *n_temporaries,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t n = f->n_code - first;
    sharer s = {.code = n > 0 ? f->code + first : NULL, .n = (int)n, .base = base};
    int *memory = saltus_calloc((size_t)f->n_temporaries + 3 * n + 1, sizeof *memory);
    SALTUS_NEED(memory);
    s.value_of = memory;
    s.last = memory + f->n_temporaries;
    s.place = s.last + n;
    s.free_places = s.place + n;
    name_values(&s);
    for (int i = 0; i < s.n; ++i) {
        note_use(&s, s.code[i].a, i);
        note_use(&s, s.code[i].b, i);
        note_use(&s, s.code[i].c, i);
    }
    if (is_place(&s, *row)) {
        *row = renamed(&s, *row, s.value_of);
        note_use(&s, *row, s.n);
    }
    place_values(&s);
    *row = renamed(&s, *row, s.place);
    f->n_code = first + (size_t)s.n;
    *n_temporaries = s.n_places > *n_temporaries ? s.n_places : *n_temporaries;
done:
    saltus_free(memory);
    return status;
}
