/** A .net file in blocks of lines; for net.c. */
#ifndef SALTUS_READ_NET_LINES_H
#define SALTUS_READ_NET_LINES_H

#include "model/network/model.h"

typedef enum saltus_net_block {
    SALTUS_NET_NONE,
    SALTUS_NET_PARAMETERS,
    SALTUS_NET_FUNCTIONS,
    SALTUS_NET_SPECIES,
    SALTUS_NET_REACTIONS,
    SALTUS_NET_GROUPS,
    SALTUS_NET_OTHER,
    SALTUS_NET_N_BLOCKS,
} saltus_net_block;

/* A line of a block, its comment cut off, and what it declared. */
typedef struct saltus_net_line {
    char *text; /* behind the line's number in the block */
    int number; /* in the file */
    int variable;
    saltus_net_block block;
} saltus_net_line;

/* A rate of reactions, and whether it is a constant. */
typedef struct saltus_net_rate {
    const saltus_expr *e;
    bool is_constant;
} saltus_net_rate;

typedef struct saltus_net_reader {
    saltus_model *model;
    const char *name;
    char *text; /* lines end with zeros here */
    saltus_net_line *lines;
    size_t n_lines, lines_capacity;
    int *species; /* variable of species 1, 2, … */
    size_t n_species;
    saltus_participant *singles; /* [variable] one molecule of it, which reactions share */
    saltus_map rate_of;          /* text -> index into rates */
    saltus_net_rate *rates;
    size_t n_rates, rates_capacity;
    size_t n_of[SALTUS_NET_N_BLOCKS];
    bool begun[SALTUS_NET_N_BLOCKS];
    saltus_error *err;
} saltus_net_reader;

/** Record a failure in a line of the file. Returns code. */
__attribute__((format(printf, 4, 5))) saltus_status saltus_net_fail(const saltus_net_reader *r,
                                                                    int number, saltus_status code,
                                                                    const char *format, ...);

bool saltus_net_is_blank(char c);
char *saltus_net_skip_blanks(char *c);
/** Cut off the first word of *rest: it ends with a zero, and *rest starts with what follows. */
char *saltus_net_cut_word(char **rest);

/** Divide r->text, `size` characters and a zero, into lines and keep those of the blocks that
 * matter, without their comments. Numbers of lines within a block are checked and left out. */
SALTUS_MUST_CHECK saltus_status saltus_net_split(saltus_net_reader *r, size_t size);

#endif
