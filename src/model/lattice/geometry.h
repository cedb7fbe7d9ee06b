/** Painting site types: shapes, shells, packed obstacles. Lengths are in sites; the centre of site
 * (x, y, z) is at (x + 1/2, y + 1/2, z + 1/2). */
#ifndef SALTUS_MODEL_LATTICE_GEOMETRY_H
#define SALTUS_MODEL_LATTICE_GEOMETRY_H

#include "model/lattice/space.h"

/** What is as near as this, in sites, is in the same place: lengths are rounded when they are
 * counted in sites, as 0.225 um are 7.5000000000000009 sites of 0.03 um. */
#define SALTUS_SHAPE_NEAR 1e-9

typedef enum saltus_shape_kind {
    SALTUS_SHAPE_BOX,        /**< from corner a up to corner b, which is excluded */
    SALTUS_SHAPE_ELLIPSOID,  /**< centre a, radii b */
    SALTUS_SHAPE_CAPSULE,    /**< all that is within `radius` of the line from a to b */
    SALTUS_SHAPE_CYLINDER,   /**< the same with flat ends */
    SALTUS_SHAPE_UNION,      /**< of its parts */
    SALTUS_SHAPE_DIFFERENCE, /**< its first part without the others */
} saltus_shape_kind;

typedef struct saltus_shape {
    saltus_shape_kind kind;
    double a[3], b[3], radius;
    const struct saltus_shape *parts, *next; /**< a list */
} saltus_shape;

/** Whether a point is in a shape. */
bool saltus_shape_holds(const saltus_shape *shape, const double p[3]);

/** Sites whose centres are in a shape become of a type. */
void saltus_paint_shape(saltus_space *space, const saltus_shape *shape, int type);

/** Sites where mask is not 0 become of a type. @param mask [site] */
void saltus_paint_mask(saltus_space *space, const uint8_t *mask, int type);

/** The outermost `layers` layers of type `of` become of a type: a site is in the first when one of
 * its six neighbours is of another type or beyond a face that is not periodic, in the next when a
 * neighbour is in the one before. With is_connected those count too that meet it at an edge or a
 * corner: on a curved surface the layer then hangs together by faces. */
SALTUS_MUST_CHECK saltus_status saltus_paint_shell(saltus_space *space, int of, int layers,
                                                   bool is_connected, int type, saltus_error *err);

/** Obstacles of one shape at random places. */
typedef struct saltus_packing {
    int in;                    /**< they take sites of this type alone, which lie wholly in it */
    const saltus_shape *shape; /**< around the point 0 */
    double fraction;           /**< of the type's sites that they take, 0 to 1 */
    uint64_t seed;
    bool overlap; /**< obstacles may overlap each other */
} saltus_packing;

/** Place obstacles one after the other where a random place has room (random sequential addition),
 * until they have taken the fraction, the last one included. *taken is the fraction that they have
 * taken; it falls short when 100,000 places in a row had no room. */
void saltus_paint_pack(saltus_space *space, const saltus_packing *packing, int type, double *taken);

/** Count the sites of every type. */
void saltus_count_sites(saltus_space *space);

#endif
