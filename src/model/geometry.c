#include "model/geometry.h"

#include <math.h>
#include <stdlib.h>

void saltus_space_destroy(saltus_space *space)
{
    if (space) { /* the rest is in the model's arena */
        saltus_free(space->types);
        saltus_free(space->placements);
        saltus_free(space->deposits);
    }
}

/* ---- shapes ---- */

/* Near the line from a to b: with round ends, or with flat ones. */
static bool is_near_line(const saltus_shape *s, const double p[3], bool round)
{
    double length2 = 0.0, along = 0.0, distance2 = 0.0;
    for (int i = 0; i < 3; ++i) {
        const double d = s->b[i] - s->a[i];
        length2 += d * d;
        along += d * (p[i] - s->a[i]);
    }
    double t = length2 > 0.0 ? along / length2 : 0.0;
    if (!round && !(t >= 0.0 && t <= 1.0)) {
        return false;
    }
    t = fmin(fmax(t, 0.0), 1.0);
    for (int i = 0; i < 3; ++i) {
        const double d = p[i] - (s->a[i] + t * (s->b[i] - s->a[i]));
        distance2 += d * d;
    }
    return distance2 <= s->radius * s->radius;
}

bool saltus_shape_holds(const saltus_shape *s, const double p[3])
{
    double sum = 0.0;
    switch (s->kind) {
    case SALTUS_SHAPE_BOX:
        return p[0] >= s->a[0] && p[1] >= s->a[1] && p[2] >= s->a[2] && p[0] < s->b[0] &&
               p[1] < s->b[1] && p[2] < s->b[2];
    case SALTUS_SHAPE_ELLIPSOID:
        for (int i = 0; i < 3; ++i) {
            const double d = (p[i] - s->a[i]) / s->b[i];
            sum += d * d;
        }
        return sum <= 1.0;
    case SALTUS_SHAPE_CAPSULE:
    case SALTUS_SHAPE_CYLINDER:
        return is_near_line(s, p, s->kind == SALTUS_SHAPE_CAPSULE);
    case SALTUS_SHAPE_UNION:
        for (const saltus_shape *part = s->parts; part; part = part->next) {
            if (saltus_shape_holds(part, p)) {
                return true;
            }
        }
        return false;
    case SALTUS_SHAPE_DIFFERENCE:
        for (const saltus_shape *part = s->parts->next; part; part = part->next) {
            if (saltus_shape_holds(part, p)) {
                return false;
            }
        }
        return saltus_shape_holds(s->parts, p);
    }
    return false;
}

/* A box around a shape. */
static void bound(const saltus_shape *s, double low[3], double high[3])
{
    for (int i = 0; i < 3; ++i) {
        low[i] = high[i] = s->a[i];
        if (s->kind == SALTUS_SHAPE_BOX) {
            high[i] = s->b[i];
        } else if (s->kind == SALTUS_SHAPE_ELLIPSOID) {
            low[i] -= s->b[i];
            high[i] += s->b[i];
        } else {
            low[i] = fmin(s->a[i], s->b[i]) - s->radius;
            high[i] = fmax(s->a[i], s->b[i]) + s->radius;
        }
    }
    if (s->kind != SALTUS_SHAPE_UNION && s->kind != SALTUS_SHAPE_DIFFERENCE) {
        return;
    }
    bound(s->parts, low, high);
    for (const saltus_shape *part = s->parts->next; part && s->kind == SALTUS_SHAPE_UNION;
         part = part->next) {
        double part_low[3], part_high[3];
        bound(part, part_low, part_high);
        for (int i = 0; i < 3; ++i) {
            low[i] = fmin(low[i], part_low[i]);
            high[i] = fmax(high[i], part_high[i]);
        }
    }
}

/* The sites around a shape that is moved by `by`, first … end - 1, cut to the lattice. False when
 * the box around it sticks out of the lattice. */
static bool sites_around(const saltus_space *space, const saltus_shape *s, const double by[3],
                         int32_t first[3], int32_t end[3])
{
    double low[3], high[3];
    bool is_inside = true;
    bound(s, low, high);
    for (int i = 0; i < 3; ++i) {
        const double size = space->size[i];
        const double a = floor(low[i] + by[i]), b = ceil(high[i] + by[i]);
        is_inside &= a >= 0.0 && b <= size;
        first[i] = (int32_t)fmin(fmax(a, 0.0), size);
        end[i] = (int32_t)fmin(fmax(b, 0.0), size);
    }
    return is_inside;
}

static int64_t site_at(const saltus_space *space, int32_t x, int32_t y, int32_t z)
{
    return x + space->size[0] * (y + space->size[1] * (int64_t)z);
}

/* Whether a shape that is moved by `by` holds the centre of a site. */
static bool holds_site(const saltus_shape *s, const double by[3], int32_t x, int32_t y, int32_t z)
{
    const double p[3] = {x + 0.5 - by[0], y + 0.5 - by[1], z + 0.5 - by[2]};
    return saltus_shape_holds(s, p);
}

void saltus_paint_shape(saltus_space *space, const saltus_shape *shape, int type)
{
    static const double nowhere[3] = {0.0, 0.0, 0.0};
    int32_t first[3], end[3];
    (void)sites_around(space, shape, nowhere, first, end);
    for (int32_t z = first[2]; z < end[2]; ++z) {
        for (int32_t y = first[1]; y < end[1]; ++y) {
            for (int32_t x = first[0]; x < end[0]; ++x) {
                if (holds_site(shape, nowhere, x, y, z)) {
                    space->types[site_at(space, x, y, z)] = (uint8_t)type;
                }
            }
        }
    }
}

void saltus_paint_mask(saltus_space *space, const uint8_t *mask, int type)
{
    for (int64_t i = 0; i < space->n_sites; ++i) {
        space->types[i] = mask[i] ? (uint8_t)type : space->types[i];
    }
}

/* ---- shells ---- */

/* Whether the site `way` from another is of another type than `of`, or beyond a face. */
static bool is_other(const saltus_space *space, const int32_t at[3], const int way[3], int of)
{
    int32_t to[3];
    for (int axis = 0; axis < 3; ++axis) {
        to[axis] = at[axis] + way[axis];
        if (to[axis] < 0 || to[axis] == space->size[axis]) {
            if (space->faces[2 * axis + (way[axis] > 0)] != SALTUS_FACE_PERIODIC) {
                return true;
            }
            to[axis] = to[axis] < 0 ? space->size[axis] - 1 : 0;
        }
    }
    return space->types[site_at(space, to[0], to[1], to[2])] != of;
}

/* Whether a neighbour of site (at[0], at[1], at[2]), of type `of`, is of another type: one of six,
 * or of 26. */
static bool is_outermost(const saltus_space *space, const int32_t at[3], int of, bool of_26)
{
    for (int k = 0; k < 27; ++k) {
        const int way[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        const int distance = abs(way[0]) + abs(way[1]) + abs(way[2]);
        if (distance > 0 && (distance == 1 || of_26) && is_other(space, at, way, of)) {
            return true;
        }
    }
    return false;
}

static void mark_layer(const saltus_space *space, int of, bool of_26, uint8_t *marked)
{
    int64_t site = 0;
    for (int32_t z = 0; z < space->size[2]; ++z) {
        for (int32_t y = 0; y < space->size[1]; ++y) {
            for (int32_t x = 0; x < space->size[0]; ++x, ++site) {
                const int32_t at[3] = {x, y, z};
                marked[site] = space->types[site] == of && is_outermost(space, at, of, of_26);
            }
        }
    }
}

saltus_status saltus_paint_shell(saltus_space *space, int of, int layers, bool is_connected,
                                 int type, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint8_t *marked = saltus_calloc((size_t)space->n_sites, 1);
    SALTUS_NEED(marked);
    for (int i = 0; i < layers; ++i) {
        mark_layer(space, of, is_connected, marked);
        saltus_paint_mask(space, marked, type);
    }
done:
    saltus_free(marked);
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

/* Whether an obstacle has room; with `paint` it takes it. Adds the new sites to *n. */
static bool visit_obstacle(saltus_space *space, const saltus_packing *p, const double by[3],
                           int type, bool paint, int64_t *n)
{
    int32_t first[3], end[3];
    if (!sites_around(space, p->shape, by, first, end)) {
        return false;
    }
    for (int32_t z = first[2]; z < end[2]; ++z) {
        for (int32_t y = first[1]; y < end[1]; ++y) {
            for (int32_t x = first[0]; x < end[0]; ++x) {
                if (!holds_site(p->shape, by, x, y, z)) {
                    continue;
                }
                uint8_t *site = &space->types[site_at(space, x, y, z)];
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
    int64_t site = 0, n = 0;
    for (int i = 0; i < 3; ++i) {
        first[i] = space->size[i];
        end[i] = 0;
    }
    for (int32_t z = 0; z < space->size[2]; ++z) {
        for (int32_t y = 0; y < space->size[1]; ++y) {
            for (int32_t x = 0; x < space->size[0]; ++x, ++site) {
                if (space->types[site] != type) {
                    continue;
                }
                const int32_t at[3] = {x, y, z};
                for (int i = 0; i < 3; ++i) {
                    first[i] = at[i] < first[i] ? at[i] : first[i];
                    end[i] = at[i] >= end[i] ? at[i] + 1 : end[i];
                }
                ++n;
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

void saltus_count_sites(saltus_space *space)
{
    int64_t n[SALTUS_LATTICE_MOST_TYPES] = {0};
    n[0] = space->types ? 0 : space->n_sites;
    for (int64_t i = 0; i < space->n_sites && space->types; ++i) {
        ++n[space->types[i]];
    }
    for (int i = 0; i < SALTUS_LATTICE_MOST_TYPES; ++i) {
        space->sites_of[i] = n[i];
    }
}
