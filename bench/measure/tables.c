#include "bench/measure/tables.h"

#include "backend/cuda/ssa/packing.h"
#include "core/memory.h"
#include "model/network/network.h"

saltus_status saltus_tables_measure(const saltus_model *model, saltus_table_sizes *out,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &model->network->tables;
    const size_t reactions = (size_t)t->n_reactions, species = (size_t)t->n_species;
    const size_t changes = (size_t)t->change_row[reactions];
    const size_t factors = (size_t)t->factor_row[reactions];
    const char *against = saltus_packing_against(t, false);
    saltus_packed packed;
    if (against) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "model '%s' cannot be packed: %s", model->name, against);
    }
    SALTUS_TRY(saltus_pack(t, false, &packed, err));
    saltus_free((char *)packed.tables);
    *out = (saltus_table_sizes){
        .dense = 2 * species * reactions * sizeof(int32_t) + reactions * sizeof *t->rate,
        .compressed = (reactions + 1) * (sizeof *t->change_row + sizeof *t->factor_row) +
                      changes * (sizeof *t->change_species + sizeof *t->change_amount) +
                      factors * (sizeof *t->factor_species + sizeof *t->factor_offset) +
                      reactions * sizeof *t->rate,
        .packed = packed.bytes,
    };
done:
    return status;
}
