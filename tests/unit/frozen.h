/** For the tests of freezing and of events: models from YAML text, frozen. */
#ifndef SALTUS_TESTS_FROZEN_H
#define SALTUS_TESTS_FROZEN_H

#include "model/network/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static inline saltus_model *parse_text(const char *text)
{
    saltus_model *m = NULL;
    saltus_error err = {0};
    if (saltus_model_parse_yaml(text, strlen(text), "model.yaml", &m, &err) != SALTUS_OK) {
        fail_msg("%s (%s)\n%s", err.message, err.hint, text);
    }
    return m;
}

static inline saltus_model *freeze_text(const char *text, saltus_law law)
{
    saltus_error err = {0};
    saltus_model *m = parse_text(text);
    if (saltus_model_freeze(m, law, &err) != SALTUS_OK) {
        fail_msg("%s (%s)\n%s", err.message, err.hint, text);
    }
    return m;
}

/* The text can be read, but freezing fails with this status and message. */
static inline void check_not_frozen(const char *text, saltus_status status, const char *message)
{
    saltus_error err = {0};
    saltus_model *m = parse_text(text);
    const saltus_status got = saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err);
    if (got != status || strcmp(err.message, message) != 0) {
        fail_msg("status %d: %s\nexpected %d: %s\n%s", (int)got, err.message, (int)status, message,
                 text);
    }
    saltus_model_destroy(m);
}

static inline const saltus_lattice *lattice_of(const saltus_model *m)
{
    assert_non_null(m->network->lattice);
    return m->network->lattice;
}

/* A model of one species with these sites. */
static inline saltus_model *with_sites(const char *size, const char *faces, const char *sites)
{
    char text[3000];
    (void)snprintf(text, sizeof text,
                   "species: {A: 10}\nlattice:\n  size: %s\n  spacing: 10 nm\n  step: largest\n"
                   "  faces: %s\n  diffusion: {A: 1 um2/s}\n  sites:\n    all:\n%s",
                   size, faces, sites);
    return freeze_text(text, SALTUS_LAW_LITERAL);
}

#endif
