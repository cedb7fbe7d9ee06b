/* "2 A + B -> C" */
#include "model/network/scan.h"

#include "core/number.h"
#include "model/network/model.h"
#include "model/network/syntax.h"

#include <limits.h>
#include <math.h>
#include <string.h>

typedef struct participant {
    int variable;
    double molecules;
} participant;

typedef struct participants {
    participant *items;
    size_t n, capacity;
} participants;

/* The arrow at c: its length, and whether it points both ways. 0: there is none. */
static size_t arrow_at(const char *c, bool *reversible)
{
    *reversible = *c != '-';
    return strncmp(c, "<->", 3) == 0 ? 3 : strncmp(c, "->", 2) == 0 ? 2 : *c == '=' && c[1] != '>';
}

static bool is_side_end(const char *c)
{
    bool reversible;
    return *c == '\0' || arrow_at(c, &reversible) > 0;
}

/* The species that a name means. */
static saltus_status find_species(saltus_scanner *s, int *variable)
{
    const saltus_model *model = s->context->model;
    *variable = saltus_model_find(model, s->name);
    if (*variable < 0 && s->context->resolve) {
        const saltus_expr *e = s->context->resolve(s->context->user, s->name);
        *variable = e && e->op == SALTUS_OP_VARIABLE ? e->variable : -1;
    }
    if (*variable < 0) {
        return saltus_scan_undefined(s, s->start, s->name, "species ");
    }
    if (model->variables[*variable].kind != SALTUS_KIND_SPECIES) {
        return saltus_scan_fail(s, SALTUS_E_MODEL, s->start, "'%.100s' is not a species", s->name);
    }
    return SALTUS_OK;
}

static saltus_status check_molecules(saltus_scanner *s, const char *at, double molecules)
{
    static const double most = 9e15; /* which a double counts one by one, as SBML may give them */
    return molecules > 0.0 && molecules <= most
               ? SALTUS_OK
               : saltus_scan_fail(s, SALTUS_E_SYNTAX, at,
                                  "the number of molecules must be above 0 and at most 9e15");
}

/* "2", "0.5": how many molecules, up to *c. "2e3A" are 2 of e3A. */
static saltus_status parse_number(saltus_scanner *s, const char **c, double *molecules)
{
    saltus_status status = SALTUS_OK;
    char text[64] = "";
    double value = 0.0;
    const size_t n = strspn(*c, "0123456789.");
    size_t length = 0;
    memcpy(text, *c, n < sizeof text ? n : 0);
    const bool is_number =
        saltus_number_parse(text, &value, &length) == SALTUS_NUMBER_OK && length == n;
    SALTUS_TRY(check_molecules(s, *c, is_number ? value : 0.0));
    *molecules = value;
    *c += n;
done:
    return status;
}

/* "2 A", "2*A", "2A", "0.5 A" or "A"; the saltus_scanner stands at its start and is left behind it.
 */
static saltus_status parse_participant(saltus_scanner *s, participants *list)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    participant p = {.molecules = 1.0};
    const char *c = s->start = s->end;
    if (*c >= '0' && *c <= '9') {
        SALTUS_TRY(parse_number(s, &c, &p.molecules));
        c = saltus_skip_blanks(c);
        c = *c == '*' ? saltus_skip_blanks(c + 1) : c;
    }
    s->start = s->end = c;
    if (*c == '`') {
        SALTUS_TRY(saltus_scan_quoted(s));
    } else if (saltus_is_name_start(*c)) {
        SALTUS_TRY(saltus_scan_name(s));
    } else {
        status = saltus_scan_fail(s, SALTUS_E_SYNTAX, c, "the name of a species is missing");
        if (strncmp(c, "=>", 2) == 0 || strncmp(c, "<=>", 3) == 0) {
            saltus_error_hint(err, "arrows are '->' and '<->'");
        }
        goto done;
    }
    SALTUS_TRY(find_species(s, &p.variable));
    participant *grown = saltus_grow(list->items, list->n, &list->capacity, sizeof p);
    SALTUS_NEED(grown);
    list->items = grown;
    list->items[list->n++] = p;
done:
    return status;
}

/* One side, up to an arrow or the end. */
static saltus_status parse_side(saltus_scanner *s, participants *list)
{
    static const char empty_set[] = "\xe2\x88\x85";
    saltus_status status = SALTUS_OK;
    const char *c = s->end = saltus_skip_blanks(s->end);
    if (*c == '0' || strncmp(c, empty_set, strlen(empty_set)) == 0) {
        c = saltus_skip_blanks(c + (*c == '0' ? 1 : strlen(empty_set)));
        if (is_side_end(c)) {
            s->end = c;
            goto done;
        }
    }
    if (is_side_end(s->end)) {
        goto done;
    }
    for (;;) {
        SALTUS_TRY(parse_participant(s, list));
        c = s->start = s->end = saltus_skip_blanks(s->end);
        if (is_side_end(c)) {
            goto done;
        }
        if (*c != '+') {
            status = saltus_scan_fail(s, SALTUS_E_SYNTAX, c,
                                      "'+' or an arrow is missing before '%.20s'", c);
            saltus_error_hint(s->err, "arrows are '->' and '<->'; names with other characters than "
                                      "letters, digits, '_' and '.' stand in `backquotes`");
            goto done;
        }
        s->end = saltus_skip_blanks(c + 1);
    }
done:
    return status;
}

/* Move a list to the model's arena. */
static saltus_status keep_list(saltus_scanner *s, const participants *list,
                               const saltus_participant **items, int *n)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = s->err;
    *items = NULL;
    *n = 0;
    if (list->n > 0) {
        bool whole = true;
        for (size_t i = 0; i < list->n; ++i) {
            const double molecules = list->items[i].molecules;
            whole &= molecules <= INT_MAX && molecules == floor(molecules);
        }
        saltus_participant *kept = saltus_model_make_side(s->context->model, list->n, whole);
        SALTUS_NEED(kept);
        for (size_t i = 0; i < list->n; ++i) {
            saltus_participant_add(kept, list->n, n, list->items[i].variable,
                                   list->items[i].molecules);
        }
        for (int i = 0; i < *n; ++i) { /* parts have been added up */
            SALTUS_TRY(check_molecules(s, s->text, saltus_molecules(&kept[i])));
        }
        *items = kept;
    }
done:
    return status;
}

saltus_status saltus_equation_parse(const saltus_parse_context *context, const char *text,
                                    saltus_reaction *reaction, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_scanner s = {.context = context, .err = err, .text = text, .start = text, .end = text};
    participants left = {0}, right = {0};
    bool again;
    SALTUS_TRY(parse_side(&s, &left));
    const size_t arrow = arrow_at(s.end, &reaction->reversible);
    if (arrow == 0) {
        status = saltus_scan_fail(&s, SALTUS_E_SYNTAX, s.end, "the arrow '->' is missing");
        goto done;
    }
    s.end += arrow;
    SALTUS_TRY(parse_side(&s, &right));
    if (arrow_at(s.end, &again) > 0) {
        status = saltus_scan_fail(&s, SALTUS_E_SYNTAX, s.end, "there is a second arrow");
        goto done;
    }
    SALTUS_TRY(keep_list(&s, &left, &reaction->reactants, &reaction->n_reactants));
    SALTUS_TRY(keep_list(&s, &right, &reaction->products, &reaction->n_products));
done:
    saltus_free(left.items);
    saltus_free(right.items);
    saltus_free(s.large);
    return status;
}
