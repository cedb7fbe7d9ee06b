/* How many trajectories have met a threshold that what fluctuates seldom passes: of P molecules
 * that come at their mean and die at 1, exactly, by the birth-death chain that ends there, whose
 * generator was exponentiated. */
#ifndef SALTUS_TESTS_PASSAGES_H
#define SALTUS_TESTS_PASSAGES_H

#include <stdio.h>

typedef struct passage {
    int mean;
    const char *when; /* of P */
    double until, share;
} passage;

/* Counts go one by one, so a threshold, a count and a window above it are met alike. */
enum { N_PASSAGES = 5, PASSAGE_SIZE = 300 };
static const passage passages[N_PASSAGES] = {{2000, "P > 2060", 3.0, 0.56980},
                                             {2000, "P == 2061", 3.0, 0.56980},
                                             {2000, "P > 2060 && P < 2063", 3.0, 0.56980},
                                             {2000, "P > 2100", 30.0, 0.84391},
                                             {20000, "P > 20300", 10.0, 0.53471}};

/* Its model, in which G becomes 1 there. */
static inline void write_passage(const passage *c, char text[PASSAGE_SIZE])
{
    (void)snprintf(text, PASSAGE_SIZE,
                   "species: {G: 0, P: %d}\nreactions:\n  make: 0 -> P @ %d\n"
                   "  die: P -> 0 @ 1\nevents: {e: {when: \"%s\", set: {G: 1}}}\n",
                   c->mean, c->mean, c->when);
}

#endif
