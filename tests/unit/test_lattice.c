/* Lattices: geometry against exact volumes, units against numbers by hand, what is refused. */
#include "frozen.h"
#include "core/limits.h"
#include "core/parallel.h"
#include "model/lattice/geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "read/image.h"

#if SALTUS_WITH_TIFF
#include <tiffio.h>
#endif

#define PI 3.14159265358979323846

static const saltus_lattice *lattice_of(const saltus_model *m)
{
    assert_non_null(m->network->lattice);
    return m->network->lattice;
}

/* A model of one species with these sites. */
static saltus_model *with_sites(const char *size, const char *faces, const char *sites)
{
    char text[3000];
    (void)snprintf(text, sizeof text,
                   "species: {A: 10}\nlattice:\n  size: %s\n  spacing: 10 nm\n  step: largest\n"
                   "  faces: %s\n  diffusion: {A: 1 um2/s}\n  sites:\n    all:\n%s",
                   size, faces, sites);
    return freeze_text(text, SALTUS_LAW_LITERAL);
}

static double relative(double a, double b)
{
    return fabs(a - b) / fabs(b);
}

/* ---- geometry ---- */

/* Centres of sites in a body: its volume, within a layer of sites half as thick as a site, of
 * random sign: much less than half the area. */
static void check_volume(const char *shape, double volume, double area)
{
    char text[600];
    (void)snprintf(text, sizeof text, "    body:\n      %s\n", shape);
    saltus_model *m = with_sites("[64, 60, 100]", "reflecting", text);
    const double n = (double)lattice_of(m)->sites_of[1];
    if (fabs(n - volume) > 0.1 * area + 1.0) {
        fail_msg("%s: %.0f sites, expected %.1f", shape, n, volume);
    }
    assert_int_equal(lattice_of(m)->sites_of[0] + lattice_of(m)->sites_of[1], 64 * 60 * 100);
    saltus_model_destroy(m);
}

static void shapes_have_their_volumes(void **state)
{
    (void)state;
    const double ball = 4.0 / 3.0 * PI * 20 * 20 * 20, sphere = 4.0 * PI * 20 * 20;
    check_volume("box: {from: [1 sites, 2 sites, 3 sites], to: [11 sites, 22 sites, 33 sites]}",
                 10 * 20 * 30, 0.0);
    check_volume("sphere: {centre: [32 sites, 30 sites, 50 sites], radius: 20 sites}", ball,
                 sphere);
    check_volume("sphere: {centre: [0.32 um, 300 nm, 5e-7 m], radius: 0.2 um}", ball, sphere);
    check_volume("ellipsoid: {centre: [32 sites, 30 sites, 50 sites], radii: [10 sites, 20 sites, "
                 "40 sites]}",
                 ball, sphere);
    check_volume("capsule: {from: [32 sites, 30 sites, 30 sites], to: [32 sites, 30 sites, 70 "
                 "sites], radius: 20 sites}",
                 ball + PI * 20 * 20 * 40, sphere + 2 * PI * 20 * 40);
    check_volume("cylinder: {from: [32 sites, 30 sites, 30 sites], to: [32 sites, 30 sites, 70 "
                 "sites], radius: 20 sites}",
                 PI * 20 * 20 * 40, 2 * PI * 20 * 40);
    check_volume("cylinder: {from: [20 sites, 20 sites, 40 sites], to: [40 sites, 40 sites, 60 "
                 "sites], radius: 15 sites}",
                 PI * 15 * 15 * sqrt(1200.0), 2 * PI * 15 * (sqrt(1200.0) + 15));
    check_volume("union: [{box: {from: [0, 0, 0], to: [10 sites, 10 sites, 10 sites]}}, "
                 "{box: {from: [5 sites, 0, 0], to: [20 sites, 10 sites, 10 sites]}}]",
                 2000.0, 0.0);
    check_volume("difference: [{box: {from: [0, 0, 0], to: [10 sites, 10 sites, 10 sites]}}, "
                 "{sphere: {centre: [0, 0, 0], radius: 5 sites}}, {box: {from: [9 sites, 0, 0], "
                 "to: [99 sites, 99 sites, "
                 "99 sites]}}]",
                 900.0 - PI * 125.0 / 6.0, 40.0);
}

/* Sites of a shape of which each # stands for a length: the number that follows, in half sites. */
static int64_t sites_of_shape(const char *shape, double spacing_nm, bool in_sites)
{
    char text[1500];
    int n = snprintf(text, sizeof text,
                     "species: {A: 10}\nlattice:\n  size: [32, 32, 32]\n  spacing: %.4g nm\n"
                     "  step: largest\n  diffusion: {A: 1 um2/s}\n  sites: {all: , body: {",
                     spacing_nm);
    for (const char *c = shape; *c;) {
        if (*c != '#') {
            text[n++] = *c++;
            continue;
        }
        char *end = NULL;
        const double sites = 0.5 * (double)strtol(c + 1, &end, 10);
        n += in_sites ? snprintf(text + n, 40, "%.1f sites", sites)
                      : snprintf(text + n, 40, "%.10g nm", sites * spacing_nm);
        c = end;
    }
    (void)snprintf(text + n, sizeof text - (size_t)n, "}}\n");
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    const int64_t sites = lattice_of(m)->sites_of[1];
    saltus_model_destroy(m);
    return sites;
}

/* Surfaces that go through centres of sites: how a length is written, and how it is rounded, is
 * nothing to a site. All numbers are of points with whole coordinates. */
static void centres_on_surfaces_do_not_hang_on_rounding(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        int64_t sites;
    } cases[] = {
        /* x from 1 to 7, y from 5 to 8, z from 0 to 11: the last ones are excluded */
        {"box: {from: [#3, #11, #1], to: [#15, #17, #23]}", 6 * 3 * 11},
        {"box: {from: [#13, #13, #13], to: [#15, #15, #15]}", 1},
        /* x^2 + y^2 + z^2 <= 25 */
        {"sphere: {centre: [#21, #21, #21], radius: #10}", 515},
        {"ellipsoid: {centre: [#31, #21, #33], radii: [#10, #10, #10]}", 515},
        /* x^2 + y^2 <= 25 in seven planes */
        {"cylinder: {from: [#21, #21, #7], to: [#21, #21, #19], radius: #10}", 81 * 7},
        {"cylinder: {from: [#37, #21, #31], to: [#25, #21, #31], radius: #10}", 81 * 7},
        /* six planes more than the sphere */
        {"capsule: {from: [#21, #21, #21], to: [#21, #21, #33], radius: #10}", 515 + 81 * 6},
    };
    static const double spacings[] = {1.0, 1.3, 7.0, 10.0, 13.0, 16.0, 30.0, 32.0, 125.0, 300.0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (size_t k = 0; k < sizeof spacings / sizeof *spacings; ++k) {
            for (int in_sites = 0; in_sites < 2; ++in_sites) {
                const int64_t n = sites_of_shape(cases[i].shape, spacings[k], in_sites);
                if (n != cases[i].sites) {
                    fail_msg("%s, %g nm%s: %lld sites, expected %lld", cases[i].shape, spacings[k],
                             in_sites ? ", in sites" : "", (long long)n, (long long)cases[i].sites);
                }
            }
        }
    }
}

/* ---- painting is what its definition says, site by site ---- */

static uint64_t random_state;

static double random_in(double low, double high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (double)(random_state >> 11) * 0x1p-53 * (high - low);
}

/* A coordinate, often on the middle or the edge of sites. */
static double random_at(double low, double high)
{
    const double x = random_in(low, high);
    return random_in(0.0, 1.0) < 0.5 ? x : floor(2.0 * x) * 0.5;
}

/* Of the first n kinds. */
static saltus_shape random_kind(double n)
{
    saltus_shape s = {.kind = (saltus_shape_kind)(random_in(0.0, 1.0) * n)};
    s.radius = random_at(0.5, 20.0);
    for (int i = 0; i < 3; ++i) {
        s.a[i] = random_at(-10.0, 50.0);
        s.b[i] = s.kind == SALTUS_SHAPE_BOX         ? s.a[i] + random_at(0.5, 40.0)
                 : s.kind == SALTUS_SHAPE_ELLIPSOID ? random_at(0.5, 25.0)
                 : random_in(0.0, 1.0) < 0.3        ? s.a[i] /* along an axis, or a point */
                                                    : random_at(-10.0, 50.0);
    }
    return s;
}

static saltus_shape random_shape(saltus_shape parts[3])
{
    saltus_shape s = random_kind(6.0);
    for (int i = 0; i < 3 && s.kind >= SALTUS_SHAPE_UNION; ++i) {
        parts[i] = random_kind(4.0);
        parts[i].next = i < 2 ? &parts[i + 1] : NULL;
        s.parts = parts;
    }
    return s;
}

/* A site that is of another type than `of` or beyond a face that is not periodic. */
static bool is_other(const saltus_space *s, const uint8_t *types, const int at[3], const int way[3],
                     int of)
{
    int64_t to[3];
    for (int i = 0; i < 3; ++i) {
        const int64_t size = s->size[i];
        to[i] = at[i] + way[i];
        if ((to[i] < 0 || to[i] == size) &&
            s->faces[2 * i + (way[i] > 0)] != SALTUS_FACE_PERIODIC) {
            return true;
        }
        to[i] = (to[i] + size) % size;
    }
    return types[to[0] + s->size[0] * (to[1] + s->size[1] * to[2])] != of;
}

static bool is_outermost(const saltus_space *s, const uint8_t *types, const int at[3], int of,
                         bool of_26)
{
    for (int k = 0; k < 27; ++k) {
        const int way[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        const int distance = abs(way[0]) + abs(way[1]) + abs(way[2]);
        if (distance > 0 && (of_26 || distance == 1) && is_other(s, types, at, way, of)) {
            return true;
        }
    }
    return false;
}

/* The same by the definitions: a shape's sites, then the outermost layer of them. */
static void paint_plainly(const saltus_space *s, const saltus_shape *shape, bool of_26,
                          uint8_t *shapes, uint8_t *shells)
{
    int64_t site = 0;
    int at[3];
    for (int i = 0; i < s->n_sites; ++i) {
        const double p[3] = {i % s->size[0] + 0.5, i / s->size[0] % s->size[1] + 0.5,
                             i / (s->size[0] * s->size[1]) + 0.5};
        shapes[i] = saltus_shape_holds(shape, p);
    }
    for (at[2] = 0; at[2] < s->size[2]; ++at[2]) {
        for (at[1] = 0; at[1] < s->size[1]; ++at[1]) {
            for (at[0] = 0; at[0] < s->size[0]; ++at[0], ++site) {
                const bool marked = shapes[site] == 1 && is_outermost(s, shapes, at, 1, of_26);
                shells[site] = marked ? 2 : shapes[site];
            }
        }
    }
}

static void painting_is_site_by_site(void **state)
{
    enum { MOST = 48 * 48 * 48, N = 400 };
    static const int32_t sizes[] = {1, 2, 3, 31, 48};
    uint8_t *types = malloc(MOST), *shapes = malloc(MOST), *shells = malloc(MOST);
    int64_t n_inside = 0, n_shell = 0;
    (void)state;
    random_state = 5;
    for (int i = 0; i < N; ++i) {
        saltus_shape parts[3];
        const saltus_shape shape = random_shape(parts);
        saltus_space s = {.n_sites = 1, .n_types = 3, .types = types};
        for (int axis = 0; axis < 3; ++axis) {
            s.size[axis] = sizes[i % 4 == 0 ? (int)random_in(0.0, 5.0) : 3 + i / 4 % 2];
            s.n_sites *= s.size[axis];
            s.faces[2 * axis] = s.faces[2 * axis + 1] =
                random_in(0.0, 1.0) < 0.5 ? SALTUS_FACE_PERIODIC : SALTUS_FACE_REFLECTING;
        }
        memset(types, 0, (size_t)s.n_sites);
        paint_plainly(&s, &shape, i % 2, shapes, shells);
        saltus_paint_shape(&s, &shape, 1);
        if (memcmp(types, shapes, (size_t)s.n_sites) != 0) {
            fail_msg("shape %d, of kind %d, is another", i, (int)shape.kind);
        }
        assert_int_equal(saltus_paint_shell(&s, 1, 1, i % 2, 2, NULL), SALTUS_OK);
        if (memcmp(types, shells, (size_t)s.n_sites) != 0) {
            fail_msg("the shell of shape %d is another", i);
        }
        saltus_count_sites(&s);
        int64_t n[3] = {0};
        for (int64_t k = 0; k < s.n_sites; ++k) {
            ++n[shells[k]];
        }
        assert_true(n[0] == s.sites_of[0] && n[1] == s.sites_of[1] && n[2] == s.sites_of[2]);
        n_inside += n[1];
        n_shell += n[2];
    }
    assert_true(n_inside > 1000000 && n_shell > 100000); /* much was compared */
    free(types);
    free(shapes);
    free(shells);
}

typedef struct marks {
    int64_t n;
    uint8_t *times;
    int64_t ends[SALTUS_MOST_PARTS + 1];
} marks;

static void mark(void *user, int part, int64_t first, int64_t end)
{
    marks *x = user;
    x->ends[part + 1] = end;
    for (int64_t i = first; i < end; ++i) {
        ++x->times[i];
    }
}

/* Every number belongs to one stretch, and stretches are in order, however many cores there are. */
static void work_is_shared_without_gaps(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 7, 63, 64, 65, 1000};
    uint8_t times[1000];
    (void)state;
    assert_true(saltus_cores() >= 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        for (int64_t least = 0; least < 3; ++least) {
            marks x = {.n = sizes[i], .times = times};
            memset(times, 0, sizeof times);
            saltus_parallel(x.n, least, mark, &x);
            for (int64_t k = 0; k < (int64_t)sizeof times; ++k) {
                assert_int_equal(times[k], k < x.n);
            }
            for (int k = 1; k <= SALTUS_MOST_PARTS && x.ends[k] > 0; ++k) {
                assert_true(x.ends[k] >= x.ends[k - 1]);
            }
        }
    }
}

/* Larger than what one thread takes: planes of several threads, whole. */
static void large_lattices_are_painted_whole(void **state)
{
    (void)state;
    saltus_model *m = with_sites("[256, 256, 256]", "periodic",
                                 "    ball: {sphere: {centre: [128 sites, 128 sites, 128 sites], "
                                 "radius: 100.25 sites}}\n    skin: {shell: {of: ball}}\n");
    const saltus_lattice *l = lattice_of(m);
    int64_t n[3] = {0}, n_wrong = 0;
    for (int64_t i = 0; i < l->n_sites; ++i) {
        const double x = (double)(i % 256) - 127.5, y = (double)(i / 256 % 256) - 127.5;
        const double z = (double)(i / 65536) - 127.5;
        const bool inside = x * x + y * y + z * z <= 100.25 * 100.25;
        n_wrong += inside != (l->types[i] > 0);
        ++n[l->types[i]];
    }
    assert_int_equal(n_wrong, 0);
    for (int type = 0; type < 3; ++type) {
        assert_true(n[type] > 0 && n[type] == l->sites_of[type]);
    }
    saltus_model_destroy(m);
}

static void boxes_are_cut_by_the_lattice(void **state)
{
    (void)state;
    saltus_model *m = with_sites("[8, 9, 10]", "reflecting",
                                 "    body:\n      box: {from: [-5 sites, -5 sites, 6 sites], to: "
                                 "[2 sites, 3 sites, 99 sites]}\n");
    const saltus_lattice *l = lattice_of(m);
    assert_int_equal(l->n_sites, 720);
    assert_int_equal(l->sites_of[1], 2 * 3 * 4);
    for (int64_t i = 0; i < l->n_sites; ++i) {
        const int x = (int)(i % 8), y = (int)(i / 8 % 9), z = (int)(i / 72);
        assert_int_equal(l->types[i], x < 2 && y < 3 && z >= 6);
    }
    saltus_model_destroy(m);
}

static void later_types_are_painted_over_earlier_ones(void **state)
{
    (void)state;
    saltus_model *m = with_sites(
        "[10, 10, 10]", "reflecting",
        "    low:\n      box: {from: [0, 0, 0], to: [10 sites, 10 sites, 6 sites]}\n"
        "    middle:\n      box: {from: [0, 0, 4 sites], to: [10 sites, 10 sites, 8 sites]}\n");
    const saltus_lattice *l = lattice_of(m);
    assert_int_equal(l->n_types, 3);
    assert_string_equal(l->type_names[2], "middle");
    assert_int_equal(l->sites_of[0], 200);
    assert_int_equal(l->sites_of[1], 400);
    assert_int_equal(l->sites_of[2], 400);
    saltus_model_destroy(m);
}

static void shells_have_their_layers(void **state)
{
    (void)state;
    saltus_model *m = with_sites("[20, 20, 20]", "reflecting",
                                 "    cell:\n      box: {from: [2 sites, 2 sites, 2 sites], to: "
                                 "[16 sites, 16 sites, 16 sites]}\n"
                                 "    wall:\n      shell: {of: cell, layers: 2}\n"
                                 "    rim:\n      shell: {of: all, layers: 1}\n");
    const saltus_lattice *l = lattice_of(m);
    assert_int_equal(l->sites_of[1], 10 * 10 * 10);
    assert_int_equal(l->sites_of[2], 14 * 14 * 14 - 10 * 10 * 10);
    /* the faces of the box, and the neighbours of the wall across its sides */
    assert_int_equal(l->sites_of[3], 20 * 20 * 20 - 18 * 18 * 18 + 6 * 14 * 14);
    saltus_model_destroy(m);
    m = with_sites("[20, 20, 20]", "{x: periodic, y: periodic}",
                   "    rim:\n      shell: {of: all, layers: 3}\n");
    assert_int_equal(lattice_of(m)->sites_of[1], 20 * 20 * 6);
    saltus_model_destroy(m);
}

/* How many sites of type 2 can be reached from the first of them through faces. */
static int64_t reach(const saltus_lattice *l)
{
    static const int64_t ways[] = {1, -1, 20, -20, 400, -400};
    static int64_t waiting[20 * 20 * 20];
    static bool seen[20 * 20 * 20];
    int64_t n = 0;
    memset(seen, 0, sizeof seen);
    for (waiting[0] = 0; l->types[waiting[0]] != 2; ++waiting[0]) {
    }
    seen[waiting[n++]] = true;
    for (int64_t done = 0; done < n; ++done) {
        for (int k = 0; k < 6; ++k) {
            const int64_t to = waiting[done] + ways[k]; /* the ball touches no face */
            if (l->types[to] == 2 && !seen[to]) {
                seen[to] = true;
                waiting[n++] = to;
            }
        }
    }
    return n;
}

static void shells_may_hang_together(void **state)
{
    (void)state;
    saltus_model *loose = with_sites(
        "[20, 20, 20]", "reflecting",
        "    ball:\n      sphere: {centre: [10 sites, 10 sites, 10 sites], radius: 8.5 sites}\n"
        "    skin:\n      shell: {of: ball}\n");
    saltus_model *whole = with_sites(
        "[20, 20, 20]", "reflecting",
        "    ball:\n      sphere: {centre: [10 sites, 10 sites, 10 sites], radius: 8.5 sites}\n"
        "    skin:\n      shell: {of: ball, connected: true}\n");
    assert_true(reach(lattice_of(loose)) < lattice_of(loose)->sites_of[2]);
    assert_int_equal(reach(lattice_of(whole)), lattice_of(whole)->sites_of[2]);
    for (int64_t i = 0; i < 8000; ++i) {
        assert_true(lattice_of(loose)->types[i] != 2 || lattice_of(whole)->types[i] == 2);
    }
    saltus_model_destroy(loose);
    saltus_model_destroy(whole);
}

static saltus_model *packed(const char *obstacle, double fraction, int seed, const char *overlap)
{
    char text[600];
    (void)snprintf(
        text, sizeof text,
        "    cell:\n      sphere: {centre: [25 sites, 25 sites, 25 sites], radius: 22 sites}\n"
        "    stone:\n      pack: {in: cell, %s, fraction: %g, seed: %d, overlap: %s}\n",
        obstacle, fraction, seed, overlap);
    return with_sites("[50, 50, 50]", "reflecting", text);
}

static void packing_takes_its_fraction(void **state)
{
    (void)state;
    static const struct {
        const char *obstacle, *overlap;
        double fraction, largest;
    } cases[] = {
        {"box: {size: [1 sites, 1 sites, 1 sites]}", "false", 0.5, 1},
        {"sphere: {radius: 2 sites}", "false", 0.2, 45},
        {"ellipsoid: {radii: [1 sites, 2 sites, 30 nm]}", "false", 0.2, 40},
        {"sphere: {radius: 3 sites}", "true", 0.4, 140},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_model *m = packed(cases[i].obstacle, cases[i].fraction, 1, cases[i].overlap);
        saltus_model *same = packed(cases[i].obstacle, cases[i].fraction, 1, cases[i].overlap);
        saltus_model *other = packed(cases[i].obstacle, cases[i].fraction, 2, cases[i].overlap);
        const saltus_lattice *l = lattice_of(m);
        const double n = (double)l->sites_of[2], all = n + (double)l->sites_of[1];
        assert_true(n >= cases[i].fraction * all && n < cases[i].fraction * all + cases[i].largest);
        assert_memory_equal(l->types, lattice_of(same)->types, (size_t)l->n_sites);
        assert_memory_not_equal(l->types, lattice_of(other)->types, (size_t)l->n_sites);
        for (int64_t k = 0; k < l->n_sites; ++k) { /* none outside the cell */
            assert_true((l->types[k] == 0) == (lattice_of(other)->types[k] == 0));
        }
        saltus_model_destroy(m);
        saltus_model_destroy(same);
        saltus_model_destroy(other);
    }
}

/* Obstacles that do not overlap and do not touch the ground: whole ones. */
static void packed_obstacles_are_whole(void **state)
{
    (void)state;
    saltus_model *m =
        with_sites("[40, 40, 40]", "reflecting",
                   "    stone:\n      pack: {in: all, box: {size: [4 sites, 4 sites, 4 sites]}, "
                   "fraction: 0.25, seed: 3}\n");
    assert_int_equal(lattice_of(m)->sites_of[1] % 64, 0);
    assert_int_equal(lattice_of(m)->sites_of[1], 16000);
    saltus_model_destroy(m);
}

/* ---- images ---- */

#if SALTUS_WITH_TIFF
enum { NX = 33, NY = 20, NZ = 5 };

static int pixel_of(int x, int y, int z)
{
    return (x + 2 * y + 3 * z) % 3;
}

static void write_stack(const char *path, int bits, bool tiled)
{
    TIFF *t = TIFFOpen(path, "w");
    assert_non_null(t);
    for (int z = 0; z < NZ; ++z) {
        uint8_t data[32 * 32 * 2] = {0};
        TIFFSetField(t, TIFFTAG_IMAGEWIDTH, NX);
        TIFFSetField(t, TIFFTAG_IMAGELENGTH, NY);
        TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, bits);
        TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 1);
        TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFSetField(t, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
        if (tiled) {
            TIFFSetField(t, TIFFTAG_TILEWIDTH, 32);
            TIFFSetField(t, TIFFTAG_TILELENGTH, 16);
        }
        for (int y = 0; y < NY && !tiled; ++y) {
            for (int x = 0; x < NX; ++x) {
                const uint16_t v = (uint16_t)(pixel_of(x, y, z) * (bits == 16 ? 1000 : 1));
                memcpy(data + x * bits / 8, &v, (size_t)bits / 8);
            }
            assert_int_equal(TIFFWriteScanline(t, data, (uint32_t)y, 0), 1);
        }
        for (int y = 0; y < NY && tiled; y += 16) {
            for (int x = 0; x < NX; x += 32) {
                for (int i = 0; i < 16 * 32; ++i) {
                    data[i] = (uint8_t)pixel_of(x + i % 32, y + i / 32, z);
                }
                assert_true(TIFFWriteTile(t, data, (uint32_t)x, (uint32_t)y, 0, 0) > 0);
            }
        }
        assert_int_equal(TIFFWriteDirectory(t), 1);
    }
    TIFFClose(t);
}

static void images_are_types(void **state)
{
    (void)state;
    static const struct {
        int bits, value;
        bool tiled;
    } cases[] = {{8, 2, false}, {16, 2000, false}, {8, 2, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[200];
        write_stack("cell.tif", cases[i].bits, cases[i].tiled);
        (void)snprintf(text, sizeof text, "    cell:\n      image: {file: cell.tif, value: %d}\n",
                       cases[i].value);
        saltus_model *m = with_sites("[33, 20, 5]", "reflecting", text);
        const saltus_lattice *l = lattice_of(m);
        for (int64_t k = 0; k < l->n_sites; ++k) {
            const int x = (int)(k % NX), y = (int)(k / NX % NY), z = (int)(k / (NX * NY));
            assert_int_equal(l->types[k], pixel_of(x, y, z) == 2);
        }
        saltus_model_destroy(m);
    }
}

/* Two pixels, 200 and 100 as bytes, of which the first is -56 when they have a sign. */
static void pixels_below_zero_are_no_others(void **state)
{
    (void)state;
    static const int32_t size[3] = {2, 1, 1};
    for (int is_signed = 0; is_signed < 2; ++is_signed) {
        const uint32_t values[2] = {200, 100};
        uint8_t row[2] = {200, 100};
        TIFF *t = TIFFOpen("two.tif", "w");
        assert_non_null(t);
        TIFFSetField(t, TIFFTAG_IMAGEWIDTH, 2);
        TIFFSetField(t, TIFFTAG_IMAGELENGTH, 1);
        TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 1);
        TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, is_signed ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT);
        assert_int_equal(TIFFWriteScanline(t, row, 0, 0), 1);
        TIFFClose(t);
        for (int i = 0; i < 2; ++i) {
            uint8_t mask[2] = {9, 9};
            assert_int_equal(saltus_image_mask(NULL, "two.tif", size, values[i], mask, NULL),
                             SALTUS_OK);
            assert_int_equal(mask[0], i == 0 && !is_signed);
            assert_int_equal(mask[1], i == 1);
        }
    }
}

/* A page of 33 x 20 pixels whose tiles, or compressed strip, are said to be huge: a file of some
 * hundred bytes. */
static void write_bomb(const char *path, bool tiled)
{
    const uint32_t tiles[][2] = {{256, NX}, {257, NY},    {258, 8},     {259, 1},   {262, 1},
                                 {277, 1},  {322, 40000}, {323, 40000}, {324, 200}, {325, 16}};
    const uint32_t strip[][2] = {{256, NX},  {257, NY}, {258, 8},  {259, 5},         {262, 1},
                                 {273, 200}, {277, 1},  {278, NY}, {279, 2000000000}};
    const uint32_t(*tags)[2] = tiled ? tiles : strip;
    const uint16_t n = tiled ? 10 : 9;
    const uint32_t start[] = {0x002a4949, 8}, none = 0;
    const uint8_t data[200] = {0};
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(start, sizeof start, 1, f), 1);
    assert_int_equal(fwrite(&n, sizeof n, 1, f), 1);
    for (int i = 0; i < n; ++i) {
        const uint16_t head[] = {(uint16_t)tags[i][0], 4};
        const uint32_t one = 1;
        assert_int_equal(fwrite(head, sizeof head, 1, f), 1);
        assert_int_equal(fwrite(&one, sizeof one, 1, f), 1);
        assert_int_equal(fwrite(&tags[i][1], sizeof tags[i][1], 1, f), 1);
    }
    assert_int_equal(fwrite(&none, sizeof none, 1, f), 1);
    assert_int_equal(fwrite(data, sizeof data, 1, f), 1);
    assert_int_equal(fclose(f), 0);
}

static void images_take_no_more_than_they_declare(void **state)
{
    static const int32_t size[3] = {NX, NY, 1};
    static uint8_t mask[NX * NY];
    (void)state;
    for (int tiled = 0; tiled < 2; ++tiled) {
        saltus_error err = {0};
        write_bomb("bomb.tif", tiled);
        const saltus_status status = saltus_image_mask(NULL, "bomb.tif", size, 1, mask, &err);
        if (status != SALTUS_E_IO || !strstr(err.message, "bomb.tif")) {
            fail_msg("status %d: %s", (int)status, err.message);
        }
        assert_true(!tiled || strstr(err.message, "tiles of 1600000000 bytes"));
    }
}
#endif

/* ---- diffusion ---- */

static void pairs_of_types_have_constants(void **state)
{
    (void)state;
    saltus_model *m = freeze_text(
        "species: {A: 0, B: 0, C: 0, D: 0}\n"
        "lattice:\n"
        "  size: [6, 6, 6]\n"
        "  spacing: 10 nm\n"
        "  step: 10 us\n"
        "  sites:\n"
        "    out:\n"
        "    in: {box: {from: [1 sites, 1 sites, 1 sites], to: [5 sites, 5 sites, 5 sites]}}\n"
        "    wall: {shell: {of: in}}\n"
        "  diffusion:\n"
        "    A: 4 um2/s\n"
        "    B: {in: 3 um2/s, wall: 1e-12}\n"
        "    C: {in: 3 um2/s, wall: 1 um2/s, wall->in: 0, in-out: 2 um2/s}\n"
        "    D: 0\n",
        SALTUS_LAW_LITERAL);
    /* in um2/s, from out, in, wall to out, in, wall */
    static const double expected[4][9] = {{4, 4, 4, 4, 4, 4, 4, 4, 4},
                                          {0, 0, 0, 0, 3, 1, 0, 1, 1},
                                          {0, 2, 0, 2, 3, 1, 0, 0, 1},
                                          {0, 0, 0, 0, 0, 0, 0, 0, 0}};
    const saltus_lattice *l = lattice_of(m);
    assert_int_equal(l->n_species, 4);
    for (int s = 0; s < 4; ++s) {
        double largest = 0.0;
        for (int k = 0; k < 9; ++k) {
            const double d = expected[s][k] * 1e-12;
            assert_true(fabs(l->diffusion[k * 4 + s] - d) <= 1e-15 * d);
            assert_true(fabs(l->jump[k * 4 + s] - d * 1e-5 / 1e-16) <= 1e-12 * 0.5);
            largest = fmax(largest, l->jump[k * 4 + s]);
        }
        assert_true(l->largest_jump[s] == largest);
    }
    saltus_model_destroy(m);
}

static void the_largest_step_has_q_one_half(void **state)
{
    (void)state;
    saltus_model *m = freeze_text("species: {A: 0, B: 0}\n"
                                  "lattice:\n"
                                  "  size: [4, 4, 4]\n"
                                  "  spacing: 16 nm\n"
                                  "  step: largest\n"
                                  "  diffusion: {A: 2.5e-8 cm2/s, B: 0.3 um2/s}\n",
                                  SALTUS_LAW_LITERAL);
    const saltus_lattice *l = lattice_of(m);
    assert_true(relative(l->step, 16e-9 * 16e-9 / (2 * 2.5e-12)) < 1e-14);
    assert_true(l->largest_jump[0] <= 0.5 && l->largest_jump[0] > 0.5 - 1e-15);
    assert_true(relative(l->largest_jump[1], 0.06) < 1e-14);
    assert_string_equal(l->type_names[0], "space");
    saltus_model_destroy(m);
}

/* ---- units and constants ---- */

static void constants_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *constant;
        int reaction;    /* 0: 0 -> A; 1: A -> 0; 2: A + B -> C; 3: 2 A -> C; 4: 2 A + B -> C */
        double expected; /* per tables' product, 1/s */
    } cases[] = {
        {"9e6 1/(M s)", 2, 9e6 / (6.02214076e23 * 16e-9 * 16e-9 * 16e-9 * 1000)},
        {"9e6 /(M s)", 2, 9e6 / (6.02214076e23 * 16e-9 * 16e-9 * 16e-9 * 1000)},
        {"9.0e6 M-1 s-1", 2, 3648.645411},
        {"9e6 L/(mol s)", 2, 3648.645411},
        {"46.2 1/(uM s)", 2, 46.2e6 / (6.02214076e23 * 16e-9 * 16e-9 * 16e-9 * 1000)},
        {"0.5 um3/s", 2, 0.5e-18 / (16e-9 * 16e-9 * 16e-9)},
        {"3.5", 2, 3.5},
        {"9e6 1/(M s)", 3, 0.5 * 3648.645411},
        {"3", 3, 1.5},
        {"2e9 1/(M2 s)", 4, 0.5 * 2e9 / 2466.668855 / 2466.668855},
        {"0.5 1/s", 1, 0.5},
        {"30 1/min", 1, 0.5},
        {"0.0125 um/s", 1, 0.78125},
        {"0.78", 1, 0.78},
        {"1 nM/s", 0, 1e-9 * 6.02214076e23 * 16e-9 * 16e-9 * 16e-9 * 1000},
        {"5 um-3 s-1", 0, 5e18 * 16e-9 * 16e-9 * 16e-9},
        {"2", 0, 2.0},
    };
    static const char *const equations[] = {"0 -> A", "A -> 0", "A + B -> C", "2 A -> C",
                                            "2 A + B -> C"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[600];
        (void)snprintf(text, sizeof text,
                       "species: {A: 0, B: 0, C: 0}\n"
                       "reactions: {r: %s, s: A -> B @ 7, t: 2 B -> C @ 7}\n"
                       "lattice: {size: [4, 4, 4], spacing: 16 nm, step: 1 us, diffusion: {A: 0, "
                       "B: 0, C: 0}, sites: {a: , b: {box: {from: [0, 0, 0], to: [1 sites, 1 "
                       "sites, 1 sites]}}}, "
                       "reactions: {r: {b: %s}, s: a, t: {a: , b: 4}}}\n",
                       equations[cases[i].reaction], cases[i].constant);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        const saltus_lattice *l = lattice_of(m);
        const double *a = l->rate, *b = l->rate + 3;
        if (relative(b[0], cases[i].expected) > 1e-6) {
            fail_msg("%s: %.10g, expected %.10g", cases[i].constant, b[0], cases[i].expected);
        }
        assert_true(a[0] == 0.0 && a[1] == 7.0 && b[1] == 0.0 && a[2] == 3.5 && b[2] == 2.0);
        saltus_model_destroy(m);
    }
}

static void laws_happen_or_not(void **state)
{
    (void)state;
    saltus_model *m = freeze_text(
        "species: {A: 0, E: 5}\n"
        "parameters: {k: 2}\n"
        "reactions:\n"
        "  mm: A -> 0 @ k*E*A/(3 + A)\n"
        "  both: A <-> 0 @ k, 3\n"
        "  open: A <-> E\n"
        "lattice:\n"
        "  size: [4, 4, 4]\n"
        "  spacing: 1e-8 m\n"
        "  step: 1e-6\n"
        "  diffusion: {A: 1e-12, E: 0}\n"
        "  sites: {a: , b: {box: {from: [0, 0, 0], to: [1 sites, 1 sites, 1 sites]}}}\n"
        "  reactions: {mm: b, both: [a, b], open.forward: 5, open.backward: {a: 6 1/s}}\n",
        SALTUS_LAW_LITERAL);
    const saltus_lattice *l = lattice_of(m);
    static const double expected[2][5] = {{0, 2, 3, 5, 6}, {1, 2, 3, 5, 0}};
    assert_int_equal(l->n_reactions, 5);
    for (int i = 0; i < 10; ++i) {
        assert_true(l->rate[i] == expected[i / 5][i % 5]);
    }
    /* E, which no reaction of the law changes, is read where it is */
    assert_int_equal(m->network->tables.law_program[0] >= 0, 1);
    saltus_model_destroy(m);
    m = freeze_text("species: {A: 0, E: 5}\n"
                    "reactions: {r: 'A -> 0 @ 2*E*A'}\n"
                    "lattice: {size: [4, 4, 4], spacing: 1e-8 m, step: 1e-6, diffusion: {A: 0, E: "
                    "0}}\n",
                    SALTUS_LAW_LITERAL);
    assert_int_equal(m->network->tables.factor_row[1], 2);
    assert_true(lattice_of(m)->rate[0] == 2.0);
    saltus_model_destroy(m);
}

/* ---- what is there at first ---- */

static void particles_are_placed(void **state)
{
    (void)state;
    saltus_error err = {0};
    saltus_model *m = parse_text(
        "species: {A: 100, B: , C: 7, D: 0}\n"
        "lattice:\n"
        "  size: [10, 10, 10]\n"
        "  spacing: 100 nm\n"
        "  step: 1 us\n"
        "  sites: {a: , b: {box: {from: [0, 0, 0], to: [5 sites, 10 sites, 10 sites]}}}\n"
        "  diffusion: {A: {b: 0}, B: 0, C: 0, D: 0}\n"
        "  place:\n"
        "    B: {a: 30, b: 2 uM, sites: [[1, 2, 3, 4], [9, 9, 9, 1], "
        "[1, 2, 3, 2]]}\n"
        "    C: [b, a]\n"
        "    D: {sites: [[1, 2, 3, 5]]}\n");
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    const saltus_lattice *l = lattice_of(m);
    const int64_t n_b = (int64_t)nearbyint(2e-6 * 6.02214076e23 * 1e3 * 500e-21); /* 602 */
    assert_int_equal(l->n_scatters, 4);
    static const bool in[4][2] = {{true, false}, {false, true}, {true, true}, {false, true}};
    const int species[4] = {1, 1, 2, 0};
    const int64_t count[4] = {30, n_b, 7, 100};
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(l->scatters[i].species, species[i]);
        assert_int_equal(l->scatters[i].count, count[i]);
        assert_memory_equal(l->scatters[i].in, in[i], sizeof in[i]);
    }
    assert_int_equal(l->n_deposits, 3);
    assert_int_equal(l->deposits[0].site, 321);
    assert_int_equal(l->deposits[0].species, 1);
    assert_int_equal(l->deposits[0].n, 6);
    assert_int_equal(l->deposits[1].species, 3);
    assert_int_equal(l->deposits[2].site, 999);
    assert_int_equal(m->network->tables.initial_counts[1], 30 + n_b + 7);
    assert_int_equal(m->network->tables.initial_counts[3], 5);

    saltus_model_thaw(m);
    assert_int_equal(saltus_model_set(m, "A", 11, &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    assert_int_equal(lattice_of(m)->scatters[3].count, 11);
    saltus_model_thaw(m);
    assert_int_equal(saltus_model_set(m, "B", 11, &err), SALTUS_OK);
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_E_INVALID);
    assert_string_equal(err.message, "model.yaml:1: 'B' cannot be set: the lattice says how many "
                                     "there are where");
    saltus_model_destroy(m);
}

static void faces_are_read(void **state)
{
    (void)state;
    saltus_model *m =
        freeze_text("species: {A: 0, B: 0}\n"
                    "lattice:\n"
                    "  size: [4, 5, 6]\n"
                    "  spacing: 100 nm\n"
                    "  step: 1 us\n"
                    "  diffusion: {A: 0, B: 0}\n"
                    "  faces: {x: periodic, y-: absorbing, z+: {B: 1 uM}, z-: {A: 2}}\n",
                    SALTUS_LAW_LITERAL);
    const saltus_lattice *l = lattice_of(m);
    static const saltus_face faces[] = {SALTUS_FACE_PERIODIC,  SALTUS_FACE_PERIODIC,
                                        SALTUS_FACE_ABSORBING, SALTUS_FACE_REFLECTING,
                                        SALTUS_FACE_CONSTANT,  SALTUS_FACE_CONSTANT};
    assert_memory_equal(l->faces, faces, sizeof faces);
    assert_int_equal(l->n_sites, 120);
    for (int i = 0; i < 8; ++i) {
        assert_true(l->face_mean[i] == 0.0);
    }
    assert_true(l->face_mean[8] == 2.0 && l->face_mean[9] == 0.0 && l->face_mean[10] == 0.0);
    assert_true(relative(l->face_mean[11], 1e-3 * 6.02214076e23 * 1e-21) < 1e-12);
    saltus_model_destroy(m);
}

/* ---- what is refused ---- */

/* A whole model, of which a case replaces one line. */
static const char *const whole[] = {
    "species: {A: 10, B: 0, n: 2}",                                                 /* 1 */
    "rules: {sum: A + B}",                                                          /* 2 */
    "reactions: {r: A + B -> 0, s: A -> B @ 2, l: A -> 0 @ A/(1 + A)}",             /* 3 */
    "lattice:",                                                                     /* 4 */
    "  size: [8, 8, 8]",                                                            /* 5 */
    "  spacing: 10 nm",                                                             /* 6 */
    "  step: 10 us",                                                                /* 7 */
    "  faces: reflecting",                                                          /* 8 */
    "  sites: {a: , b: {box: {from: [0, 0, 0], to: [4 sites, 4 sites, 4 sites]}}}", /* 9 */
    "  diffusion: {A: 1 um2/s, B: {a: 0}, n: 0}",                                   /* 10 */
    "  place: {A: a}",                                                              /* 11 */
    "  reactions: {r: 1e6 1/(M s)}",                                                /* 12 */
};
enum { N_LINES = sizeof whole / sizeof *whole };

typedef struct refusal {
    int line;
    const char *text, *message, *hint;
} refusal;

static const refusal refusals[] = {
    {5, "  size: [8, 8]", "5:9: size: numbers of sites are wanted here: [x, y, z]", ""},
    {5, "  size: [8, 8, 0]", "5:16: size: '0' is no whole number from 1 to 1073741824", ""},
    {5, "  size: [1000000000, 1000000000, 9]", "5:9: size: there is no memory for 9e+18 sites", ""},
    {5, "", "6:3: lattice: 'size' is missing", ""},
    {6, "  spacing: 10 s", "6:12: spacing: '10 s' is no length: its unit does not fit",
     "write it like '16 nm'"},
    {6, "  spacing: 10 foo", "6:12: spacing: '10 foo' is no length: its unit is not known",
     "write it like '16 nm'"},
    {6, "  spacing: -1 nm", "6:12: spacing: '-1 nm' must be above 0", ""},
    {6, "  spacing: 1e-150 m",
     "6:12: spacing: the volume of a site of '1e-150 m' is no number that can be computed with",
     ""},
    {6, "  spacing: 1e150 m",
     "6:12: spacing: the volume of a site of '1e150 m' is no number that can be computed with", ""},
    {7, "  step: soon", "7:9: step: 'soon' is no time: it does not start with a number",
     "write it like '50 us' or 'largest'"},
    {7, "  step: 10 Hz", "7:9: step: '10 Hz' is no time: its unit does not fit",
     "write it like '50 us' or 'largest'"},
    {7, "  step: 60 us", "10:18: diffusion of 'A': q = D step/spacing^2 = 0.6 is above 1/2",
     "the step can be 5e-05 s at most, or 'largest'"},
    {8, "  faces: open", "8:10: faces: 'open' is no kind of face",
     "known are periodic, reflecting, absorbing, and {species: concentration}"},
    {8, "  faces: {x-: periodic}", "8:10: faces: 'x-' and 'x+' must both be periodic, or neither",
     ""},
    {8, "  faces: {w: periodic}", "8:11: faces: 'w' is not known here", NULL},
    {8, "  faces: {x-: {A: 1 um}}",
     "8:19: face x-: '1 um' is no concentration: its unit does not fit", "write it like '12.3 nM'"},
    {8, "  faces: {x-: {A: 1, B: 2, A: 3}}", "8:28: face x-: 'A' is given twice, first in line 8",
     ""},
    {8, "  faces: {x-: {a: 1}}", "8:16: face x-: 'a' is not a species", NULL},
    {9, "  sites: {a: , b: {box: {from: [9 sites, 0, 0], to: [12 sites, 4 sites, 4 sites]}}}",
     "9:16: site type 'b' has no sites", NULL},
    {9, "  sites: {a: , b: {box: {from: [0, 0, 0], to: [9 sites, 9 sites, 9 sites]}}}",
     "9:11: site type 'a' has no sites", NULL},
    {9, "  sites: {a: , b: {shell: {of: c}}}",
     "9:32: site type 'b': there are no sites of type 'c'", "known are a, b"},
    {9, "  sites: {}", "10:31: diffusion of 'B': there are no sites of type 'a'", ""},
    {9, "  sites: {a: , b: {ball: {radius: 3 sites}}}",
     "9:20: site type 'b': 'ball' is not known here",
     "known are box, sphere, ellipsoid, capsule, cylinder, union, difference, shell, pack, image"},
    {9, "  sites: {a: , b: {sphere: {radius: 3 sites}}}",
     "9:28: site type 'b': 'centre' is missing", ""},
    {9, "  sites: {a: , b: {sphere: {centre: [1 sites, 1 sites, 1 sites], radius: 3 s}}}",
     "9:74: site type 'b': '3 s' is no length: its unit does not fit",
     "write it like '0.5 um' or '16 sites'"},
    {9, "  sites: {a: , b: {sphere: {centre: [0, 0, 0], radius: 3}}}",
     "9:56: site type 'b': '3' is no length: its unit is missing",
     "write it like '0.5 um' or '16 sites'"},
    {9, "  sites: {a: , b: {sphere: {centre: [0, 8, 0], radius: 3 sites}}}",
     "9:41: site type 'b': '8' is no length: its unit is missing",
     "write it like '0.5 um' or '16 sites'"},
    {9,
     "  sites: {a: , b: {cylinder: {from: [40 nm, 0, 0], to: [4 sites, 0, 0], radius: 3 sites}}}",
     "9:56: site type 'b': 'to' is where 'from' is, so the cylinder has no direction", ""},
    {9, "  sites: {a: , b: {box: {from: [0, 0, 0], to: [4 sites, 4 sites, 2 km]}}}",
     "9:66: site type 'b': '2 km' is more than 1e+11 sites", ""},
    {6, "  spacing: 1e-8", "6:12: spacing: '1e-8' is no length: its unit is missing",
     "write it like '16 nm'"},
    {6, "  spacing: 1 sites", "6:12: spacing: '1 sites' is no length: its unit is not known",
     "write it like '16 nm'"},
    {9, "  sites: {a: {box: {}}}",
     "9:14: site type 'a': the first type is all sites and has no shape", ""},
    {9, "  sites: {a: , a-b: {box: {}}}",
     "9:16: site type 'a-b': a name is letters, digits and '_', and does not start with a digit",
     ""},
    {9, "  sites: {a: , b: {pack: {in: a, fraction: 0.9, seed: 1, sphere: {radius: 2 sites}}}}",
     NULL, "make them smaller or let them overlap ('overlap: true')"},
    {9, "  sites: {a: , b: {image: {file: none.tif, value: 1}}}",
     "9:34: site type 'b': none.tif: cannot be read: No such file or directory", ""},
    {9, "  sites: {a: , b: {image: {file: /dev/null, value: 1}}}",
     "9:34: site type 'b': /dev/null: cannot be read: it is a device, not a file", ""},
    {10, "  diffusion: {A: 1 um2/s, B: {a: 0}}", "10:14: species 'n' has no diffusion constant",
     "write 'n: 0' if it never moves"},
    {10, "  diffusion: {A: 1 um/s, B: 0, n: 0}",
     "10:18: diffusion of 'A': '1 um/s' is no diffusion constant: its unit does not fit",
     "write it like '2.5 um2/s'"},
    {10, "  diffusion: {A: -1, B: 0, n: 0}", "10:18: diffusion of 'A': '-1' is negative", ""},
    {10, "  diffusion: {A: {c: 1}, B: 0, n: 0}",
     "10:19: diffusion of 'A': there are no sites of type 'c'", "known are a, b"},
    {10, "  diffusion: {A: {a-c: 1}, B: 0, n: 0}",
     "10:19: diffusion of 'A': there are no sites of type 'c'", "known are a, b"},
    {10, "  diffusion: {A: {a-a: 1}, B: 0, n: 0}",
     "10:19: diffusion of 'A': 'a-a' is no pair of different types", ""},
    {10, "  diffusion: {A: {a: 1, a: 2}, B: 0, n: 0}",
     "10:25: diffusion of 'A': 'a' is given twice, first in line 10", ""},
    {10, "  diffusion: {A: {a-b: 0, b-a: 0}, B: 0, n: 0}",
     "10:27: diffusion of 'A': 'b-a': there is a constant of this way already",
     "'a-b' is both ways, 'a->b' and 'b->a' are one each"},
    {10, "  diffusion: {A: {b->a: 0, a->b: 0, a-b: 0}, B: 0, n: 0}",
     "10:37: diffusion of 'A': 'a-b': there is a constant of this way already",
     "'a-b' is both ways, 'a->b' and 'b->a' are one each"},
    {10, "  diffusion: {C: 1, A: 0}", "10:15: diffusion: 'C' is not a species", NULL},
    {10, "  diffusion: {su: 1, A: 0}", "10:15: diffusion: 'su' is not a species", ""},
    {10, "  diffusion: {sum: 1, A: 0}", "10:15: diffusion: 'sum' is not a species", NULL},
    {11, "  place: {A: c}", "11:14: place of 'A': there are no sites of type 'c'",
     "known are a, b"},
    {11, "  place: {A: {a: 3}}", "11:11: place of 'A': its amount is given already, in line 1",
     "name site types alone, as in 'A: a', or give no amount there ('A:')"},
    {11, "  place: {B: {a: 1.5}}",
     "11:18: place of 'B': '1.5' is no whole number from 0 to 9007199254740992", ""},
    {11, "  place: {B: {b: 1e15}}",
     "11:18: place of 'B': 1.562e+13 particles per site; there can be 2147483648", ""},
    {11, "  place: {B: {b: -1 nM}}", "11:18: place of 'B': '-1 nM' is negative", ""},
    {11, "  place: {B: {b: 1, a: 2, b: 3}}",
     "11:27: place of 'B': 'b' is given twice, first in line 11", ""},
    {11, "  place: {B: {b: 3 um}}",
     "11:18: place of 'B': '3 um' is no concentration: its unit does not fit",
     "write it like '12.3 nM'"},
    {11, "  place: {B: {sites: [[8, 0, 0, 1]]}}",
     "11:24: place of 'B': '8' is no whole number from 0 to 7", ""},
    {12, "  reactions: {r: 1 1/s}",
     "12:18: reaction 'r': '1 1/s' is no constant of order 2: its unit does not fit",
     "write it like '9e6 1/(M s)'"},
    {12, "  reactions: {r: 1, s: 1 1/(M s)}",
     "12:24: reaction 's': '1 1/(M s)' is no constant of order 1: its unit does not fit",
     "write it like '0.5 1/s'"},
    {12, "  reactions: {r: 1, s: 1 s}",
     "12:24: reaction 's': '1 s' is no constant of order 1: its unit does not fit",
     "write it like '0.5 1/s'"},
    {12, "  reactions: {r: {c: 1}}", "12:19: reaction 'r': there are no sites of type 'c'",
     "known are a, b"},
    {12, "  reactions: {r: -1}", "12:18: reaction 'r': '-1' is negative", ""},
    {12, "  reactions: {r: {a: 1, a: 2}}",
     "12:25: reaction 'r': 'a' is given twice, first in line 12", ""},
    {12, "  reactions: {r: {a: -1}}", "12:22: reaction 'r': '-1' is negative", ""},
    {12, "  reactions: {r: {a: }}", "3: reaction 'r': the rate is missing",
     "write 'A + B -> C @ rate', or give its constants in the lattice's 'reactions'"},
    {12, "  reactions: {x: 1}", "12:15: there is no reaction 'x'", ""},
    {12, "  reactions: {r: 1, l: 1}",
     "12:24: reaction 'l': its rate is a law, which has no constant to be given here",
     "name the site types alone: [a, b]"},
    {12, "  nothing: 1", "12:3: lattice: 'nothing' is not known here", NULL},
    {2, "events: {e: {at: 1, set: {A: 1}}}", "2: event 'e': there are no events on a lattice", ""},
};

static void write_case(const refusal *x, char text[4000])
{
    size_t n = 0;
    for (int i = 1; i <= N_LINES; ++i) {
        n += (size_t)snprintf(text + n, 4000 - n, "%s\n", i == x->line ? x->text : whole[i - 1]);
    }
}

static void mistakes_are_refused_with_their_line(void **state)
{
    (void)state;
    const refusal none = {0, NULL, NULL, NULL};
    char text[4000], expected[400];
    int n_wrong = 0;
    write_case(&none, text);
    saltus_model_destroy(freeze_text(text, SALTUS_LAW_LITERAL));
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
        const refusal *x = &refusals[i];
        saltus_error err = {0};
        saltus_model *m = NULL;
        write_case(x, text);
        const saltus_status status =
            saltus_model_parse_yaml(text, strlen(text), "model.yaml", &m, &err);
        (void)snprintf(expected, sizeof expected, "model.yaml:%s", x->message ? x->message : "");
        if (status == SALTUS_OK || status != err.code ||
            (x->message && strcmp(err.message, expected) != 0) ||
            (x->hint && strcmp(err.hint, x->hint) != 0)) {
            print_error("%s\n status %d\n got      %s (%s)\n expected %s (%s)\n", x->text,
                        (int)status, err.message, err.hint, expected, x->hint ? x->hint : "…");
            ++n_wrong;
        }
        saltus_model_destroy(m);
    }
    assert_int_equal(n_wrong, 0);
}

/* The constant of such a law is none, so another cannot stand in its place. */
static void laws_that_move_are_given_no_constant(void **state)
{
    (void)state;
    check_not_frozen("species: {A: 10, B: 0}\nparameters: {p: 1}\nrate rules: {p: -p}\n"
                     "reactions: {r: A -> B @ p}\n"
                     "lattice: {size: [2, 2, 2], spacing: 1 um, step: 1 ms, "
                     "diffusion: {A: 0, B: 0}, reactions: {r: 2 1/s}}\n",
                     SALTUS_E_MODEL,
                     "model.yaml:4: reaction 'r': its rate law is no constant number times numbers "
                     "of molecules, so the lattice can give it no constant, only types of sites");
}

static void what_is_set_may_not_fit(void **state)
{
    (void)state;
    check_not_frozen("species: {A: 1e16}\n"
                     "lattice:\n"
                     "  {size: [2, 2, 2], spacing: 1e-8 m, step: 1, diffusion: {A: 0}}\n",
                     SALTUS_E_MODEL,
                     "model.yaml:1: species 'A': 10000000000000000 particles do not fit into 8 "
                     "sites (2147483648 each at most)");
    check_not_frozen(
        "species: {A: poisson(9)}\n"
        "lattice: {size: [2, 2, 2], spacing: 1 um, step: 1 ms, diffusion: {A: 0}}\n",
        SALTUS_E_UNSUPPORTED,
        "model.yaml:1: species 'A': its value at time 0 is drawn, which a model with a "
        "lattice cannot have");
    check_not_frozen(
        "species: {A: 1, B: 0}\nreactions: {r: A -> 0.5 B @ 1}\nstoichiometry: draw\n"
        "lattice: {size: [2, 2, 2], spacing: 1 um, step: 1 ms, diffusion: {A: 0, B: 0}}\n",
        SALTUS_E_UNSUPPORTED,
        "model.yaml:2: reaction 'r': stoichiometry 0.5 of 'B' is not a whole number of "
        "molecules");
}

/* Laws of time stand at the middle of steps, which may be above 0 in empty sites or not; the
 * next-subvolume method, which has no steps, refuses them. */
static void laws_of_time_are_at_the_middle_of_steps(void **state)
{
    static const struct {
        const char *law;
        saltus_lattice_drift drift;
    } cases[] = {{"A*(1 + A)", SALTUS_STANDS},
                 {"A*(1 + sin(time))", SALTUS_DRIFTS_FILLED},
                 {"2*u*A^2/(1 + A) - A*exp(-time)", SALTUS_DRIFTS_FILLED},
                 {"v*3", SALTUS_DRIFTS_FILLED},
                 {"k*A", SALTUS_DRIFTS_FILLED},
                 {"1 + w", SALTUS_DRIFTS_EMPTY},
                 {"if(time > 3, 1, 2)", SALTUS_DRIFTS_EMPTY},
                 {"A + u", SALTUS_DRIFTS_EMPTY},
                 {"u*A^0", SALTUS_DRIFTS_EMPTY}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400];
        saltus_error err = {0};
        saltus_backend *backend = NULL;
        saltus_plan *plan = NULL;
        saltus_plan_options nsm = saltus_plan_options_default();
        (void)snprintf(text, sizeof text,
                       "species: {A: 1}\nrules: {u: cos(time), v: u*A, w: k^2}\n"
                       "parameters: {u: {observable: false}, v: {observable: false}, k: 1}\n"
                       "rate rules: {k: w - 2*k*u}\n"
                       "reactions: {r: {equation: A -> 0, law: '%s'}}\n"
                       "lattice: {size: [2, 2, 2], spacing: 1 m, step: 1, diffusion: {A: 0}}\n",
                       cases[i].law);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        const bool stands = cases[i].drift == SALTUS_STANDS;
        assert_int_equal(m->network->lattice->drifts[0], cases[i].drift);
        assert_int_equal(m->network->law_forms[0],
                         stands ? SALTUS_LAW_FORM_EXPRESSION : SALTUS_LAW_FORM_STEPPED);
        assert_int_equal(m->network->tables.n_flags, 0);
        assert_int_equal(m->network->tables.n_thinned, 0);
        nsm.method = "nsm";
        assert_int_equal(saltus_backend_open("cpu", &backend, &err), SALTUS_OK);
        assert_int_equal(saltus_plan_create(m, backend, &nsm, &plan, &err),
                         stands ? SALTUS_OK : SALTUS_E_UNSUPPORTED);
        assert_true(stands || strstr(err.message, "the law of reaction 'r' drifts with time"));
        saltus_plan_destroy(plan);
        saltus_backend_close(backend);
        saltus_model_destroy(m);
    }
}

/* In all sites alike are parameters alone, and what their rates read. */
static void rate_rules_are_the_same_in_all_sites(void **state)
{
    static const char *const cases[][2] = {
        {"rate rules: {A: 1}\nreactions: {r: B -> 0 @ 1}\n",
         "species 'A' has a rate rule, which in a model with a lattice parameters alone can have: "
         "it would be another in every site"},
        {"rate rules: {k: 2*k - A}\nreactions: {r: B -> 0 @ k*B}\n",
         "parameter 'k': its rate reads 'A', of which every site of the lattice has its own "
         "number"},
        {"rules: {u: 2*B, v: u + 1}\nrate rules: {k: v}\nreactions: {r: B -> 0 @ k*B}\n",
         "parameter 'k': its rate reads 'B', of which every site of the lattice has its own "
         "number"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[500], says[300];
        (void)snprintf(text, sizeof text,
                       "species: {A: 1, B: 1}\nparameters: {k: 1}\n%s"
                       "lattice: {size: [2, 2, 2], spacing: 1 m, step: 1, diffusion: "
                       "{A: 0, B: 0}}\n",
                       cases[i][0]);
        (void)snprintf(says, sizeof says, "model.yaml:%d: %s", i == 0 ? 1 : 2, cases[i][1]);
        check_not_frozen(text, SALTUS_E_UNSUPPORTED, says);
    }
}

static void well_mixed_methods_are_refused(void **state)
{
    (void)state;
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_model *m = with_sites("[4, 4, 4]", "reflecting", "");
    assert_int_equal(saltus_backend_open("cpu", &backend, &err), SALTUS_OK);
    saltus_plan_options wanted = saltus_plan_options_default();
    wanted.method = "tau";
    assert_int_equal(saltus_plan_create(m, backend, &wanted, &plan, &err), SALTUS_E_INVALID);
    assert_non_null(strstr(err.message, "a model with a lattice has auto, mpd and nsm"));
    assert_int_equal(saltus_model_write_yaml(m, stdout, NULL), SALTUS_E_UNSUPPORTED);
    saltus_backend_close(backend);
    saltus_model_destroy(m);
}

/* ---- the examples and what is said of a lattice ---- */

static saltus_model *read_example(const char *name)
{
    char path[1000];
    saltus_error err = {0};
    saltus_model *m = NULL;
    const char *source = getenv("SALTUS_SOURCE");
    (void)snprintf(path, sizeof path, "%s/examples/%s.yaml", source ? source : ".", name);
    if (saltus_model_read(path, &m, &err) != SALTUS_OK ||
        saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    return m;
}

static void examples_are_what_they_say(void **state)
{
    (void)state;
    saltus_model *m = read_example("min-system");
    const saltus_lattice *l = lattice_of(m);
    const double volume = (4.0 / 3.0 * PI * 125 + PI * 25 * 30) * 1000 / 4.096; /* in sites */
    const double cell = (double)(l->sites_of[1] + l->sites_of[2]);
    assert_int_equal(l->n_sites, 64 * 64 * 256);
    assert_true(relative(cell, volume) < 2e-3);
    assert_true(relative(l->largest_jump[0], 0.48828125) < 1e-12);
    assert_true(relative(l->rate[2 * 5 + 1], 0.78125) < 1e-12);
    assert_int_equal(l->n_scatters, 3);
    saltus_model_destroy(m);
    m = read_example("ab-equilibrium");
    assert_int_equal(lattice_of(m)->n_sites, 32768);
    saltus_model_destroy(m);
    m = read_example("abc-lattice");
    assert_true(relative(lattice_of(m)->rate[0], 1e6 / (6.02214076e23 * 4096e-27 * 1e3)) < 1e-12);
    saltus_model_destroy(m);
    m = read_example("barrier");
    assert_int_equal(lattice_of(m)->scatters[0].count, 500000);
    saltus_model_destroy(m);
}

static void info_tells_of_the_lattice(void **state)
{
    (void)state;
    static const char *const said[] = {
        "lattice of 10 x 10 x 10 sites of 1e-08 m, step 5e-05 s",
        "x- reflecting, x+ reflecting",
        "a                             500             20          0.779\n",
        "b                             500           0.01      ",
        "A                               0.5  a 10000\n",
        "B                                 0  b 5\n",
        "r                        a 1000\n",
        "the step is long for 'r' in 'a': step times propensity (2e+04 1/s) is 1, above 0.1",
    };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    saltus_model *m = freeze_text(
        "species: {A: 10000, B: 5}\n"
        "reactions: {r: A -> 0}\n"
        "lattice:\n"
        "  size: [10, 10, 10]\n"
        "  spacing: 10 nm\n"
        "  step: largest\n"
        "  sites: {a: , b: {box: {from: [0, 0, 0], to: [5 sites, 10 sites, 10 sites]}}}\n"
        "  diffusion: {A: 1 um2/s, B: 0}\n"
        "  place: {A: a, B: b}\n"
        "  reactions: {r: {a: 1000 1/s}}\n",
        SALTUS_LAW_LITERAL);
    assert_int_equal(saltus_model_print_info(m, out, NULL), SALTUS_OK);
    (void)fclose(out);
    for (size_t i = 0; i < sizeof said / sizeof *said; ++i) {
        if (!strstr(text, said[i])) {
            fail_msg("'%s' is not in\n%s", said[i], text);
        }
    }
    free(text);
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_have_their_volumes),
        cmocka_unit_test(centres_on_surfaces_do_not_hang_on_rounding),
        cmocka_unit_test(painting_is_site_by_site),
        cmocka_unit_test(work_is_shared_without_gaps),
        cmocka_unit_test(large_lattices_are_painted_whole),
        cmocka_unit_test(boxes_are_cut_by_the_lattice),
        cmocka_unit_test(later_types_are_painted_over_earlier_ones),
        cmocka_unit_test(shells_have_their_layers),
        cmocka_unit_test(shells_may_hang_together),
        cmocka_unit_test(packing_takes_its_fraction),
        cmocka_unit_test(packed_obstacles_are_whole),
#if SALTUS_WITH_TIFF
        cmocka_unit_test(images_are_types),
        cmocka_unit_test(pixels_below_zero_are_no_others),
        cmocka_unit_test(images_take_no_more_than_they_declare),
#endif
        cmocka_unit_test(pairs_of_types_have_constants),
        cmocka_unit_test(the_largest_step_has_q_one_half),
        cmocka_unit_test(constants_have_units),
        cmocka_unit_test(laws_happen_or_not),
        cmocka_unit_test(particles_are_placed),
        cmocka_unit_test(faces_are_read),
        cmocka_unit_test(mistakes_are_refused_with_their_line),
        cmocka_unit_test(laws_that_move_are_given_no_constant),
        cmocka_unit_test(what_is_set_may_not_fit),
        cmocka_unit_test(laws_of_time_are_at_the_middle_of_steps),
        cmocka_unit_test(rate_rules_are_the_same_in_all_sites),
        cmocka_unit_test(well_mixed_methods_are_refused),
        cmocka_unit_test(examples_are_what_they_say),
        cmocka_unit_test(info_tells_of_the_lattice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
