/** Planes of a lattice in figures: pictures of sites, to scale. */
#ifndef SALTUS_PLOT_PLOT_LATTICE_H
#define SALTUS_PLOT_PLOT_LATTICE_H

#include "plot/plot.h"

/** A plane of a lattice: what lies along its sides. The longer side lies. */
typedef struct saltus_plane {
    int normal, across, up; /**< axes */
    int64_t at;             /**< along the normal */
    int64_t width, height;  /**< sites */
    int64_t step;           /**< sites along an edge of a pixel */
    double spacing;         /**< um */
} saltus_plane;
saltus_plane saltus_plane_of(const int64_t size[3], double spacing, int normal, int64_t at);
/** The same with at most so many pixels along its longer side. */
saltus_plane saltus_plane_coarser(const saltus_plane *plane, int64_t most);
/** Pixels along its sides. */
int64_t saltus_plane_columns(const saltus_plane *plane);
int64_t saltus_plane_rows(const saltus_plane *plane);

/** Height of the page over its width. */
#define SALTUS_PAGE 0.56

/** The data block $NAMEk of types[row][column] of pixels, in colours, for `with rgbimage`; pale:
 * behind something else. */
void saltus_plane_types(FILE *out, const char *name, int k, const saltus_plane *plane,
                        const uint8_t *types, bool pale);
/** The colour of a type as "#rrggbb". */
const char *saltus_type_colour(int type);
/** A round distance of numbers at an axis that is so long, in its unit and in parts of the page's
 * width. */
double saltus_round_step(double range, double length);
/** Margins and ranges of a panel; numbers and captions at the axis below it, and beside it. */
void saltus_plane_panel(FILE *out, const saltus_plane *plane, struct place at, bool below,
                        bool beside);
/** A caption of an axis that is the panel's own: "x" below, "y" beside it. */
void saltus_panel_caption(FILE *out, char axis, const char *text, struct place at);

#endif
