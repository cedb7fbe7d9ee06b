/* Lattices that are larger than 2^32 sites, as far as that needs no GPU: which sites particles come
 * to, notes of trouble, and how many slabs there must be. */
#include "backend/cuda/slabs/slabs.h"
#include "core/memory.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/moments.h"

static const int64_t beyond = INT64_C(3) << 32; /* a site */

/* A lattice of three types, of which one comes in long rows and one seldom. */
enum { SIZE = 130, N_SITES = SIZE * SIZE * SIZE, PLANE = SIZE * SIZE };

static saltus_lattice three_types(uint8_t *types, int64_t *sites_of)
{
    uint32_t random = 7;
    for (int i = 0; i < N_SITES; ++i) {
        random = random * 1664525u + 1013904223u;
        types[i] = random >> 20 == 5 ? 2 : i / 5000 % 2 == 0 ? 0 : (uint8_t)(random >> 31);
        ++sites_of[types[i]];
    }
    return (saltus_lattice){.size = {SIZE, SIZE, SIZE},
                            .n_sites = N_SITES,
                            .n_types = 3,
                            .types = types,
                            .sites_of = sites_of};
}

/* Those sites of a slab that a set has, and no others, by number, against a list. */
static void check_slab(const saltus_lattice *l, const saltus_mpd_set *set, int64_t first, int64_t n,
                       uint32_t here, const int64_t *list)
{
    const int64_t n_ranks = (n + SALTUS_MPD_SEGMENT - 1) / SALTUS_MPD_SEGMENT;
    uint32_t *ranks = calloc((size_t)n_ranks, sizeof *ranks);
    const saltus_mpd m = {.n_types = 3, .types = l->types + first - here};
    saltus_mpd_sites s = {.n = set->n,
                          .below = saltus_mpd_set_below(l, set, first),
                          .ranks = ranks,
                          .n_ranks = n_ranks,
                          .in = set->in,
                          .first = here};
    s.here = saltus_mpd_set_below(l, set, first + n) - s.below;
    saltus_mpd_set_ranks(l, set, first, n, ranks);
    int64_t n_here = 0;
    for (int64_t k = 0; k < set->n; ++k) {
        const bool is_here = list[k] >= first && list[k] < first + n;
        const uint32_t site = saltus_mpd_site_of(&m, &s, k);
        assert_true(site == (is_here ? (uint32_t)(list[k] - first + here) : SALTUS_NOWHERE));
        n_here += is_here;
    }
    assert_int_equal(n_here, s.here);
    free(ranks);
}

static void slabs_find_the_sites_of_a_number(void **state)
{
    static const bool in[][3] = {
        {false, true, false}, {true, false, true}, {false, false, true}, {true, true, true}};
    static const int ends[] = {0, 1, 50, 51, 129, SIZE}; /* planes */
    (void)state;
    uint8_t *types = calloc(N_SITES, 1);
    int64_t sites_of[3] = {0}, *list = calloc(N_SITES, sizeof *list);
    const saltus_lattice l = three_types(types, sites_of);
    for (int i = 0; i < 3; ++i) {
        saltus_error err = {0};
        saltus_lattice with = l;
        const saltus_scatter scatters[] = {{0, 1, in[i]}, {1, 1, in[3]}, {2, 1, in[i]}};
        with.scatters = scatters;
        with.n_scatters = 3;
        saltus_mpd_tables t = {.lattice = &with};
        OK(saltus_mpd_find_sets(&t, &err));
        assert_int_equal(t.n_sets, 2);
        assert_int_equal(t.set_of_scatter[2], t.set_of_scatter[0]);
        assert_null(t.sets[1].below); /* all sites */
        assert_int_equal(saltus_mpd_set_below(&l, &t.sets[1], 12345), 12345);
        int64_t n = 0;
        for (int64_t site = 0; site < N_SITES; ++site) {
            if (in[i][types[site]]) {
                list[n++] = site;
            }
        }
        assert_int_equal(t.sets[0].n, n);
        for (int k = 0; k < 5; ++k) {
            check_slab(&l, &t.sets[0], (int64_t)ends[k] * PLANE,
                       (int64_t)(ends[k + 1] - ends[k]) * PLANE, 300 + 7 * (uint32_t)k, list);
        }
        saltus_mpd_sets_free(&t);
    }
    free(list);
    free(types);
}

/* Where all sites are meant, and the lattice is large: numbers of 64 bits. */
static void numbers_are_wide(void **state)
{
    (void)state;
    const saltus_mpd m = {.n_types = 1};
    const saltus_mpd_sites s = {.n = beyond + 1000, .below = beyond, .here = 600, .first = 44};
    assert_int_equal(saltus_mpd_site_of(&m, &s, beyond), 44);
    assert_int_equal(saltus_mpd_site_of(&m, &s, beyond + 599), 643);
    assert_int_equal(saltus_mpd_site_of(&m, &s, beyond + 600), SALTUS_NOWHERE);
    assert_int_equal(saltus_mpd_site_of(&m, &s, beyond - 1), SALTUS_NOWHERE);
    assert_int_equal(saltus_mpd_site_of(&m, &s, 5), SALTUS_NOWHERE);
}

/* Phases first, then sites of the lattice, then reactions, wherever slabs begin. */
static void the_first_trouble_is_told(void **state)
{
    (void)state;
    uint64_t note = UINT64_MAX;
    const saltus_mpd m = {.first_step = 100, .failure = &note};
    saltus_mpd_note(&m, 103, 4000000000u, 9);
    saltus_mpd_note(&m, 103, 4000000000u, 8);
    saltus_mpd_note(&m, 104, 1, 1);
    const saltus_mpd_failure high = saltus_mpd_failure_of(note, beyond),
                             low = saltus_mpd_failure_of(note, 5),
                             none = saltus_mpd_failure_of(UINT64_MAX, beyond);
    assert_true(high.is_any && !none.is_any);
    assert_int_equal(high.phase, 3);
    assert_int_equal(high.reaction, 8);
    assert_true(high.site == beyond + 4000000000);
    note = UINT64_MAX;
    saltus_mpd_note(&m, 103, 4000000000u, 7);
    const saltus_mpd_failure lower = saltus_mpd_failure_of(note, beyond);
    note = UINT64_MAX;
    saltus_mpd_note(&m, 102, 4000000001u, 9);
    const saltus_mpd_failure earlier = saltus_mpd_failure_of(note, beyond);
    assert_true(saltus_mpd_first_failure(high, low).site == low.site);
    assert_true(saltus_mpd_first_failure(low, high).site == low.site);
    assert_true(saltus_mpd_first_failure(none, high).site == high.site);
    assert_true(saltus_mpd_first_failure(high, none).site == high.site);
    assert_int_equal(saltus_mpd_first_failure(high, lower).reaction, 7);
    assert_int_equal(saltus_mpd_first_failure(earlier, low).phase, 2);
    assert_false(saltus_mpd_first_failure(none, none).is_any);
}

/* ------------------------------------------------------------------------------------------------
 * How many slabs: on GPUs that only have so much memory
 */

static size_t memory;

static cu_result use(cu_context context)
{
    (void)context;
    return CU_SUCCESS;
}
static cu_result tell_total(size_t *bytes, cu_device device)
{
    (void)device;
    *bytes = memory;
    return CU_SUCCESS;
}
static cu_result tell(size_t *available, size_t *total)
{
    *available = *total = memory;
    return CU_SUCCESS;
}
/* All links are alike. */
static cu_result reaches(int *can, cu_device from, cu_device to)
{
    (void)from, (void)to;
    *can = 0;
    return CU_SUCCESS;
}
static const saltus_driver driver = {
    .context_use = use, .device_memory = tell_total, .memory_info = tell, .peers_can = reaches};

static saltus_lattice box(int x, int y, int z)
{
    return (saltus_lattice){
        .size = {x, y, z}, .n_sites = (int64_t)x * y * z, .n_types = 1, .n_species = 2};
}

/* So many, of which so many are here and play the others. */
static saltus_gpus gpus_of(int n, int here)
{
    saltus_gpus gpus = {.cu = &driver, .n = n};
    for (int i = 0; i < n; ++i) {
        gpus.gpu[i].device = i % here;
    }
    return gpus;
}

static void as_many_slabs_as_fit_are_taken(void **state)
{
    static const struct {
        int size[3], n_gpus, here;
        double gb; /* of each */
        int n;
    } cases[] = {
        {{64, 64, 64}, 1, 1, 100, 1},        /* one is soonest done */
        {{2048, 2048, 1020}, 1, 1, 100, 1},  /* 2^32 - 2^24 */
        {{2048, 2048, 1021}, 1, 1, 100, 2},  /* and more */
        {{2048, 2048, 1040}, 2, 2, 100, 2},  /* a byte in each of three sets */
        {{2048, 2048, 4096}, 4, 4, 30, 8},   /* with margins four have no numbers: two each */
        {{2048, 2048, 4096}, 8, 8, 30, 8},   /* all of them are sooner done than five */
        {{1024, 1024, 256}, 4, 4, 0.3, 4},   /* one would be too large */
        {{1024, 1024, 256}, 4, 2, 0.6, 4},   /* two on each */
        {{1024, 1024, 256}, 4, 2, 0.4, 4},   /* which has no room: then setting up says so, */
        {{65536, 65536, 4}, 4, 4, 10000, 4}, /* as where no number would do */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const int *size = cases[i].size;
        const saltus_lattice l = box(size[0], size[1], size[2]);
        const saltus_gpus gpus = gpus_of(cases[i].n_gpus, cases[i].here);
        memory = (size_t)(1e9 * cases[i].gb);
        const int n = saltus_cuda_choose_slabs(&gpus, &l);
        if (n != cases[i].n) {
            fail_msg("%d x %d x %d on %d: %d slabs", size[0], size[1], size[2], gpus.n, n);
        }
    }
}

static void what_has_no_room_is_refused(void **state)
{
    static const double equal[] = {1.0, 1.0}, unequal[] = {3.0, 1.0};
    static const int order[] = {1, 0};
    static const struct {
        int size[3];
        const double *heights;
        double gb;
        saltus_status status;
        int here;
        const char *message;
    } cases[] = {
        {{2048, 2048, 1040}, equal, 14, SALTUS_OK, 2, ""},
        {{2048, 2048, 1040}, equal, 14, SALTUS_OK, 1, ""},
        {{2048, 2048, 1040},
         equal,
         6,
         SALTUS_E_NO_MEMORY,
         2,
         "GPU 3 (played) has 6.000 GB of memory left, and 2181038080 sites of 4362076160, in 1 of "
         "2 "
         "slabs, need 6.568 GB: take more GPUs, or other heights (`split`)"},
        {{2048, 2048, 1040},
         equal,
         12,
         SALTUS_E_NO_MEMORY,
         1,
         "GPU 3 (played) has 12.000 GB of memory left, and 4362076160 sites of 4362076160, in 2 of "
         "2 "
         "slabs, need 13.137 GB: take more GPUs, or other heights (`split`)"},
        {{2048, 2048, 1040},
         unequal,
         8,
         SALTUS_E_NO_MEMORY,
         2,
         "GPU 3 (played) has 8.000 GB of memory left, and 3271557120 sites of 4362076160, in 1 of "
         "2 "
         "slabs, need 9.840 GB: take more GPUs, or other heights (`split`)"},
        {{2048, 2048, 4096},
         equal,
         100,
         SALTUS_E_UNSUPPORTED,
         2,
         "slab 1 of 2 has 2048 planes of 4194304 sites: with one on each side it has more than "
         "2^32, which are numbered; 5 slabs of equal height would do"},
        {{65536, 65536, 4},
         equal,
         100,
         SALTUS_E_UNSUPPORTED,
         2,
         "a plane of 4294967296 sites: a slab of one, with one on each side, has more than 2^32 "
         "sites, which are numbered; let z be the longest axis"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const int *size = cases[i].size;
        const saltus_lattice l = box(size[0], size[1], size[2]);
        saltus_gpus gpus = gpus_of(2, cases[i].here);
        const saltus_task task = {.slabs = cases[i].heights, .n_slabs = 2};
        const saltus_gpu_lattice start = {.gpus = &gpus,
                                          .cu = &driver,
                                          .task = &task,
                                          .tables = {.lattice = &l, .m = {.n_species = 3}}};
        saltus_error err = {0};
        gpus.gpu[1].ordinal = 3; /* the first in order */
        (void)snprintf(gpus.gpu[1].name, sizeof gpus.gpu[1].name, "played");
        memory = (size_t)(1e9 * cases[i].gb);
        const saltus_gpu_slabs slabs = {.n = 2, .end = 2, .unit = 1};
        assert_int_equal(saltus_gpu_slabs_check(&slabs, &start, order, &err), cases[i].status);
        assert_string_equal(err.message, cases[i].message);
    }
}

/* Read, frozen and its tables made: nothing is as long as the lattice. */
static void a_large_lattice_takes_no_memory(void **state)
{
    static const char text[] =
        "species: {A: 1000000, B: 0}\nreactions: {go: A -> B @ 1, come: 0 -> A @ 1e-9}\nlattice:\n"
        "  size: [4096, 4096, 16384]\n  spacing: 1 m\n  step: 0.1 s\n"
        "  faces: {x: periodic, y: periodic, z-: {A: 1}, z+: absorbing}\n"
        "  diffusion: {A: 1 m2/s, B: 0}\n";
    saltus_error err = {0};
    saltus_model *model = NULL;
    saltus_mpd_tables t = {0};
    (void)state;
    OK(saltus_model_parse_yaml(text, sizeof text - 1, "m", &model, &err));
    OK(saltus_model_freeze(model, SALTUS_LAW_LITERAL, &err));
    const saltus_lattice *l = model->network->lattice;
    assert_null(l->types);
    assert_true(l->sites_of[0] == INT64_C(1) << 38);
    assert_int_equal(saltus_mpd_tables_create(model, false, &t, &err), SALTUS_E_UNSUPPORTED);
    assert_string_equal(err.message,
                        "274877906944 sites: a lattice that is whole has at most 2^32 - 2^24; GPUs "
                        "take more of them in slabs (`split auto`)");
    saltus_mpd_tables_free(&t);
    err = (saltus_error){0};
    OK(saltus_mpd_tables_create(model, true, &t, &err));
    OK(saltus_mpd_find_sets(&t, &err));
    assert_int_equal(t.m.n_sources, 2);
    assert_true(t.sources[0].sites.n == l->n_sites);
    assert_int_equal(t.sources[1].sites.n, 4096 * 4096);
    assert_null(t.sources[1].sites.list);
    assert_int_equal(t.set_of_source[0], 0); /* that of the scattered */
    assert_int_equal(t.set_of_source[1], -1);
    saltus_mpd_tables_free(&t);
    saltus_model_destroy(model);
}

/* Parts of a face, one after the other, are the face. */
static void sites_at_faces_are_found_slab_by_slab(void **state)
{
    (void)state;
    uint8_t *types = calloc(N_SITES, 1);
    int64_t sites_of[3] = {0};
    const saltus_lattice l = three_types(types, sites_of);
    static const int64_t all[] = {0, SIZE}, parts[][2] = {{0, 1}, {1, 77}, {77, 129}, {129, SIZE}};
    for (int face = -1; face < SALTUS_N_FACES; ++face) {
        const int64_t n = saltus_mpd_sites_at(&l, face, 1, all, 0, NULL);
        uint32_t *whole = calloc((size_t)n, sizeof *whole), *part = calloc((size_t)n, sizeof *part);
        int64_t at = 0;
        assert_true(n > 0);
        assert_int_equal(saltus_mpd_sites_at(&l, face, 1, all, 0, whole), n);
        for (int i = 0; i < 4; ++i) {
            const int64_t zero = 500 * i,
                          more = saltus_mpd_sites_at(&l, face, 1, parts[i], zero, part);
            for (int64_t k = 0; k < more; ++k) {
                assert_true(part[k] + zero == whole[at + k]);
            }
            at += more;
        }
        assert_int_equal(at, n);
        free(whole);
        free(part);
    }
    free(types);
}

/* ------------------------------------------------------------------------------------------------
 * Two ways to share out sites
 */

/* Batches that take so long in either way; how many of them went the other one. */
static int go(saltus_gpu_schedule *ways, bool *is_spread, int n, double in_rows, double spread)
{
    int n_spread = 0;
    for (int i = 0; i < n; ++i) {
        n_spread += *is_spread;
        if (saltus_gpu_schedule_learn(ways, true, 256 * (*is_spread ? spread : in_rows), 256)) {
            *is_spread = !*is_spread;
        }
    }
    return n_spread;
}

static void the_faster_way_is_found(void **state)
{
    (void)state;
    saltus_gpu_schedule ways = {0};
    bool is_spread = false;
    assert_int_equal(go(&ways, &is_spread, 150, 1.0, 2.0), 8); /* after 1, 1, 2, 4 ... 64 */
    assert_false(is_spread);
    assert_true(go(&ways, &is_spread, 200, 2.0, 1.0) > 130); /* found at the next try */
    assert_true(is_spread);
    go(&ways, &is_spread, 200, 1.0, 1.01); /* alike: it stays */
    assert_true(go(&ways, &is_spread, 200, 1.0, 1.01) > 190);
    assert_true(go(&ways, &is_spread, 200, 1.0, 1.1) < 100);
    assert_false(go(&ways, &is_spread, 1, 1.0, 1.1));
    ways = (saltus_gpu_schedule){0};
    for (int i = 0; i < 63; ++i) { /* too few phases to tell */
        assert_false(saltus_gpu_schedule_learn(&ways, true, 1.0, 1));
    }
    assert_true(saltus_gpu_schedule_learn(&ways, true, 1.0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slabs_find_the_sites_of_a_number),
        cmocka_unit_test(numbers_are_wide),
        cmocka_unit_test(the_first_trouble_is_told),
        cmocka_unit_test(as_many_slabs_as_fit_are_taken),
        cmocka_unit_test(what_has_no_room_is_refused),
        cmocka_unit_test(a_large_lattice_takes_no_memory),
        cmocka_unit_test(sites_at_faces_are_found_slab_by_slab),
        cmocka_unit_test(the_faster_way_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
