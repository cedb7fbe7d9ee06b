/* Streams that are drawn in order. Compiled once per generator: SALTUS_RNG is its number,
 * SALTUS_GENERATOR its name. */
#include "engine/scalar.h"

#include "kernel/base/math.h"
#include "kernel/base/stream.h"

#include <string.h>

static void start(uint32_t *words, uint64_t seed, uint64_t trajectory, const uint32_t *jumps)
{
    saltus_stream s;
    saltus_stream_start(&s, words, seed, trajectory, jumps);
}

/* Draws of the next blocks. */
static void draw(uint64_t seed, uint64_t trajectory, uint32_t *words, saltus_draws *draws)
{
    saltus_stream s;
    (void)seed;
    saltus_stream_load(&s, words);
    for (int i = 0; i < SALTUS_BATCH_BLOCKS; ++i) {
        uint32_t w[4];
        saltus_stream_next(&s, NULL, trajectory, draws->first_block + (uint64_t)i, w);
        for (int h = 0; h < 2; ++h) {
            draws->wait[h][i] = w[2 * h] == 0 ? -1.0 : saltus_exponential32(w[2 * h]);
            draws->word[h][i] = (double)w[2 * h + 1];
        }
    }
    saltus_stream_save(&s);
}

/* The next blocks as they are. */
static void fill(uint64_t seed, uint64_t trajectory, uint32_t *stream, saltus_words *words)
{
    saltus_stream s;
    const int n_words = saltus_stream_words(SALTUS_RNG);
    (void)seed;
    memcpy(stream + n_words, stream, (size_t)n_words * sizeof *stream);
    saltus_stream_load(&s, stream);
    for (int i = 0; i < SALTUS_WORD_BLOCKS; ++i) {
        uint32_t w[4];
        saltus_stream_next(&s, NULL, trajectory, words->first_block + (uint64_t)i, w);
        for (int k = 0; k < 4; ++k) {
            words->w[k][i] = w[k];
        }
    }
    saltus_stream_save(&s);
}

static void go_back(uint32_t *stream, uint64_t first_block, uint64_t n)
{
    saltus_stream s;
    const int n_words = saltus_stream_words(SALTUS_RNG);
    memcpy(stream, stream + n_words, (size_t)n_words * sizeof *stream);
    saltus_stream_load(&s, stream);
    for (uint64_t i = 0; i < n; ++i) {
        uint32_t w[4];
        saltus_stream_next(&s, NULL, 0, first_block + i, w);
    }
    saltus_stream_save(&s);
}

extern const saltus_scalar_stream SALTUS_SCALAR_JOIN(saltus_scalar_stream, SALTUS_GENERATOR);
const saltus_scalar_stream SALTUS_SCALAR_JOIN(saltus_scalar_stream,
                                              SALTUS_GENERATOR) = {start, draw, fill, go_back};
