#include "model/lattice/geometry.h"

#include "core/parallel.h"
#include "model/lattice/shape.h"

#include <math.h>
#include <string.h>

void saltus_space_destroy(saltus_space *space)
{
    if (space) { /* the rest is in the model's arena */
        saltus_free(space->types);
        saltus_free(space->placements);
        saltus_free(space->deposits);
    }
}

/* The sites around a shape, first … end - 1, cut to the lattice. */
static void sites_around(const saltus_space *space, const saltus_shape *s, int32_t first[3],
                         int32_t end[3])
{
    double low[3], high[3];
    saltus_shape_bound(s, low, high);
    for (int i = 0; i < 3; ++i) {
        const double size = space->size[i];
        first[i] = (int32_t)fmin(fmax(floor(low[i]), 0.0), size);
        end[i] = (int32_t)fmin(fmax(ceil(high[i]), 0.0), size);
    }
}

static int64_t site_at(const saltus_space *space, int32_t x, int32_t y, int32_t z)
{
    return x + space->size[0] * (y + space->size[1] * (int64_t)z);
}

/* Of an axis: both of its faces are, or neither. */
static bool is_periodic(const saltus_space *space, int axis)
{
    return space->faces[2 * axis] == SALTUS_FACE_PERIODIC;
}

/* Where a coordinate from -size to 2 size is in the lattice, behind periodic faces. */
static int32_t wrapped(const saltus_space *space, int axis, int32_t x)
{
    const int32_t size = space->size[axis];
    return x < 0 ? x + size : x >= size ? x - size : x;
}

/* Whether a shape that is moved by `by` holds the centre of a site. */
static bool holds_site(const saltus_shape *s, const double by[3], int32_t x, int32_t y, int32_t z)
{
    const double p[3] = {x + 0.5 - by[0], y + 0.5 - by[1], z + 0.5 - by[2]};
    return saltus_shape_holds(s, p);
}

/* ---- painting, by planes in parallel ---- */

/* Sites that are worth a thread. */
enum { WORTH_A_THREAD = 1 << 20 };

/* Planes of so many sites that are worth a thread. */
static int64_t planes_worth(int64_t sites)
{
    return sites > 0 ? WORTH_A_THREAD / sites + 1 : 1;
}

typedef struct painting {
    saltus_space *space;
    const saltus_shape *shape;
    int32_t first[3], end[3];
    int type;
} painting;

/* Sites first … end - 1 of a row, halved until the shape covers all or none of them. */
static void paint_row(const painting *x, uint8_t *row, int32_t y, int32_t z, int32_t first,
                      int32_t end)
{
    const saltus_cover cover =
        saltus_shape_cover(x->shape, first + 0.5, end - 0.5, y + 0.5, z + 0.5);
    if (cover == SALTUS_COVERS_ALL) {
        memset(row + first, x->type, (size_t)(end - first));
    } else if (cover == SALTUS_COVERS_SOME && end - first > 2) {
        const int32_t middle = first + (end - first) / 2;
        paint_row(x, row, y, z, first, middle);
        paint_row(x, row, y, z, middle, end);
    } else if (cover == SALTUS_COVERS_SOME) {
        for (int32_t at = first; at < end; ++at) {
            const double p[3] = {at + 0.5, y + 0.5, z + 0.5};
            row[at] = saltus_shape_holds(x->shape, p) ? (uint8_t)x->type : row[at];
        }
    }
}

static void paint_planes(void *user, int part, int64_t first, int64_t end)
{
    const painting *x = user;
    (void)part;
    for (int32_t z = x->first[2] + (int32_t)first; z < x->first[2] + (int32_t)end; ++z) {
        for (int32_t y = x->first[1]; y < x->end[1]; ++y) {
            if (x->first[0] < x->end[0]) {
                paint_row(x, x->space->types + site_at(x->space, 0, y, z), y, z, x->first[0],
                          x->end[0]);
            }
        }
    }
}

void saltus_paint_shape(saltus_space *space, const saltus_shape *shape, int type)
{
    painting x = {.space = space, .shape = shape, .type = type};
    if (shape->kind == SALTUS_SHAPE_UNION) { /* each part has a smaller box around it */
        for (const saltus_shape *part = shape->parts; part; part = part->next) {
            saltus_paint_shape(space, part, type);
        }
        return;
    }
    sites_around(space, shape, x.first, x.end);
    const int64_t plane = (int64_t)(x.end[0] - x.first[0]) * (x.end[1] - x.first[1]);
    saltus_parallel(x.end[2] - x.first[2], planes_worth(plane), paint_planes, &x);
}

typedef struct masking {
    saltus_space *space;
    const uint8_t *mask;
    uint8_t type;
} masking;

static void paint_masked(void *user, int part, int64_t first, int64_t end)
{
    const masking *x = user;
    uint8_t *types = x->space->types;
    (void)part;
    for (int64_t i = first; i < end; ++i) {
        types[i] = x->mask[i] ? x->type : types[i];
    }
}

void saltus_paint_mask(saltus_space *space, const uint8_t *mask, int type)
{
    masking x = {space, mask, (uint8_t)type};
    saltus_parallel(space->n_sites, WORTH_A_THREAD, paint_masked, &x);
}

/* ---- shells ---- */

typedef struct layer {
    const saltus_space *space;
    int of;
    bool of_26;
    uint8_t *marked; /* [site] */
} layer;

/* A row that neighbours another, (y, z) of which may lie beyond a face; NULL: beyond one that is
 * not periodic, where all is other. */
static const uint8_t *neighbour_row(const saltus_space *space, int32_t y, int32_t z)
{
    int32_t at[2] = {y, z};
    for (int i = 0; i < 2; ++i) {
        if ((at[i] < 0 || at[i] == space->size[i + 1]) && !is_periodic(space, i + 1)) {
            return NULL;
        }
        at[i] = wrapped(space, i + 1, at[i]);
    }
    return space->types + site_at(space, 0, at[0], at[1]);
}

/* Mark the sites of a row that have another type beside them in a neighbouring row: opposite, or,
 * with `slanted`, one before or behind that. */
static void mark_beside(const layer *x, const uint8_t *row, bool opposite, bool slanted,
                        uint8_t *marked)
{
    const int32_t n = x->space->size[0];
    const uint8_t of = (uint8_t)x->of;
    if (!row) {
        memset(marked, 1, (size_t)n);
        return;
    }
    for (int32_t i = 0; i < n && opposite; ++i) {
        marked[i] |= row[i] != of;
    }
    for (int32_t i = 1; i < n && slanted; ++i) {
        marked[i] |= row[i - 1] != of;
        marked[i - 1] |= row[i] != of;
    }
    if (slanted) {
        const bool goes_round = is_periodic(x->space, 0);
        marked[0] |= !goes_round || row[n - 1] != of;
        marked[n - 1] |= !goes_round || row[0] != of;
    }
}

static void mark_row(const layer *x, int32_t y, int32_t z)
{
    const int64_t start = site_at(x->space, 0, y, z);
    const uint8_t *own = x->space->types + start;
    uint8_t *marked = x->marked + start;
    const int32_t n = x->space->size[0];
    memset(marked, 0, (size_t)n);
    if (!memchr(own, x->of, (size_t)n)) {
        return;
    }
    for (int k = 0; k < 9; ++k) {
        const int dy = k % 3 - 1, dz = k / 3 - 1;
        const bool is_own = dy == 0 && dz == 0, is_straight = dy == 0 || dz == 0;
        if (is_straight || x->of_26) {
            mark_beside(x, neighbour_row(x->space, y + dy, z + dz), !is_own, is_own || x->of_26,
                        marked);
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        marked[i] &= own[i] == x->of;
    }
}

static void mark_planes(void *user, int part, int64_t first, int64_t end)
{
    const layer *x = user;
    (void)part;
    for (int32_t z = (int32_t)first; z < (int32_t)end; ++z) {
        for (int32_t y = 0; y < x->space->size[1]; ++y) {
            mark_row(x, y, z);
        }
    }
}

saltus_status saltus_paint_shell(saltus_space *space, int of, int layers, bool is_connected,
                                 int type, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    layer x = {.space = space, .of = of, .of_26 = is_connected};
    const int64_t plane = (int64_t)space->size[0] * space->size[1];
    x.marked = saltus_calloc((size_t)space->n_sites, 1);
    SALTUS_NEED(x.marked);
    for (int i = 0; i < layers; ++i) {
        saltus_parallel(space->size[2], planes_worth(plane), mark_planes, &x);
        saltus_paint_mask(space, x.marked, type);
    }
done:
    saltus_free(x.marked);
    return status;
}

/* ---- packing ---- */

/* The next of a sequence of random numbers in [0, 1): Steele, Lea, Flood, OOPSLA 2014
 * (splitmix64), doi:10.1145/2660193.2660195. */
static double next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The sites around an obstacle, which may go on behind periodic faces. False where it sticks out of
 * others, or would overlap itself. */
static bool sites_of_obstacle(const saltus_space *space, const saltus_packing *p,
                              const double by[3], int32_t first[3], int32_t end[3])
{
    double low[3], high[3];
    bool fits = true;
    saltus_shape_bound(p->shape, low, high);
    for (int i = 0; i < 3; ++i) {
        const double size = space->size[i];
        const double a = floor(low[i] + by[i]), b = ceil(high[i] + by[i]);
        const double n_centres = ceil(high[i] + by[i] - 0.5) - ceil(low[i] + by[i] - 0.5);
        fits &= is_periodic(space, i) ? n_centres <= size : a >= 0.0 && b <= size;
        first[i] = (int32_t)fmin(fmax(a, -size), size);
        end[i] = (int32_t)fmin(fmax(b, 0.0), 2.0 * size);
    }
    return fits;
}

/* Whether an obstacle has room; with `paint` it takes it. Adds the new sites to *n. */
static bool visit_obstacle(saltus_space *space, const saltus_packing *p, const double by[3],
                           int type, bool paint, int64_t *n)
{
    int32_t first[3], end[3];
    if (!sites_of_obstacle(space, p, by, first, end)) {
        return false;
    }
    for (int32_t z = first[2]; z < end[2]; ++z) {
        for (int32_t y = first[1]; y < end[1]; ++y) {
            for (int32_t x = first[0]; x < end[0]; ++x) {
                if (!holds_site(p->shape, by, x, y, z)) {
                    continue;
                }
                uint8_t *site = &space->types[site_at(space, wrapped(space, 0, x),
                                                      wrapped(space, 1, y), wrapped(space, 2, z))];
                if (*site != p->in && !(p->overlap && *site == type)) {
                    return false;
                }
                *n += *site == p->in;
                *site = paint ? (uint8_t)type : *site;
            }
        }
    }
    return true;
}

/* The box around the sites of a type: where trials are worth while. */
static int64_t sites_within(const saltus_space *space, int type, int32_t first[3], int32_t end[3])
{
    const int32_t width = space->size[0];
    int64_t n = 0;
    for (int i = 0; i < 3; ++i) {
        first[i] = space->size[i];
        end[i] = 0;
    }
    for (int32_t z = 0; z < space->size[2]; ++z) {
        for (int32_t y = 0; y < space->size[1]; ++y) {
            const uint8_t *row = space->types + site_at(space, 0, y, z);
            const uint8_t *found = memchr(row, type, (size_t)width);
            if (!found) {
                continue;
            }
            const uint8_t *last = memrchr(row, type, (size_t)width);
            const int32_t low[3] = {(int32_t)(found - row), y, z};
            const int32_t high[3] = {(int32_t)(last - row), y, z};
            for (int i = 0; i < 3; ++i) {
                first[i] = low[i] < first[i] ? low[i] : first[i];
                end[i] = high[i] >= end[i] ? high[i] + 1 : end[i];
            }
            for (const uint8_t *c = found; c <= last; ++c) {
                n += *c == type;
            }
        }
    }
    return n;
}

void saltus_paint_pack(saltus_space *space, const saltus_packing *packing, int type, double *taken)
{
    enum { MOST_MISSES = 100000 };
    int32_t first[3], end[3];
    const int64_t n_all = sites_within(space, packing->in, first, end);
    const double wanted = packing->fraction * (double)n_all;
    uint64_t random = packing->seed;
    int64_t n = 0;
    for (int misses = 0; (double)n < wanted && misses < MOST_MISSES; ++misses) {
        double by[3];
        for (int i = 0; i < 3; ++i) {
            by[i] = first[i] + next_random(&random) * (end[i] - first[i]);
        }
        int64_t n_new = 0;
        if (visit_obstacle(space, packing, by, type, false, &n_new) && n_new > 0) {
            (void)visit_obstacle(space, packing, by, type, true, &n);
            misses = 0;
        }
    }
    *taken = n_all > 0 ? (double)n / (double)n_all : 0.0;
}

/* ---- counting ---- */

typedef struct census {
    const uint8_t *types;
    int64_t n[SALTUS_MOST_PARTS][SALTUS_LATTICE_MOST_TYPES];
} census;

/* Sites of one type stand together: most pieces have no other. */
static void count_segment(void *user, int part, int64_t first, int64_t end)
{
    enum { PIECE = 64 };
    census *x = user;
    int64_t *n = x->n[part];
    for (int64_t i = first; i < end; i += PIECE) {
        const uint8_t *piece = x->types + i;
        const int64_t length = end - i < PIECE ? end - i : PIECE;
        if (memcmp(piece, piece + 1, (size_t)length - 1) == 0) {
            n[piece[0]] += length;
            continue;
        }
        for (int64_t k = 0; k < length; ++k) {
            ++n[piece[k]];
        }
    }
}

void saltus_count_sites(saltus_space *space)
{
    census x = {.types = space->types};
    x.n[0][0] = space->types ? 0 : space->n_sites;
    if (space->types) {
        saltus_parallel(space->n_sites, WORTH_A_THREAD, count_segment, &x);
    }
    for (int i = 0; i < SALTUS_LATTICE_MOST_TYPES; ++i) {
        space->sites_of[i] = 0;
        for (int part = 0; part < SALTUS_MOST_PARTS; ++part) {
            space->sites_of[i] += x.n[part][i];
        }
    }
}
