/* --shard: which part of a run this process has. */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHARDS = 1 << 24 };

/* Variables in which batch systems number processes: this one's number, how many there are, and, of
 * arrays whose numbers do not begin with 0, the first and the last number and the step. Job arrays
 * come first: each of their jobs may have one process. Slurm: sbatch(1), srun(1); Open MPI:
 * mpirun(1); PMI: MPICH, Intel MPI; PBS and SGE arrays do not say how many there are. HTCondor has
 * no variables of its own: `environment = "…"` of the submit file sets these from $(Process) and
 * the count (docs/clusters.md). */
static const struct {
    const char *number, *count, *first, *last, *step;
} batches[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
     "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL, NULL},
    {"PMI_RANK", "PMI_SIZE", NULL, NULL, NULL},
    {"CONDOR_PROCESS", "CONDOR_PROCESSES", NULL, NULL, NULL},
    {"SLURM_PROCID", "SLURM_NTASKS", NULL, NULL, NULL},
};

static bool read_number(const char *name, int64_t *value)
{
    const char *text = name ? getenv(name) : NULL;
    return text && saltus_cli_int(text, 0, INT64_C(1) << 40, value);
}

/* The part that a batch system's numbers say. Of an array in which some numbers are left out, or of
 * a single job of one, it would be another part of another whole than was meant. Returns -1, or the
 * exit code. */
static int take_from_batch(saltus_cli_run_arguments *a)
{
    for (size_t i = 0; i < sizeof batches / sizeof *batches; ++i) {
        const bool is_array = batches[i].first != NULL;
        int64_t number, count, first = 0, last, step = 1;
        if (!read_number(batches[i].number, &number) || !read_number(batches[i].count, &count)) {
            continue;
        }
        (void)read_number(batches[i].first, &first);
        (void)read_number(batches[i].step, &step);
        step = step > 0 ? step : 1;
        last = first + (count - 1) * step;
        (void)read_number(batches[i].last, &last);
        if (count < 1 || count > MOST_SHARDS || number < first || number > last ||
            (number - first) % step != 0 || last != first + (count - 1) * step ||
            (is_array && (count == 1 || first > 1))) {
            return saltus_cli_usage("--shard auto: %s is %lld, and %s is %lld: that is no part of "
                                    "a whole%s; --shard I/N says which part of how many it is",
                                    batches[i].number, (long long)number, batches[i].count,
                                    (long long)count, is_array ? " array from 0 or 1 on" : "");
        }
        a->shard = (number - first) / step;
        a->n_shards = count;
        return -1;
    }
    return saltus_cli_usage("--shard auto: no batch system has numbered this process, as by %s or "
                            "%s; --shard I/N says which part of how many it is",
                            batches[0].number, batches[1].number);
}

int saltus_cli_take_shard(saltus_cli_run_arguments *a)
{
    char number[24] = "";
    if (!a->shard_text) {
        return -1;
    }
    if (strcmp(a->shard_text, "auto") == 0) {
        return take_from_batch(a);
    }
    const char *slash = strchr(a->shard_text, '/');
    if (slash && (size_t)(slash - a->shard_text) < sizeof number) {
        memcpy(number, a->shard_text, (size_t)(slash - a->shard_text));
    }
    return slash && saltus_cli_int(slash + 1, 1, MOST_SHARDS, &a->n_shards) &&
                   saltus_cli_int(number, 0, a->n_shards, &a->shard)
               ? -1
               : saltus_cli_usage("--shard '%s': I/N, with I from 0 to N, or auto in a batch job, "
                                  "is needed",
                                  a->shard_text);
}
