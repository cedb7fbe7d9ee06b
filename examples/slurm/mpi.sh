#!/usr/bin/env bash
# One run on several hosts, a rank on each, with all of its cores:
#     sbatch mpi.sh result.h5 model.xml --until 100 --runs 1e6
# A minute before the time is up Slurm sends SIGUSR1 to the ranks. Saltus then closes the file and
# ends with 130, and the job goes back into the queue, to go on with the file.
#SBATCH --job-name=saltus-mpi
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
#SBATCH --signal=USR1@60
#SBATCH --requeue
#SBATCH --output=saltus-%j.log
#SBATCH --open-mode=append
set -euo pipefail

result=$1
shift
if [ -e "$result" ]; then
    verb=(resume "$result")
else
    verb=(run "$@" -o "$result")
fi
code=0
srun --mpi=pmix --cpus-per-task="$SLURM_CPUS_PER_TASK" \
    saltus "${verb[@]}" --threads "$SLURM_CPUS_PER_TASK" || code=$?
if [ "$code" -eq 130 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
