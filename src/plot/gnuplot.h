/** Running gnuplot: the only place that knows how it is started. */
#ifndef SALTUS_PLOT_GNUPLOT_H
#define SALTUS_PLOT_GNUPLOT_H

#include "core/status.h"

/** A figure that is being drawn. */
typedef struct saltus_gnuplot {
    FILE *script; /**< commands and data go here; the file has no name */
    char *part;   /**< neighbour of the figure, which is written first */
    int fd;       /**< of part */
    const char *figure;
    int font; /**< size of the common text; others go by it */
} saltus_gnuplot;

/** Whether a figure's ending is known: .svg, .png, .pdf. SALTUS_E_INVALID. */
SALTUS_MUST_CHECK saltus_status saltus_gnuplot_check(const char *figure, saltus_error *err);

/** Start a script: the terminal is set, texts are taken without markup. figure has been
 * checked and must stay valid. SALTUS_E_IO. */
SALTUS_MUST_CHECK saltus_status saltus_gnuplot_begin(saltus_gnuplot *g, const char *figure,
                                                     saltus_error *err);
/** Run the script; the figure appears whole under its name or not at all. SALTUS_E_UNAVAILABLE when
 * gnuplot is not installed, SALTUS_E_IO when it fails. Call saltus_gnuplot_end in any case. */
SALTUS_MUST_CHECK saltus_status saltus_gnuplot_run(saltus_gnuplot *g, saltus_error *err);
void saltus_gnuplot_end(saltus_gnuplot *g);

/** Write a text as a string of gnuplot's in which nothing is expanded or run. */
void saltus_gnuplot_quote(FILE *script, const char *text);

#endif
