/** A figure while it is put together: choosing what to draw (plot.c), and its panels
 * (plot_panels.c). */
#ifndef SALTUS_PLOT_PLOT_H
#define SALTUS_PLOT_PLOT_H

#include "plot/gnuplot.h"
#include "plot/plot_data.h"

enum {
    MAX_NAMED = 64, /* series that may be asked for by name */
    SALTUS_HEAT_COLUMNS = 360,
    SALTUS_HEAT_RUNS = 3
};

typedef struct saltus_plot {
    const saltus_results *r;
    saltus_gnuplot gnuplot;
    int n;
    int columns[MAX_NAMED];        /**< species, then observables */
    int of;                        /**< when some are left out: how many there are */
    bool named;                    /**< they were asked for by name */
    int64_t point;                 /**< of a histogram */
    int64_t n_runs;                /**< sample trajectories */
    double *mean, *sd, *min, *max; /**< [point][chosen] */
    double *runs;                  /**< [run][point][chosen] or NULL */
    double low, high;              /**< of the axis of values */
    bool bands, lines;             /**< what a panel over time shows */
} saltus_plot;

/** The script of a sweep's figure. SALTUS_E_INVALID when the file has no such column or quantity.
 */
SALTUS_MUST_CHECK saltus_status saltus_plot_sweep(saltus_gnuplot *gnuplot, const saltus_results *r,
                                                  const saltus_plot_options *options,
                                                  saltus_error *err);

/** A panel's place on the page, from 0 to 1. */
struct place {
    double left, right, bottom, top;
};

/** What all figures look like; a panel's margins; a text, with what stands behind it in the
 * command. */
void saltus_plot_style(FILE *out);
void saltus_plot_place(FILE *out, struct place at);
void saltus_plot_label(FILE *out, const char *command, const char *text, const char *rest);
/** A caption below ("x") or beside ("y") a panel, at the same place whatever the numbers' width. */
void saltus_plot_caption(FILE *out, const char *axis, const char *text, struct place at);
/** The next panel starts without the texts of the last. */
void saltus_plot_clear(FILE *out);

const char *saltus_column_name(const saltus_results *r, int column);

/** Begin and end the page. */
void saltus_plot_begin(saltus_plot *p, const char *title);
void saltus_plot_end(saltus_plot *p);

/** Set the axis of values by the bands and lines to be shown, and widen it to a distribution. */
void saltus_plot_find_range(saltus_plot *p);
void saltus_plot_include(saltus_plot *p, const saltus_distribution *d);

/** Of a lattice: profiles over time, and a plane of a frame (plot_space.c). SALTUS_E_INVALID when
 * the file does not hold them. */
SALTUS_MUST_CHECK saltus_status saltus_plot_kymograph(saltus_plot *p, saltus_error *err);
SALTUS_MUST_CHECK saltus_status saltus_plot_slice(saltus_plot *p, const char *slice, double time,
                                                  saltus_error *err);
/** The axis of time of a panel; without numbers unless `shown`. */
void saltus_plot_time_axis(const saltus_plot *p, struct place at, bool shown);

/** Points for a heat map's columns, at equal distances in time; returns how many. */
int64_t saltus_heat_points(const saltus_plot *p, int64_t points[SALTUS_HEAT_COLUMNS]);

/** Bands and lines over time. */
void saltus_plot_series(saltus_plot *p, struct place at);
/** The distribution of series k over time: alone, with a scale of colours, or beside others; with
 * an axis of time below it. */
void saltus_plot_heat(saltus_plot *p, int k, const saltus_distribution *d, struct place at,
                      bool alone, bool time);
/** Distributions of all series at one time: for a panel of their own, or beside one over time. */
void saltus_plot_upright(saltus_plot *p, const saltus_distribution *d, struct place at);
void saltus_plot_sideways(saltus_plot *p, const saltus_distribution *d, struct place at);

#endif
