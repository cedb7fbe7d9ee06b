#!/usr/bin/env bash
# A run in parts: each job of the array simulates one of them, and merge.sh joins them.
#     parts=$(sbatch --parsable array.sh model.xml --until 100 --runs 1e6)
#     sbatch --dependency=afterok:"$parts" merge.sh result.h5
# Behind the script stand the model and options of `saltus run`, but for -o. Submitted once more in
# the same folder, it goes on with parts that were stopped, and leaves alone those that are complete.
# Some of eight parts alone:
#     PARTS=8 sbatch --array=3,5 array.sh model.xml --until 100 --runs 1e6
#SBATCH --job-name=saltus-parts
#SBATCH --array=0-7
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --output=part-%a.log
#SBATCH --open-mode=append
set -euo pipefail

part=$(printf 'part-%04d.h5' "$SLURM_ARRAY_TASK_ID")
if [ -e "$part" ]; then
    exec saltus resume "$part" --threads "$SLURM_CPUS_PER_TASK"
fi
shard=${PARTS:+$SLURM_ARRAY_TASK_ID/$PARTS}
exec saltus run "$@" --shard "${shard:-auto}" --threads "$SLURM_CPUS_PER_TASK" -o "$part"
