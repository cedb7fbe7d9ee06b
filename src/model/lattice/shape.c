/* Shapes: which points they hold, and which stretches of a row wholly. */
#include "model/lattice/shape.h"

#include <math.h>

/* What is as near to a surface as this, as a part of a radius (of its square) or of the length of a
 * line, is on it. */
#define NEAR_PART 1e-11

/* Whether a coordinate lies at or behind a box's first side; and before its last one. */
static bool is_behind(double x, double from)
{
    return x >= from - SALTUS_SHAPE_NEAR;
}
static bool is_before(double x, double to)
{
    return x < to - SALTUS_SHAPE_NEAR;
}

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
    if (!round && !(t >= -NEAR_PART && t <= 1.0 + NEAR_PART)) {
        return false;
    }
    t = fmin(fmax(t, 0.0), 1.0);
    for (int i = 0; i < 3; ++i) {
        const double d = p[i] - (s->a[i] + t * (s->b[i] - s->a[i]));
        distance2 += d * d;
    }
    return distance2 <= s->radius * s->radius * (1.0 + NEAR_PART);
}

bool saltus_shape_holds(const saltus_shape *s, const double p[3])
{
    double sum = 0.0;
    switch (s->kind) {
    case SALTUS_SHAPE_BOX:
        return is_behind(p[0], s->a[0]) && is_behind(p[1], s->a[1]) && is_behind(p[2], s->a[2]) &&
               is_before(p[0], s->b[0]) && is_before(p[1], s->b[1]) && is_before(p[2], s->b[2]);
    case SALTUS_SHAPE_ELLIPSOID:
        for (int i = 0; i < 3; ++i) {
            const double d = (p[i] - s->a[i]) / s->b[i];
            sum += d * d;
        }
        return sum <= 1.0 + NEAR_PART;
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

void saltus_shape_bound(const saltus_shape *s, double low[3], double high[3])
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
    saltus_shape_bound(s->parts, low, high);
    for (const saltus_shape *part = s->parts->next; part && s->kind == SALTUS_SHAPE_UNION;
         part = part->next) {
        double part_low[3], part_high[3];
        saltus_shape_bound(part, part_low, part_high);
        for (int i = 0; i < 3; ++i) {
            low[i] = fmin(low[i], part_low[i]);
            high[i] = fmax(high[i], part_high[i]);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Stretches of a row
 *
 * What is said here must be true of saltus_shape_holds to the last bit. For boxes and ellipsoids it
 * is, because rounding keeps order: the nearest point of a stretch has the smallest sum. Distances
 * from lines are known to a billionth, and what is nearer to the surface than that stays open.
 */

typedef struct segment {
    double low, high, y, z; /* x of the first and the last point */
} segment;

static saltus_cover cover_by_box(const saltus_shape *s, const segment *r)
{
    if (!(is_behind(r->y, s->a[1]) && is_behind(r->z, s->a[2]) && is_before(r->y, s->b[1]) &&
          is_before(r->z, s->b[2]) && is_behind(r->high, s->a[0]) && is_before(r->low, s->b[0]))) {
        return SALTUS_COVERS_NONE;
    }
    return is_behind(r->low, s->a[0]) && is_before(r->high, s->b[0]) ? SALTUS_COVERS_ALL
                                                                     : SALTUS_COVERS_SOME;
}

static saltus_cover cover_by_ellipsoid(const saltus_shape *s, const segment *r)
{
    const double low = (r->low - s->a[0]) / s->b[0], high = (r->high - s->a[0]) / s->b[0];
    const double y = (r->y - s->a[1]) / s->b[1], z = (r->z - s->a[2]) / s->b[2];
    const double least = low > 0.0 ? low * low : high < 0.0 ? high * high : 0.0;
    const double most = fmax(low * low, high * high);
    if (!(least + y * y + z * z <=
          1.0 + NEAR_PART)) { /* in the order in which a point's are added */
        return SALTUS_COVERS_NONE;
    }
    return most + y * y + z * z <= 1.0 + NEAR_PART ? SALTUS_COVERS_ALL : SALTUS_COVERS_SOME;
}

/* By the point in the middle: no other is farther from it than half of the stretch. */
static saltus_cover cover_by_line(const saltus_shape *s, const segment *r, bool round)
{
    const double p[3] = {0.5 * (r->low + r->high), r->y, r->z}, half = 0.5 * (r->high - r->low);
    double length2 = 0.0, along = 0.0, away2 = 0.0, distance2 = 0.0, size = 0.0;
    for (int i = 0; i < 3; ++i) {
        const double d = s->b[i] - s->a[i];
        length2 += d * d;
        along += d * (p[i] - s->a[i]);
        away2 += (p[i] - s->a[i]) * (p[i] - s->a[i]);
        size += fabs(s->a[i]) + fabs(s->b[i]) + fabs(p[i]);
    }
    const bool is_point = length2 == 0.0;
    const double t = is_point ? 0.0 : along / length2, within = fmin(fmax(t, 0.0), 1.0);
    for (int i = 0; i < 3; ++i) {
        const double d = p[i] - (s->a[i] + within * (s->b[i] - s->a[i]));
        distance2 += d * d;
    }
    const double distance = sqrt(distance2);
    const double doubt = 1e-9 * (s->radius + distance + half) + 1e-12 * size;
    if (!(isfinite(doubt) && (is_point || length2 > 1e-100))) {
        return SALTUS_COVERS_SOME;
    }
    const double spread = is_point ? 0.0 : half * fabs(s->b[0] - s->a[0]) / length2;
    const double t_doubt = is_point ? 0.0 : 1e-9 * (1.0 + spread + sqrt(away2 / length2));
    if (distance - half > s->radius + doubt ||
        (!round && !is_point && (t + spread < -t_doubt || t - spread > 1.0 + t_doubt))) {
        return SALTUS_COVERS_NONE;
    }
    const bool is_between =
        round || is_point || (t - spread > t_doubt && t + spread < 1.0 - t_doubt);
    return is_between && distance + half < s->radius - doubt ? SALTUS_COVERS_ALL
                                                             : SALTUS_COVERS_SOME;
}

static saltus_cover cover(const saltus_shape *s, const segment *r);

/* ALL if any part covers all, NONE if none covers anything. */
static saltus_cover cover_by_any(const saltus_shape *part, const segment *r)
{
    saltus_cover found = SALTUS_COVERS_NONE;
    for (; part && found != SALTUS_COVERS_ALL; part = part->next) {
        const saltus_cover one = cover(part, r);
        found = one == SALTUS_COVERS_NONE ? found : one;
    }
    return found;
}

static saltus_cover cover_by_difference(const saltus_shape *s, const segment *r)
{
    const saltus_cover first = cover(s->parts, r);
    if (first == SALTUS_COVERS_NONE) {
        return SALTUS_COVERS_NONE;
    }
    const saltus_cover others = cover_by_any(s->parts->next, r);
    return others == SALTUS_COVERS_ALL    ? SALTUS_COVERS_NONE
           : others == SALTUS_COVERS_NONE ? first
                                          : SALTUS_COVERS_SOME;
}

static saltus_cover cover(const saltus_shape *s, const segment *r)
{
    switch (s->kind) {
    case SALTUS_SHAPE_BOX:
        return cover_by_box(s, r);
    case SALTUS_SHAPE_ELLIPSOID:
        return cover_by_ellipsoid(s, r);
    case SALTUS_SHAPE_CAPSULE:
    case SALTUS_SHAPE_CYLINDER:
        return cover_by_line(s, r, s->kind == SALTUS_SHAPE_CAPSULE);
    case SALTUS_SHAPE_UNION:
        return cover_by_any(s->parts, r);
    case SALTUS_SHAPE_DIFFERENCE:
        return cover_by_difference(s, r);
    }
    return SALTUS_COVERS_SOME;
}

saltus_cover saltus_shape_cover(const saltus_shape *s, double low, double high, double y, double z)
{
    const segment r = {low, high, y, z};
    return cover(s, &r);
}
