/* The text of a layout's kernel for a model, and its compiler. */
#include "backend/cuda/ssa/layouts.h"
#include "backend/cuda/ssa/packing.h"
#include "backend/cuda/codegen/motion.h"
#include "backend/cuda/codegen/operations.h"
#include "backend/cuda/codegen/recorded.h"
#include "backend/cuda/codegen/registers.h"
#include "core/memory.h"

#include <stdio.h>
#include <stdlib.h>

static saltus_status table_text(const saltus_ssa_layout *layout, const saltus_tables *tables,
                                const saltus_columns *columns, char **text, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool is_warp = layout->threads_each > 1;
    const saltus_packed_wide_row *equal = &layout->packed.equal;
    const bool records_rules = saltus_records_rules(tables, columns);
    size_t size;
    FILE *out = open_memstream(text, &size);
    SALTUS_NEED(out);
    if (layout->has_arrays) {
        saltus_put_table_event_head(tables, out);
    }
    (void)fprintf(out,
                  "#define SALTUS_BLOCK %d\n#define SALTUS_LEVELS %d\n"
                  "#define SALTUS_ROOT_CHILDREN %d\n#define SALTUS_WORKSPACE_SHARED %d\n"
                  "#define SALTUS_TABLES_SHARED %d\n#define SALTUS_WIDE_ROWS %d\n"
                  "#define SALTUS_WARPS %d\n#define SALTUS_POINTS %d\n#define SALTUS_CHANGES %u\n"
                  "#define SALTUS_DEPENDENTS %u\n#define SALTUS_NODES %u\n"
                  "#define SALTUS_RECORDS_RULES %d\n#define SALTUS_HUBS %d\n"
                  "#define SALTUS_IDLES %d\n",
                  is_warp || (tables->n_hubs && !layout->workspace_is_shared) ? 1 : layout->block,
                  layout->packed.n_levels, layout->packed.n_root_children,
                  layout->workspace_is_shared, layout->tables_are_shared, is_warp,
                  layout->block / 32, layout->needs.varies != NULL, equal->n_changes,
                  equal->n_dependents, equal->n_nodes, records_rules, tables->n_hubs > 0,
                  tables->n_hubs == 0 && tables->idles && tables->n_unsafe > 0);
    if (tables->n_hubs > 0) {
        (void)fprintf(out,
                      "#define SALTUS_HUB_SPECIES %d\n#define SALTUS_N_HUBS %d\n"
                      "#define SALTUS_N_WEIGHED %d\n#define SALTUS_N_OWN %d\n"
                      "#define SALTUS_HUB_LEAVES %d\n#define SALTUS_HUB_LEVELS %d\n"
                      "#define SALTUS_DOUBLES_EACH %d\n"
                      "#define SALTUS_N_KEPT %d\n#define SALTUS_HUB_FIRST {",
                      tables->n_species, tables->n_hubs, tables->n_weighed, tables->n_own,
                      tables->n_hub_leaves, tables->n_hub_levels,
                      (int)(layout->workspace_doubles / layout->block), saltus_packed_kept(tables));
        for (int level = 0; level <= tables->n_hub_levels; ++level) {
            (void)fprintf(out, "%s%d", level > 0 ? ", " : "", tables->hub_first[level]);
        }
        (void)fputs("}\n", out);
    }
    (void)fputs("#include \"kernel/ssa/table.h\"\n", out);
    if (records_rules) {
        status = saltus_put_recorded_rules(tables, columns, out, err);
    }
    if (layout->has_arrays) {
        saltus_put_table_turns(tables, out);
    }
    (void)fprintf(out, "#include \"kernel/ssa/%s.h\"\n",
                  tables->n_hubs > 0 ? (is_warp ? "hubs_warp" : "hubs_thread")
                  : is_warp          ? "direct_warp"
                                     : "direct_table");
    if (fclose(out) != 0 && status == SALTUS_OK) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
done:
    return status;
}

/* Compile a kernel's text such that n blocks run on a multiprocessor at once; 0: as many as the
 * compiler thinks right. */
static saltus_status compile(const saltus_ssa_layout *layout, int n, const saltus_columns *columns,
                             const char *text, const saltus_limits *limits, saltus_image *out,
                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *whole = NULL, least[60] = "";
    /* The driver refuses larger blocks than the kernel was made for. */
    const int largest =
        n > 1 || layout->block > SALTUS_USUAL_BLOCK ? layout->block : SALTUS_USUAL_BLOCK;
    if (n > 0) {
        (void)snprintf(least, sizeof least, "#define SALTUS_LEAST_BLOCKS %d\n", n);
    }
    /* The tree's kernel is the same for all models with the same functions, or none … */
    const bool is_tree = layout->state == SALTUS_STATE_TREE;
    if (asprintf(&whole,
                 "#define SALTUS_RNG %d\n#define SALTUS_COLUMNS %d\n#define SALTUS_OBSERVABLES %d\n"
                 "#define SALTUS_LARGEST_BLOCK %d\n%s%s",
                 layout->needs.rng, is_tree ? 0 : columns->n_counts,
                 is_tree ? 0 : columns->n_observables, largest, least, text) < 0) {
        whole = NULL;
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    SALTUS_TRY(saltus_kernel_compile(whole, limits->major, limits->minor, out, err));
done:
    free(whole);
    return status;
}

/* Whether something happens other than reactions, samples and what rate rules do. */
static bool acts_by_itself(const saltus_tables *t)
{
    return t->n_triggers > 0 || t->n_flags > 0 || t->n_delayed > 0 || t->n_thinned > 0 ||
           t->n_rates > 0;
}

/* The numbers that are no part of a kernel's text. Those that are others in the next run, perhaps,
 * are not where that costs nothing. */
static const uint8_t *not_in_text(const saltus_needs *needs, const saltus_tables *tables)
{
    return needs->varies                                          ? needs->varies
           : saltus_registers_have_room_for(tables, needs->given) ? needs->given
                                                                  : NULL;
}

/* Of a kernel with a thread per trajectory, whose state is a tree. */
static saltus_status tree_text(const saltus_ssa_layout *layout, const saltus_tables *tables,
                               char **text, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool is_mean = layout->needs.method == SALTUS_METHOD_ODE;
    const bool leaps = saltus_method_of(layout->needs.method)->leaps;
    const bool is_written = !leaps && !is_mean && saltus_motion_is_written(tables);
    const bool acts = is_mean || acts_by_itself(tables);
    char *motion = NULL;
    size_t size;
    FILE *out = open_memstream(text, &size);
    SALTUS_NEED(out);
    (void)fprintf(out, "%s%s%s%s%s%s%s%s#define SALTUS_MEAN %d\n#define SALTUS_BLOCK 1\n",
                  tables->n_thinned > 0 ? "#define SALTUS_THINNED 1\n" : "",
                  tables->has_tables ? "#define SALTUS_TABLES 1\n" : "",
                  leaps && tables->n_bends == 0 ? "#define SALTUS_BENDS 0\n" : "",
                  is_mean || tables->n_code > 0 ? "" : "#define SALTUS_PROGRAMS 0\n",
                  acts ? "" : "#define SALTUS_EVENTS 0\n",
                  acts && !is_mean && !leaps ? "#define SALTUS_CALLS 1\n" : "",
                  tables->by_species ? "" : "#define SALTUS_BY_SPECIES 0\n",
                  tables->n_hubs > 0 ? "#define SALTUS_HUBS 1\n" : "", is_mean);
    saltus_put_distributions(tables, out);
    if (is_written) {
        status = saltus_motion_text(tables, not_in_text(&layout->needs, tables), &motion, err);
        (void)fputs(motion ? motion : "", out);
        free(motion);
    } else {
        if (acts) {
            saltus_put_shared_lists(tables, out);
        }
        (void)fprintf(out, "#include \"kernel/%s.h\"\n",
                      leaps                            ? "tau/tau_global"
                      : is_mean || tables->n_rates > 0 ? "ode/ode_global"
                                                       : "ssa/direct_global");
    }
    if (fclose(out) != 0 && status == SALTUS_OK) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
done:
    return status;
}

saltus_status saltus_layout_compile(const saltus_ssa_layout *layout, const saltus_tables *tables,
                                    const saltus_columns *columns, const saltus_limits *limits,
                                    saltus_image *out, const char **entry, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int wanted = layout->least_blocks;
    char *text = NULL;
    *out = (saltus_image){0};
    switch (layout->state) {
    case SALTUS_STATE_REGISTERS:
        *entry = "saltus_by_worker";
        SALTUS_TRY(saltus_registers_text(
            tables, columns, not_in_text(&layout->needs, tables), layout->block,
            saltus_method_of(layout->needs.method)->leaps, &text, err));
        break;
    case SALTUS_STATE_TABLE:
    case SALTUS_STATE_WARP:
    case SALTUS_STATE_HUBS:
        *entry = "saltus_by_worker";
        SALTUS_TRY(table_text(layout, tables, columns, &text, err));
        break;
    default:
        *entry = "saltus_global";
        SALTUS_TRY(tree_text(layout, tables, &text, err));
    }
    SALTUS_TRY(compile(layout, wanted, columns, text, limits, out, err));
    /* If state in registers spills, fewer threads are better: blocks of a multiprocessor to try, 0
     * for as many as the compiler thinks right. */
    const int tries[] = {wanted - 1, 0, 1};
    for (int i = wanted > 2    ? 0
                 : wanted == 2 ? 1
                 : wanted == 0 ? 2
                               : 3;
         i < 3 && out->usage.spill_bytes > 0 && layout->state == SALTUS_STATE_REGISTERS; ++i) {
        saltus_free(out->image);
        SALTUS_TRY(compile(layout, tries[i], columns, text, limits, out, err));
    }
done:
    free(text);
    return status;
}
