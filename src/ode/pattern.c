/* What each law reads, turned round: what each component is read by. */
#include "ode/pattern.h"

#include "core/memory.h"
#include "core/order.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

/* Lists as they are found: those of reader i are item[first[i]] … item[first[i + 1] - 1]. */
typedef struct readers {
    int64_t *first;
    int32_t *item;
    size_t n, capacity, n_readers;
} readers;

typedef struct builder {
    const saltus_tables *t;
    saltus_pattern *p;
    int32_t *component; /* [row] that stands there, or -1 */
    uint8_t *is_read;   /* [rule] by a flow, also through others */
    int32_t *seen;      /* [component] the last list that has it */
    int32_t list;
    readers rules, flows; /* [rule], [flow]: components */
    bool failed;
} builder;

static int rule_of(const builder *b, int row)
{
    return row >= b->t->row_rules && row < b->t->row_rules + b->t->n_rules ? row - b->t->row_rules
                                                                           : -1;
}

static void add(builder *b, readers *to, int32_t component)
{
    if (b->failed || b->seen[component] == b->list) {
        return;
    }
    int32_t *grown = saltus_grow(to->item, to->n, &to->capacity, sizeof *to->item);
    b->failed = !grown;
    if (grown) {
        b->seen[component] = b->list;
        to->item = grown;
        to->item[to->n++] = component;
    }
}

static void end_list(builder *b, readers *to)
{
    to->first[++to->n_readers] = (int64_t)to->n;
    ++b->list;
}

static void mark(void *user, int row)
{
    builder *b = user;
    if (rule_of(b, row) >= 0) {
        b->is_read[rule_of(b, row)] = 1;
    }
}

static void read_into(builder *b, readers *to, int row)
{
    const int rule = rule_of(b, row);
    if (b->component[row] >= 0) {
        add(b, to, b->component[row]);
    }
    for (int64_t i = rule >= 0 ? b->rules.first[rule] : 0;
         rule >= 0 && i < b->rules.first[rule + 1]; ++i) {
        add(b, to, b->rules.item[i]);
    }
}

static void read_into_rule(void *user, int row)
{
    builder *b = user;
    read_into(b, &b->rules, row);
}

static void read_into_flow(void *user, int row)
{
    builder *b = user;
    read_into(b, &b->flows, row);
}

/* A flow's law, if it is a program. */
static const saltus_program *program_of(const saltus_tables *t, int flow)
{
    if (flow >= t->n_reactions) {
        return &t->rates[flow - t->n_reactions];
    }
    return t->law_program[flow] >= 0 ? &t->laws[t->law_program[flow]] : NULL;
}

/* What rules read, of those that matter: behind a rule stand those that read it. */
static void read_rules(builder *b)
{
    const saltus_tables *t = b->t;
    for (int f = 0; f < b->p->n_flows; ++f) {
        const saltus_program *program = program_of(t, f);
        if (program) {
            saltus_program_reads(t, *program, mark, b);
        }
    }
    for (int r = t->n_rules - 1; r >= 0; --r) {
        if (b->is_read[r]) {
            saltus_program_reads(t, t->rules[r], mark, b);
        }
    }
    for (int r = 0; r < t->n_rules; ++r) {
        if (b->is_read[r]) {
            b->p->rules_read[b->p->n_rules_read++] = r;
            saltus_program_reads(t, t->rules[r], read_into_rule, b);
        }
        end_list(b, &b->rules);
    }
}

static void read_flows(builder *b)
{
    const saltus_tables *t = b->t;
    for (int f = 0; f < b->p->n_flows; ++f) {
        const saltus_program *program = program_of(t, f);
        if (program) {
            saltus_program_reads(t, *program, read_into_flow, b);
        } else {
            for (int k = t->factor_row[f]; k < t->factor_row[f + 1]; ++k) {
                read_into_flow(b, t->factor_species[k]);
            }
        }
        end_list(b, &b->flows);
    }
}

/* Turn lists of components round. */
static saltus_status turn_round(const readers *from, int32_t n, saltus_columns_of *to,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    to->first = saltus_calloc((size_t)n + 2, sizeof *to->first);
    to->item = saltus_calloc(from->n, sizeof *to->item);
    SALTUS_NEED(to->first && to->item);
    for (size_t i = 0; i < from->n; ++i) {
        ++to->first[from->item[i] + 2];
    }
    for (int32_t j = 0; j <= n; ++j) {
        to->first[j + 1] += to->first[j];
    }
    for (size_t r = 0; r < from->n_readers; ++r) {
        for (int64_t i = from->first[r]; i < from->first[r + 1]; ++i) {
            to->item[to->first[from->item[i] + 1]++] = (int32_t)r;
        }
    }
done:
    return status;
}

/* What a flow changes is a component with a number of its own: that of its species, or its rate. */
static void add_changes(builder *b, readers *to, int flow)
{
    const saltus_tables *t = b->t;
    if (flow >= t->n_reactions) {
        add(b, to, b->p->first_rate + flow - t->n_reactions);
        return;
    }
    for (int c = t->change_row[flow]; c < t->change_row[flow + 1]; ++c) {
        if (b->component[t->change_species[c]] >= 0) {
            add(b, to, b->component[t->change_species[c]]);
        }
    }
}

static saltus_status find_rows(builder *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_pattern *p = b->p;
    readers rows = {0};
    rows.first = saltus_calloc((size_t)p->n + 1, sizeof *rows.first);
    SALTUS_NEED(rows.first);
    for (int32_t j = 0; j < p->n; ++j) {
        const size_t first = rows.n;
        add(b, &rows, j);
        for (int64_t i = p->flows.first[j]; i < p->flows.first[j + 1]; ++i) {
            add_changes(b, &rows, p->flows.item[i]);
        }
        SALTUS_NEED(!b->failed && rows.item);
        qsort(rows.item + first, rows.n - first, sizeof *rows.item, saltus_order_ints);
        end_list(b, &rows);
    }
    p->rows = (saltus_columns_of){rows.first, rows.item};
    rows = (readers){0};
done:
    saltus_free(rows.first);
    saltus_free(rows.item);
    return status;
}

static saltus_status prepare(builder *b, bool is_mean, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = b->t;
    saltus_pattern *p = b->p;
    const int32_t first = p->first_rate = is_mean ? t->n_species : 0;
    p->row = saltus_calloc((size_t)p->n, sizeof *p->row);
    p->rules_read = saltus_calloc((size_t)t->n_rules, sizeof *p->rules_read);
    b->component = saltus_calloc((size_t)t->n_rows, sizeof *b->component);
    b->is_read = saltus_calloc((size_t)t->n_rules, 1);
    b->seen = saltus_calloc((size_t)p->n, sizeof *b->seen);
    b->rules.first = saltus_calloc((size_t)t->n_rules + 1, sizeof *b->rules.first);
    b->flows.first = saltus_calloc((size_t)p->n_flows + 1, sizeof *b->flows.first);
    SALTUS_NEED(p->row && p->rules_read && b->component && b->is_read && b->seen &&
                b->rules.first && b->flows.first);
    for (int row = 0; row < t->n_rows; ++row) {
        b->component[row] = -1;
    }
    for (int32_t i = 0; i < p->n; ++i) {
        p->row[i] = i < first ? i : i < first + t->n_rates ? t->rate_rows[i - first] : -1;
        if (p->row[i] >= 0) {
            b->component[p->row[i]] = i;
        }
    }
    b->list = 1;
done:
    return status;
}

saltus_status saltus_pattern_create(const saltus_tables *t, int32_t n, bool is_mean,
                                    saltus_pattern **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    builder b = {.t = t};
    b.p = saltus_calloc(1, sizeof *b.p);
    SALTUS_NEED(b.p);
    b.p->n = n;
    b.p->n_flows = t->n_reactions + t->n_rates;
    SALTUS_TRY(prepare(&b, is_mean, err));
    read_rules(&b);
    read_flows(&b);
    SALTUS_NEED(!b.failed);
    SALTUS_TRY(turn_round(&b.rules, n, &b.p->rules, err));
    SALTUS_TRY(turn_round(&b.flows, n, &b.p->flows, err));
    SALTUS_TRY(find_rows(&b, err));
    *out = b.p;
    b.p = NULL;
done:
    saltus_pattern_destroy(b.p);
    saltus_free(b.component);
    saltus_free(b.is_read);
    saltus_free(b.seen);
    saltus_free(b.rules.first);
    saltus_free(b.rules.item);
    saltus_free(b.flows.first);
    saltus_free(b.flows.item);
    return status;
}

void saltus_pattern_destroy(saltus_pattern *pattern)
{
    if (pattern) {
        saltus_free(pattern->row);
        saltus_free(pattern->rules_read);
        saltus_free(pattern->rows.first);
        saltus_free(pattern->rows.item);
        saltus_free(pattern->flows.first);
        saltus_free(pattern->flows.item);
        saltus_free(pattern->rules.first);
        saltus_free(pattern->rules.item);
        saltus_free(pattern);
    }
}
