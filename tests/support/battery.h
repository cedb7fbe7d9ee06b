/** Tests of random words in the manner of TestU01 (L'Ecuyer and Simard, ACM TOMS 33, 2007): each
 * gives a number that is about standard normal when the words are random. */
#ifndef SALTUS_TESTS_BATTERY_H
#define SALTUS_TESTS_BATTERY_H

#include <stdint.h>

/** The next of a sequence of words. */
typedef uint32_t word_source(void *user);

typedef struct battery_test {
    const char *name;
    double (*run)(word_source *next, void *user);
} battery_test;

/** In this order: */
enum {
    BATTERY_BITS,           /**< ones in each of the 32 places */
    BATTERY_BLOCKS,         /**< ones in blocks of words: neither too uneven nor too even */
    BATTERY_UNIFORM,        /**< Kolmogorov and Smirnov */
    BATTERY_PAIRS,          /**< cells of a square for words one after the other */
    BATTERY_TRIPLES,        /**< cells of a cube */
    BATTERY_GAPS,           /**< between words below 2^28 */
    BATTERY_COLLISIONS,     /**< of pairs in 2^24 cells */
    BATTERY_BIRTHDAYS,      /**< equal spacings of 4096 words put in order */
    BATTERY_RANKS,          /**< of binary matrices, 32 words each */
    BATTERY_COMPLEXITY,     /**< linear complexity of the highest bit */
    BATTERY_LOW_COMPLEXITY, /**< of the lowest */
    N_BATTERY,
};
extern const battery_test battery[N_BATTERY];

#endif
