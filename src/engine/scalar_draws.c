/* Random words of one trajectory, many at a time by Philox. Compiled once per instruction set:
 * SALTUS_VARIANT is its name, SALTUS_LANES its width. */
#include "engine/scalar.h"

#include "kernel/base/math.h"
#include "kernel/base/rng.h"

void SALTUS_SET_NAME(saltus_scalar_draw)(uint64_t seed, uint64_t trajectory, uint32_t *stream,
                                         saltus_draws *draws);
void SALTUS_SET_NAME(saltus_scalar_fill)(uint64_t seed, uint64_t trajectory, uint32_t *stream,
                                         saltus_words *words);

/* Draws of consecutive blocks of one trajectory, a block per lane. */
void SALTUS_SET_NAME(saltus_scalar_draw)(uint64_t seed, uint64_t trajectory, uint32_t *stream,
                                         saltus_draws *draws)
{
    saltus_u64 step;
    (void)stream;
    for (int l = 0; l < SALTUS_LANES; ++l) {
        step[l] = (uint64_t)l;
    }
    for (int i = 0; i < SALTUS_BATCH_BLOCKS; i += SALTUS_LANES) {
        saltus_u64 w[4];
        saltus_philox(seed, SALTUS_PURPOSE_EVENT, (step & 0) + trajectory,
                      step + (draws->first_block + (uint64_t)i), w);
        for (int h = 0; h < 2; ++h) {
            const saltus_f64 wait = saltus_select(SALTUS_EQ(w[2 * h], w[0] & 0), saltus_splat(-1.0),
                                                  saltus_exponential32(w[2 * h]));
            const saltus_f64 word = SALTUS_TO_F64(SALTUS_AS_I64(w[2 * h + 1]));
            memcpy(&draws->wait[h][i], &wait, sizeof wait);
            memcpy(&draws->word[h][i], &word, sizeof word);
        }
    }
}

/* Words of consecutive blocks of one trajectory's tau-leaping, a block per lane. */
void SALTUS_SET_NAME(saltus_scalar_fill)(uint64_t seed, uint64_t trajectory, uint32_t *stream,
                                         saltus_words *words)
{
    saltus_u64 step;
    (void)stream;
    for (int l = 0; l < SALTUS_LANES; ++l) {
        step[l] = (uint64_t)l;
    }
    for (int i = 0; i < SALTUS_WORD_BLOCKS; i += SALTUS_LANES) {
        saltus_u64 w[4];
        saltus_philox(seed, SALTUS_PURPOSE_LEAP, (step & 0) + trajectory,
                      step + (words->first_block + (uint64_t)i), w);
        for (int k = 0; k < 4; ++k) {
            const saltus_u32 word = SALTUS_TO_U32(w[k]);
            memcpy(&words->w[k][i], &word, sizeof word);
        }
    }
}
