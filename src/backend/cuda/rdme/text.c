/* The kernels of a model's lattice: kernel/rdme/phases.h, or kernel/rdme/sites.h and
 * kernel/rdme/fill.h, with the model's sizes and, unless they are long, its tables in the text,
 * because constants are near for a GPU and memory is far. */
#include "backend/cuda/rdme/rdme.h"
#include "core/status.h"
#include "kernel/rdme/phases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LEAST_BLOCKS = 6,   /* blocks of a multiprocessor at the same time, which limits registers */
    MOST_ROWS = 1024,   /* rows of a site's counts and laws in a thread's memory, at most */
    MOST_IN_ORDER = 16, /* reactions, at most, whose code is unrolled */
    MOST_CONSTANTS =
        32768, /* bytes of tables in constant memory, at most; half of what a GPU has */
    LINE = 16  /* numbers in a line of text */
};

static void put_int(FILE *out, int64_t x)
{
    fprintf(out, "%" PRId64, x);
}

/* An array of the model as text; there is one entry at least. */
#define PUT(type, name, array, n)                                                            \
    fprintf(out, "SALTUS_CONSTANT %s saltus_table_%s[] = {", #type, #name);                  \
    for (int64_t at = 0; at < (n); ++at) {                                                   \
        fputs(at % LINE == 0 ? "\n" : " ", out);                                             \
        _Generic(*(array), double : saltus_put_number, default : put_int)(out, (array)[at]); \
        fputc(',', out);                                                                     \
    }                                                                                        \
    fputs((n) > 0 ? "};\n" : "0};\n", out);

#define BYTES_OF_NETWORK(type, name, n) bytes += (int64_t)sizeof(type) * (n);
#define BYTES_OF_LATTICE(type, name, n) bytes += (int64_t)sizeof(type) * s->n_##name;

/* Whether the tables are short enough, and finite, so that they can be written into the text. */
static bool fits(const saltus_mpd_tables *s)
{
    const saltus_tables *t = s->of;
    int64_t bytes = 0;
    for (int64_t i = 0; i < s->n_rate; ++i) {
        if (!isfinite(s->rate[i])) {
            return false;
        }
    }
    SALTUS_REACTION_ARRAYS(BYTES_OF_NETWORK)
    SALTUS_LATTICE_ARRAYS(BYTES_OF_LATTICE)
    return bytes <= MOST_CONSTANTS;
}

#define PUT_OF_NETWORK(type, name, n) PUT(type, name, t->name, (n))
#define PUT_OF_LATTICE(type, name, n)                                            \
    if (s->name) {                                                               \
        PUT(type, name, s->name, s->n_##name)                                    \
    } else {                                                                     \
        fprintf(out, "#define saltus_table_%s ((const %s *)0)\n", #name, #type); \
    }

static void put_tables(FILE *out, const saltus_mpd_tables *s)
{
    const saltus_tables *t = s->of;
    fprintf(out, "#define SALTUS_MPD_TABLES\n#include \"kernel/base/target.h\"\n");
    SALTUS_LATTICE_ARRAYS(PUT_OF_LATTICE)
    SALTUS_REACTION_ARRAYS(PUT_OF_NETWORK)
}

int saltus_cuda_n_fields(const saltus_mpd_tables *tables)
{
    return tables->m.n_species - (tables->n_watched == 0);
}

bool saltus_cuda_is_marked(const saltus_mpd_tables *tables, int bits, int n_slabs)
{
    return n_slabs == 1 && tables->n_watched == 0 && saltus_cuda_is_sparse(tables->lattice) &&
           SALTUS_MPD_WORDS_OF(saltus_cuda_n_fields(tables), bits) == 1;
}

/* Whether it pays to look for sites with two particles: there are some, and a warp has no more
 * sites than threads, on one H200 with 2112 warps (bench/RESULTS.md, "Space on a GPU"). */
static bool has_pairs(const saltus_lattice *lattice)
{
    const int64_t n = saltus_lattice_n_placed(lattice);
    return lattice->n_sites <= SALTUS_CUDA_SMALL_LATTICE && n > lattice->n_sites / 512 &&
           n < 1 << 16;
}

int saltus_cuda_most_warps(const saltus_mpd_tables *tables, int n_slabs)
{
    return tables->lattice->n_sites / n_slabs <= SALTUS_CUDA_SMALL_LATTICE ? SALTUS_MPD_FEW_WARPS
                                                                           : SALTUS_MPD_MOST_WARPS;
}

static void put_sizes(FILE *out, const saltus_mpd_tables *s, int bits, int n_slabs)
{
    const saltus_mpd *m = &s->m;
    const saltus_tables *t = s->of;
    const int block = bits > 0 ? SALTUS_MPD_SITES_BLOCK : SALTUS_MPD_MANY_BLOCK;
    fputs(t->has_tables ? "#define SALTUS_TABLES 1\n" : "", out);
    if (bits > 0) {
        fprintf(out,
                "#define SALTUS_MPD_BITS %d\n#define SALTUS_MPD_FIELDS %d\n"
                "#define SALTUS_MPD_WARPS %d\n",
                bits, saltus_cuda_n_fields(s), saltus_cuda_most_warps(s, n_slabs));
        if (saltus_cuda_is_marked(s, bits, n_slabs)) {
            fputs("#define SALTUS_MPD_MARKED\n", out);
            fputs(has_pairs(s->lattice) ? "#define SALTUS_MPD_PAIRED\n" : "", out);
        }
    } else {
        fprintf(out, "#define SALTUS_LEAST_BLOCKS %d\n", LEAST_BLOCKS);
    }
    fprintf(out,
            "#define SALTUS_LARGEST_BLOCK %d\n"
            "#define SALTUS_BLOCK %d\n"
            "#define SALTUS_AT_STRIDE 1\n"
            "#define SALTUS_MPD_ROWS %d\n"
            "#define SALTUS_MPD_REACTIONS %d\n"
            "#define SALTUS_MPD_RULES %d\n"
            "#define SALTUS_MPD_LAWS %d\n"
            "#define SALTUS_MPD_RATES %d\n"
            "#define SALTUS_MPD_SIZE %" PRIu32 ", %" PRIu32 ", %" PRIu32 "\n"
            "#define SALTUS_MPD_FACES %d, %d, %d, %d, %d, %d\n"
            "#define SALTUS_MPD_TYPES %d\n"
            "#define SALTUS_MPD_SPECIES %d\n"
            "#define SALTUS_MPD_ONLY_ONE %d\n"
            "#define SALTUS_MPD_SOURCES %d\n",
            block, block, t->n_rows, t->n_reactions, t->n_rules, t->n_laws > 0, t->n_rates,
            m->size[0], m->size[1], m->size[2], m->faces[0], m->faces[1], m->faces[2], m->faces[3],
            m->faces[4], m->faces[5], m->n_types, m->n_species, m->only_one, m->n_sources);
}

/* Write reactions in the order of their first reactant, if they are few, so that their code is
 * unrolled. */
static void put_order(FILE *out, const saltus_mpd_tables *s)
{
    const saltus_tables *t = s->of;
    const char *before = "#define SALTUS_MPD_IN_ORDER ";
    for (int x = 0; x < s->m.n_species && t->n_reactions <= MOST_IN_ORDER && t->n_laws == 0; ++x) {
        for (int r = 0; r < t->n_reactions; ++r) {
            const int first = t->factor_row[r];
            if (first < t->factor_row[r + 1] && t->factor_species[first] == x) {
                fprintf(out, "%s%d", before, r);
                before = ", ";
            }
        }
    }
    fputc('\n', out);
}

static saltus_status check_size(const saltus_tables *t, saltus_error *err)
{
    return t->n_rows <= MOST_ROWS && t->n_reactions <= MOST_ROWS
               ? SALTUS_OK
               : saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                                  "%d species and values and %d reactions: on a lattice a GPU "
                                  "takes %d of either; use `device cpu`",
                                  t->n_rows, t->n_reactions, MOST_ROWS);
}

saltus_status saltus_cuda_compile_mpd(const saltus_mpd_tables *tables, int bits, int n_slabs,
                                      const saltus_limits *limits, saltus_image *out,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *text = NULL;
    size_t size = 0;
    FILE *stream;
    SALTUS_TRY(check_size(tables->of, err));
    stream = open_memstream(&text, &size);
    SALTUS_NEED(stream);
    put_sizes(stream, tables, bits, n_slabs);
    if (n_slabs > 1) {
        fprintf(stream, "#define SALTUS_MPD_SLABS\n");
    }
    if (fits(tables)) {
        put_order(stream, tables);
        put_tables(stream, tables);
    }
    fputs(bits > 0 ? "#include \"kernel/rdme/sites.h\"\n#include \"kernel/rdme/fill.h\"\n"
                   : "#include \"kernel/rdme/phases.h\"\n",
          stream);
    if (fclose(stream) != 0) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    SALTUS_TRY(saltus_kernel_compile(text, limits->major, limits->minor, out, err));
done:
    free(text);
    return status;
}
