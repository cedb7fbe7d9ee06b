/* Sumiyoshi et al.: constant memory holds more reactions in compressed rows. No clock is needed. */
#include "bench/bench.h"

#include "core/status.h"
#include "bench/measure/tables.h"

enum { CONSTANT_BYTES = 65536, REACTIONS = 8 /* of a gene */, MOST = 500 /* genes */ };

/* Genes side by side, as examples/single-gene-8.yaml has one. */
static saltus_status make_genes(int n, saltus_model **out, saltus_error *err)
{
    static const struct {
        const char *equation, *rate;
    } reactions[REACTIONS] = {
        {"Idle_%d -> Active_%d", "0.1"},
        {"Active_%d -> Idle_%d", "0.3"},
        {"Active_%d -> Active_%d + R_%d", "10"},
        {"R_%d -> M_%d", "1"},
        {"R_%d -> 0", "0.25"},
        {"M_%d -> M_%d + P_%d", "2"},
        {"M_%d -> 0", "0.5"},
        {"P_%d -> 0", "0.1"},
    };
    static const char *const species[] = {"Idle", "Active", "R", "M", "P"};
    saltus_status status = SALTUS_OK;
    char id[40], equation[100];
    saltus_model *model = NULL;
    SALTUS_TRY(saltus_model_create("single gene", &model, err));
    for (int i = 0; i < n; ++i) {
        for (int s = 0; s < 5; ++s) {
            (void)snprintf(id, sizeof id, "%s_%d", species[s], i);
            SALTUS_TRY(saltus_model_add_species(model, id, s == 0, err));
        }
        for (int r = 0; r < REACTIONS; ++r) {
            (void)snprintf(id, sizeof id, "r%d_%d", r, i);
            (void)snprintf(equation, sizeof equation, reactions[r].equation, i, i, i);
            SALTUS_TRY(saltus_model_add_reaction(model, id, equation, reactions[r].rate, err));
        }
    }
    SALTUS_TRY(saltus_model_freeze(model, SALTUS_LAW_LITERAL, err));
    *out = model;
    model = NULL;
done:
    saltus_model_destroy(model);
    return status;
}

static saltus_status measure_genes(int n, saltus_table_sizes *sizes, saltus_error *err)
{
    saltus_model *model = NULL;
    saltus_status status = make_genes(n, &model, err);
    if (status == SALTUS_OK) {
        status = saltus_tables_measure(model, sizes, err);
    }
    saltus_model_destroy(model);
    return status;
}

static size_t pick(const saltus_table_sizes *s, int kind)
{
    return kind == 0 ? s->dense : kind == 1 ? s->compressed : s->packed;
}

/* The most genes whose tables of a kind fit, by halving. */
static saltus_status find_most(int kind, int *most, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int fits = 0, too_many = MOST;
    while (too_many - fits > 1) {
        const int n = (fits + too_many) / 2;
        saltus_table_sizes sizes;
        SALTUS_TRY(measure_genes(n, &sizes, err));
        if (pick(&sizes, kind) <= CONSTANT_BYTES) {
            fits = n;
        } else {
            too_many = n;
        }
    }
    *most = fits;
done:
    return status;
}

saltus_status bench_sumiyoshi_tables(bench *b, saltus_error *err)
{
    static const char *const kinds[] = {"dense", "compressed", "packed"};
    saltus_status status = SALTUS_OK;
    for (int n = 1; n <= 32; n *= 2) {
        saltus_table_sizes s;
        SALTUS_TRY(measure_genes(n, &s, err));
        bench_put(b, FIELD("reactions", REACTIONS * n), FIELD("dense_bytes", s.dense),
                  FIELD("compressed_bytes", s.compressed), FIELD("packed_bytes", s.packed));
        bench_end(b);
    }
    for (int kind = 0; kind < 3; ++kind) {
        int genes;
        SALTUS_TRY(find_most(kind, &genes, err));
        bench_put(b, FIELD("tables", kinds[kind]), FIELD("bytes", CONSTANT_BYTES),
                  FIELD("most_reactions", REACTIONS * genes));
        bench_end(b);
    }
done:
    return status;
}
