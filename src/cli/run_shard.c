/* --shard: which part of a run this process has. */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>

/* Variables in which batch systems number processes: this one's number, how many there are, and the
 * first number, where it is not 0. Job arrays come first: each of their jobs may have one process.
 * Slurm: sbatch(1), srun(1); Open MPI: mpirun(1); PMI: MPICH, Intel MPI; PBS and SGE arrays do not
 * say how many there are. HTCondor has no variables of its own: `environment = "…"` of the submit
 * file sets these from $(Process) and the count (docs/clusters.md). */
static const struct {
    const char *number, *count, *first, *step;
} batches[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
     "SLURM_ARRAY_TASK_STEP"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL},
    {"PMI_RANK", "PMI_SIZE", NULL, NULL},
    {"CONDOR_PROCESS", "CONDOR_PROCESSES", NULL, NULL},
    {"SLURM_PROCID", "SLURM_NTASKS", NULL, NULL},
};

static bool read_number(const char *name, int64_t *value)
{
    const char *text = name ? getenv(name) : NULL;
    return text && saltus_cli_int(text, 0, INT64_C(1) << 40, value);
}

static bool find_batch(int64_t *shard, int64_t *n_shards)
{
    for (size_t i = 0; i < sizeof batches / sizeof *batches; ++i) {
        int64_t number, count, first = 0, step = 1;
        if (read_number(batches[i].number, &number) && read_number(batches[i].count, &count) &&
            count > 0) {
            (void)read_number(batches[i].first, &first);
            (void)read_number(batches[i].step, &step);
            *shard = (number - first) / (step > 0 ? step : 1);
            *n_shards = count;
            return *shard >= 0 && *shard < count;
        }
    }
    return false;
}

bool saltus_cli_parse_shard(const char *text, int64_t *shard, int64_t *n_shards)
{
    enum { MOST = 1 << 24 };
    char number[24];
    const char *slash = strchr(text, '/');
    if (strcmp(text, "auto") == 0) { /* a part is resumed anywhere: saltus run alone must know */
        *n_shards = find_batch(shard, n_shards) ? *n_shards : -1;
        return true;
    }
    if (!slash || (size_t)(slash - text) >= sizeof number) {
        return false;
    }
    memcpy(number, text, (size_t)(slash - text));
    number[slash - text] = '\0';
    return saltus_cli_int(slash + 1, 1, MOST, n_shards) &&
           saltus_cli_int(number, 0, *n_shards, shard);
}
