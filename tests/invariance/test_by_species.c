/* Lists by species, which large networks have, give the bits of lists by reaction; a network of
 * 20,000 and one of 40,000 reactions is read as it was written. */
#include "../support/bits.h"
#include "../support/random.h"

#include "model/network/network.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void list_by_species(saltus_model *m)
{
    saltus_error err = {0};
    assert_false(m->network->tables.by_species);
    saltus_model_thaw(m);
    m->most_lists = 0;
    assert_int_equal(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    assert_int_equal(m->network->tables.by_species, m->network->tables.n_thinned == 0);
}

static uint64_t hash_of(saltus_model *m, const char *method)
{
    static const double times[] = {0.0, 0.3, 1.0, 2.0};
    const saltus_plan_options plan =
        bits_plan(method, "philox", strcmp(method, "hybrid") == 0 ? "auto" : "scalar", 1);
    return bits_hash_plan(m, "cpu", &plan, 0, 4, times, sizeof times / sizeof *times);
}

static void bits_are_those_of_lists_by_reaction(void **state)
{
    (void)state;
    static const char *const methods[] = {"direct", "tau", "hybrid"};
    int n_compared = 0;
    for (int i = 0; i < 6; ++i) {
        for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
            saltus_model *m = i < 3   ? bits_random(20 + 150 * i, i == 1, 7 + (uint64_t)i)
                              : i < 4 ? bits_copies(40)
                                      : bits_motifs(60, 6, 20, (uint64_t)i);
            if (m->network->tables.n_thinned == 0) {
                const uint64_t expected = hash_of(m, methods[k]);
                list_by_species(m);
                assert_int_equal(hash_of(m, methods[k]), expected);
                ++n_compared;
            }
            saltus_model_destroy(m);
        }
    }
    assert_true(n_compared >= 15);
}

/* A ligand binds to n receptors, which let it go: n^2 reactions depend on each other, or, without
 * the ligand, n. */
static void what_most_reactions_change_is_listed_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; ++i) {
        const int n = i == 0 ? 600 : 4500;
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        fprintf(out, "species: {L: 1000");
        for (int k = 0; k < n; ++k) {
            fprintf(out, ", R%d: %d, C%d: 0", k, k % 3, k);
        }
        fprintf(out, "}\nreactions:\n");
        for (int k = 0; k < n; ++k) {
            const char *ligand = i < 2 ? " + L" : "";
            fprintf(out, "  b%d: R%d%s -> C%d @ 1e-3\n  u%d: C%d -> R%d%s @ 1\n", k, k, ligand, k,
                    k, k, k, ligand);
        }
        saltus_model *m = bits_parse_stream(out, &text);
        assert_int_equal(m->network->tables.by_species, i == 1);
        if (i == 0) {
            const uint64_t expected = hash_of(m, "direct");
            list_by_species(m);
            assert_int_equal(hash_of(m, "direct"), expected);
        }
        saltus_model_destroy(m);
    }
}

enum { N_CONSTANTS = 9, N_SPECIES = 1500 };

/* A + B -> C + D, A + A -> B, A -> B + C or A -> 0: species from 0, of which `n` are there. */
typedef struct listed {
    int n[2], species[2][2], constant;
} listed;

static listed make_reaction(uint64_t *random, int n_species)
{
    static const int sizes[4][2] = {{2, 2}, {2, 1}, {1, 2}, {1, 0}};
    listed x;
    const int kind = below(random, 4);
    memcpy(x.n, sizes[kind], sizeof x.n);
    for (int i = 0; i < 4; ++i) {
        x.species[i / 2][i % 2] = below(random, n_species);
    }
    x.species[0][1] = kind == 1 ? x.species[0][0] : x.species[0][1];
    x.constant = below(random, N_CONSTANTS);
    return x;
}

/* A species that nothing reads has `idle` molecules. */
static saltus_model *write_and_read(int n, int n_species, int64_t idle, listed *list)
{
    char *text = NULL;
    size_t size = 0;
    uint64_t random = 11;
    saltus_model *m = NULL;
    saltus_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    (void)fputs("begin parameters\n", out);
    for (int k = 0; k < N_CONSTANTS; ++k) {
        (void)fprintf(out, "%d k%d 0.%d\n", k + 1, k, k + 1);
    }
    (void)fputs("end parameters\nbegin species\n", out);
    for (int s = 0; s < n_species; ++s) {
        (void)fprintf(out, "%d S(a~%d) %d\n", s + 1, s, s % 10);
    }
    (void)fprintf(out, "%d Idle() %" PRId64 "\n", n_species + 1, idle);
    (void)fputs("end species\nbegin reactions\n", out);
    for (int r = 0; r < n; ++r) {
        const listed *x = &list[r];
        list[r] = make_reaction(&random, n_species);
        (void)fprintf(out, "%d", r + 1);
        for (int side = 0; side < 2; ++side) {
            (void)fprintf(out, " %d", x->n[side] ? x->species[side][0] + 1 : 0);
            if (x->n[side] == 2) {
                (void)fprintf(out, ",%d", x->species[side][1] + 1);
            }
        }
        (void)fprintf(out, " k%d #_R\n", x->constant);
    }
    (void)fputs("end reactions\n", out);
    assert_int_equal(fclose(out), 0);
    if (saltus_model_parse_net(text, size, "large.net", &m, &err) != SALTUS_OK ||
        saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    free(text);
    return m;
}

/* What the table of changes must say of a species. */
static int change_of(const listed *x, int species)
{
    int n = 0;
    for (int side = 0; side < 2; ++side) {
        for (int i = 0; i < x->n[side]; ++i) {
            n += x->species[side][i] == species ? 2 * side - 1 : 0;
        }
    }
    return n;
}

static void check_reaction(const saltus_model *m, const listed *x, int r)
{
    const saltus_tables *t = &m->network->tables;
    char id[20];
    int n_changes = 0;
    (void)snprintf(id, sizeof id, "r%d", r + 1);
    assert_string_equal(saltus_network_reaction(m->network, r), id);
    assert_true(t->rate[r] == (x->constant + 1) / 10.0);
    assert_int_equal(t->factor_row[r + 1] - t->factor_row[r], x->n[0]);
    for (int i = 0; i < x->n[0]; ++i) {
        const int f = t->factor_row[r] + i;
        assert_int_equal(t->factor_species[f], x->species[0][i]);
        assert_true(t->factor_offset[f] == (i == 1 && x->species[0][0] == x->species[0][1]));
    }
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        assert_int_equal(t->change_amount[c], change_of(x, t->change_species[c]));
    }
    for (int i = 0; i < 4; ++i) { /* each species once */
        bool is_first = i % 2 < x->n[i / 2];
        for (int k = 0; k < i; ++k) {
            is_first &=
                k % 2 >= x->n[k / 2] || x->species[k / 2][k % 2] != x->species[i / 2][i % 2];
        }
        n_changes += is_first && change_of(x, x->species[i / 2][i % 2]) != 0;
    }
    assert_int_equal(t->change_row[r + 1] - t->change_row[r], n_changes);
}

static void check_network(int n)
{
    listed *list = calloc((size_t)n, sizeof *list);
    assert_non_null(list);
    saltus_model *m = write_and_read(n, N_SPECIES, 0, list);
    const saltus_tables *t = &m->network->tables;
    int64_t n_listed = 0, n_read = 0;
    assert_int_equal(t->n_reactions, n);
    assert_int_equal(t->n_species, N_SPECIES + 1);
    for (int s = 0; s < N_SPECIES; ++s) {
        char id[20];
        (void)snprintf(id, sizeof id, "S(a~%d)", s);
        assert_string_equal(m->network->species_names[s], id);
        assert_int_equal(t->initial_counts[s], s % 10);
    }
    for (int r = 0; r < n; ++r) {
        check_reaction(m, &list[r], r);
        n_read +=
            list[r].n[0] - (list[r].n[0] == 2 && list[r].species[0][0] == list[r].species[0][1]);
    }
    assert_int_equal(t->by_species, n > SALTUS_MOST_LISTS);
    assert_int_equal(t->n_lists, n > SALTUS_MOST_LISTS ? N_SPECIES + 1 : n);
    for (int s = 0; s < t->n_lists && t->by_species; ++s) {
        for (int i = t->dependent_row[s]; i < t->dependent_row[s + 1]; ++i) {
            const listed *x = &list[t->dependent[i]];
            assert_true(x->species[0][0] == s || (x->n[0] == 2 && x->species[0][1] == s));
            n_listed += i == t->dependent_row[s] || t->dependent[i] != t->dependent[i - 1];
        }
    }
    assert_int_equal(n_listed, t->by_species ? n_read : 0);
    saltus_model_destroy(m);
    free(list);
}

/* Lists that are longer than what climbs the tree together, in a tree of four levels, because no
 * bounds stand around a count so large. */
static void bits_of_large_trees_are_those_of_lists_by_reaction(void **state)
{
    (void)state;
    enum { N = 6000 };
    static const char *const methods[] = {"direct", "tau"};
    static listed list[N];
    for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
        saltus_model *m = write_and_read(N, 200, (int64_t)1 << 49, list);
        const saltus_tables *t = &m->network->tables;
        assert_true(t->n_hubs == 0 && t->n_levels >= 4 && t->level_nodes[1] > 32);
        const uint64_t expected = hash_of(m, methods[k]);
        list_by_species(m);
        assert_true(m->network->tables.dependent_row[1] > 32);
        assert_int_equal(hash_of(m, methods[k]), expected);
        saltus_model_destroy(m);
    }
}

static void large_networks_are_read(void **state)
{
    (void)state;
    check_network(20000);
    check_network(40000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_lists_by_reaction),
        cmocka_unit_test(what_most_reactions_change_is_listed_once),
        cmocka_unit_test(bits_of_large_trees_are_those_of_lists_by_reaction),
        cmocka_unit_test(large_networks_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
