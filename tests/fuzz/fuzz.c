/* One harness per format of models, all from this file: FUZZ_TARGET names the function. Beside
 * crashes and leaks they look for models that do not survive being written and read back. */
#include "core/memory.h"
#include "model/network/model.h"
#include "read/image.h"
#include "../support/same_model.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* UDUNITS never frees the name in a unit that it cannot parse, as "mil.5". */
const char *__lsan_default_suppressions(void)
{
    return "leak:utlex\n";
}

#define SOMETIMES_UNUSED __attribute__((unused)) static

static void stop(const char *what, const saltus_error *err)
{
    (void)fprintf(stderr, "%s: %s\n", what, err->message);
    abort();
}

/* Write a model as YAML, read that, compare. Nesting may grow by parentheses beyond what the parser
 * takes, which is no defect. */
static void check_round_trip(const saltus_model *m)
{
    saltus_model *again = NULL;
    saltus_error err = {0};
    if (m->space) { /* lattices are not written */
        return;
    }
    char *text = model_to_yaml(m);
    if (!text) {
        stop("not written", &err);
    }
    const saltus_status status = saltus_model_parse_yaml(text, strlen(text), "again", &again, &err);
    if (status != SALTUS_OK && status != SALTUS_E_UNSUPPORTED) {
        stop(text, &err);
    }
    const char *difference = again ? model_difference(m, again) : NULL;
    if (difference) {
        (void)snprintf(err.message, sizeof err.message, "%s differs", difference);
        stop(text, &err);
    }
    saltus_model_destroy(again);
    free(text);
}

/* Whatever a reader lets pass, freezing refuses or takes. */
SOMETIMES_UNUSED void freeze(saltus_model *m)
{
    saltus_error err = {0};
    const saltus_status status = saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err);
    if (status != err.code) {
        stop("a failure without a message", &err);
    }
}

/* Lattices may be large, which takes long and finds nothing: no numbers of four digits in them. */
SOMETIMES_UNUSED bool is_large(const uint8_t *data, size_t size)
{
    size_t n_digits = 0, most = 0;
    for (size_t i = 0; i < size; ++i) {
        n_digits = (data[i] >= '0' && data[i] <= '9') || data[i] == 'e' ? n_digits + 1 : 0;
        most = n_digits > most ? n_digits : most;
    }
    return most >= 4 && memmem(data, size, "lattice", strlen("lattice"));
}

SOMETIMES_UNUSED void fuzz_yaml(const uint8_t *data, size_t size)
{
    saltus_model *m = NULL;
    if (!is_large(data, size) &&
        saltus_model_parse_yaml((const char *)data, size, "input", &m, NULL) == SALTUS_OK) {
        check_round_trip(m);
        freeze(m);
    }
    saltus_model_destroy(m);
}

SOMETIMES_UNUSED void fuzz_net(const uint8_t *data, size_t size)
{
    saltus_model *m = NULL;
    if (saltus_model_parse_net((const char *)data, size, "input", &m, NULL) == SALTUS_OK) {
        check_round_trip(m);
        freeze(m);
    }
    saltus_model_destroy(m);
}

SOMETIMES_UNUSED void fuzz_sbml(const uint8_t *data, size_t size)
{
    saltus_model *m = NULL;
    if (saltus_model_parse_sbml((const char *)data, size, "input", &m, NULL) == SALTUS_OK) {
        check_round_trip(m);
        freeze(m);
    }
    saltus_model_destroy(m);
}

static void check_expr(saltus_model *m, const saltus_expr *e)
{
    const saltus_parse_context context = {.model = m};
    const saltus_expr *again = NULL;
    saltus_error err = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    saltus_expr_print(m, e, out);
    (void)fclose(out);
    const saltus_status status = saltus_expr_parse(&context, text, &again, &err);
    if (status != SALTUS_E_UNSUPPORTED && (status != SALTUS_OK || !same_expr(m, e, m, again))) {
        stop(text, &err);
    }
    free(text);
}

SOMETIMES_UNUSED void fuzz_expr(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"A", "b", "R(a,l!1)", "a`b", "time", "inf", "exp", "α"};
    saltus_model *m = NULL;
    saltus_error err = {0};
    const saltus_expr *e = NULL;
    saltus_reaction reaction = {0};
    char *text = saltus_calloc(size + 1, 1);
    if (!text || saltus_model_create("fuzz", &m, &err) != SALTUS_OK) {
        stop("no model", &err);
    }
    memcpy(text, data, size);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (saltus_model_add_species(m, names[i], 1.0, &err) != SALTUS_OK) {
            stop("no species", &err);
        }
    }
    const saltus_parse_context context = {
        .model = m, .what = "text", .path = "input", .line = 1, .column = 1};
    if (saltus_expr_parse(&context, text, &e, NULL) == SALTUS_OK) {
        check_expr(m, e);
    } else if (saltus_equation_parse(&context, text, &reaction, &err) == SALTUS_OK) {
        reaction.id = "r";
        reaction.law = saltus_expr_const(&m->arena, 1.0);
        reaction.mass_action = true;
        reaction.reversible = false;
        if (saltus_model_push_reaction(m, &reaction, &err) != SALTUS_OK) {
            stop("no reaction", &err);
        }
        check_round_trip(m);
    }
    saltus_model_destroy(m);
    saltus_free(text);
}

/* A stack of pictures behind four bytes: columns, rows and pages of the lattice, and a value. */
SOMETIMES_UNUSED void fuzz_image(const uint8_t *data, size_t size)
{
    char path[40];
    if (size < 4) {
        return;
    }
    const int32_t lattice[3] = {1 + data[0] % 64, 1 + data[1] % 64, 1 + data[2] % 64};
    uint8_t *mask = saltus_calloc((size_t)lattice[0] * lattice[1] * lattice[2], 1);
    saltus_error err = {0};
    const int fd = memfd_create("image", MFD_CLOEXEC);
    if (!mask || fd < 0 || write(fd, data + 4, size - 4) != (ssize_t)size - 4) {
        abort();
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const saltus_status status = saltus_image_mask(NULL, path, lattice, data[3], mask, &err);
    if (status != err.code) {
        stop("a failure without a message", &err);
    }
    (void)close(fd);
    saltus_free(mask);
}

static char cell_folder[40], cell_yaml[60], cell_xml[60];

SOMETIMES_UNUSED void remove_cell(void)
{
    (void)unlink(cell_xml);
    (void)rmdir(cell_folder);
}

SOMETIMES_UNUSED void make_cell_folder(void)
{
    (void)strcpy(cell_folder, "/tmp/saltus-fuzz-XXXXXX");
    if (!mkdtemp(cell_folder) || atexit(remove_cell) != 0) {
        abort();
    }
    (void)snprintf(cell_yaml, sizeof cell_yaml, "%s/cell.yaml", cell_folder);
    (void)snprintf(cell_xml, sizeof cell_xml, "%s/cell.xml", cell_folder);
}

/* An SBML file, a line, and a lattice around it, which calls it cell.xml. */
SOMETIMES_UNUSED void fuzz_lattice(const uint8_t *data, size_t size)
{
    static const char line[] = "\n=====\n";
    const uint8_t *end = memmem(data, size, line, sizeof line - 1);
    saltus_model *m = NULL;
    if (!end) {
        return;
    }
    const uint8_t *lattice = end + sizeof line - 1;
    const size_t n = (size_t)(data + size - lattice);
    if (!cell_folder[0]) {
        make_cell_folder();
    }
    FILE *f = fopen(cell_xml, "w");
    if (!f || fwrite(data, 1, (size_t)(end - data), f) != (size_t)(end - data) || fclose(f) != 0) {
        abort();
    }
    if (!is_large(lattice, n) &&
        saltus_model_parse_yaml((const char *)lattice, n, cell_yaml, &m, NULL) == SALTUS_OK) {
        freeze(m);
    }
    saltus_model_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FUZZ_TARGET(data, size);
    return 0;
}
