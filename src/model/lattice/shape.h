/** What is asked of shapes while they are painted. */
#ifndef SALTUS_MODEL_LATTICE_SHAPE_H
#define SALTUS_MODEL_LATTICE_SHAPE_H

#include "model/lattice/geometry.h"

/** A box around a shape. */
void saltus_shape_bound(const saltus_shape *shape, double low[3], double high[3]);

typedef enum saltus_cover {
    SALTUS_COVERS_NONE,
    SALTUS_COVERS_SOME, /**< or all, or none: it is not known */
    SALTUS_COVERS_ALL,
} saltus_cover;

/** Whether a shape holds all of the points (x, y, z) with x from low to high, or none. */
saltus_cover saltus_shape_cover(const saltus_shape *shape, double low, double high, double y,
                                double z);

#endif
