#include "measure/tables.h"

#include "backend/cuda/upload.h"
#include "model/network.h"

saltus_table_sizes saltus_tables_measure(const saltus_model *model)
{
    const saltus_tables *t = &model->network->tables;
    const size_t reactions = (size_t)t->n_reactions, species = (size_t)t->n_species;
    const size_t changes = (size_t)t->change_row[reactions];
    const size_t factors = (size_t)t->factor_row[reactions];
    return (saltus_table_sizes){
        .dense = 2 * species * reactions * sizeof(int32_t) + reactions * sizeof *t->rate,
        .compressed = (reactions + 1) * (sizeof *t->change_row + sizeof *t->factor_row) +
                      changes * (sizeof *t->change_species + sizeof *t->change_amount) +
                      factors * (sizeof *t->factor_species + sizeof *t->factor_offset) +
                      reactions * sizeof *t->rate,
        .all = saltus_upload_size(t),
    };
}
