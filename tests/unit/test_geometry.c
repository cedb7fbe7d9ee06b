/* Sites of a lattice: shapes against exact volumes and site by site, packing, images. */
#include "frozen.h"

#include "core/limits.h"
#include "core/parallel.h"
#include "model/lattice/geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#if SALTUS_WITH_TIFF
#include "read/image.h"

#include <tiffio.h>
#endif

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
    const double ball = 4.0 / 3.0 * M_PI * 20 * 20 * 20, sphere = 4.0 * M_PI * 20 * 20;
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
                 ball + M_PI * 20 * 20 * 40, sphere + 2 * M_PI * 20 * 40);
    check_volume("cylinder: {from: [32 sites, 30 sites, 30 sites], to: [32 sites, 30 sites, 70 "
                 "sites], radius: 20 sites}",
                 M_PI * 20 * 20 * 40, 2 * M_PI * 20 * 40);
    check_volume("cylinder: {from: [20 sites, 20 sites, 40 sites], to: [40 sites, 40 sites, 60 "
                 "sites], radius: 15 sites}",
                 M_PI * 15 * 15 * sqrt(1200.0), 2 * M_PI * 15 * (sqrt(1200.0) + 15));
    check_volume("union: [{box: {from: [0, 0, 0], to: [10 sites, 10 sites, 10 sites]}}, "
                 "{box: {from: [5 sites, 0, 0], to: [20 sites, 10 sites, 10 sites]}}]",
                 2000.0, 0.0);
    check_volume("difference: [{box: {from: [0, 0, 0], to: [10 sites, 10 sites, 10 sites]}}, "
                 "{sphere: {centre: [0, 0, 0], radius: 5 sites}}, {box: {from: [9 sites, 0, 0], "
                 "to: [99 sites, 99 sites, "
                 "99 sites]}}]",
                 900.0 - M_PI * 125.0 / 6.0, 40.0);
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

/* Obstacles that do not overlap and do not touch the ground: whole ones; also pillars from a
 * periodic face to the other. */
static void packed_obstacles_are_whole(void **state)
{
    static const struct {
        const char *faces;
        int height, n;
    } cases[] = {{"reflecting", 4, 16000}, {"periodic", 4, 16000}, {"periodic", 40, 16000}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char types[200];
        (void)snprintf(
            types, sizeof types,
            "    stone:\n      pack: {in: all, box: {size: [4 sites, 4 sites, %d sites]}, "
            "fraction: 0.25, seed: 3}\n",
            cases[i].height);
        saltus_model *m = with_sites("[40, 40, 40]", cases[i].faces, types);
        assert_int_equal(lattice_of(m)->sites_of[1], cases[i].n);
        saltus_model_destroy(m);
    }
}

/* Behind periodic faces they go on, so that they are as often there as elsewhere: of one obstacle
 * in each of many boxes, the sites in planes along x, which is periodic, and along y, which is
 * not. */
static void packed_obstacles_go_on_behind_periodic_faces(void **state)
{
    enum { SIZE = 12, BOXES = 600 };
    int64_t along_x[SIZE] = {0}, along_y[SIZE] = {0}, along_z[SIZE] = {0}, all = 0;
    (void)state;
    for (int seed = 0; seed < BOXES; ++seed) {
        char types[200];
        (void)snprintf(
            types, sizeof types,
            "    stone:\n      pack: {in: all, box: {size: [4 sites, 4 sites, 4 sites]}, "
            "fraction: 0.01, seed: %d}\n",
            seed);
        saltus_model *m =
            with_sites("[12, 12, 12]", "{x: periodic, y: reflecting, z: periodic}", types);
        const saltus_lattice *l = lattice_of(m);
        assert_int_equal(l->sites_of[1], 64);
        for (int64_t i = 0; i < l->n_sites; ++i) {
            along_x[i % SIZE] += l->types[i];
            along_y[i / SIZE % SIZE] += l->types[i];
            along_z[i / SIZE / SIZE] += l->types[i];
            all += l->types[i];
        }
        saltus_model_destroy(m);
    }
    const double mean = (double)all / SIZE; /* an obstacle is in a plane, with 16 sites, */
    const double deviation = 16.0 * sqrt(BOXES * (1.0 / 3.0) * (2.0 / 3.0)); /* or it is not */
    for (int i = 0; i < SIZE; ++i) {
        assert_true(fabs((double)along_x[i] - mean) < 5.0 * deviation);
        assert_true(fabs((double)along_z[i] - mean) < 5.0 * deviation);
    }
    assert_true((double)along_y[0] < 0.5 * mean && (double)along_y[SIZE - 1] < 0.5 * mean);
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
        cmocka_unit_test(packed_obstacles_go_on_behind_periodic_faces),
#if SALTUS_WITH_TIFF
        cmocka_unit_test(images_are_types),
        cmocka_unit_test(pixels_below_zero_are_no_others),
        cmocka_unit_test(images_take_no_more_than_they_declare),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
