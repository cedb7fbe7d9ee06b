#!/usr/bin/env bash
# One run on ranks where srun cannot start MPI's processes; mpirun asks Slurm for hosts and counts:
#     sbatch mpirun.sh result.h5 model.xml --until 100 --runs 1e6
# Once it is stopped, the same line goes on with its file.
#SBATCH --job-name=saltus-mpirun
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
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
mpirun --bind-to none saltus "${verb[@]}" --threads "$SLURM_CPUS_PER_TASK"
