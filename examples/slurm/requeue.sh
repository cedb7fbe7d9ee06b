#!/usr/bin/env bash
# A run that is longer than a job may be, or that others may push aside:
#     sbatch requeue.sh result.h5 model.xml --until 100 --runs 1e6
# A minute before the time is up Slurm sends SIGUSR1 to this script, which passes it on. Saltus then
# closes the file and ends with 130, and the job goes back into the queue, to go on with the file.
#SBATCH --job-name=saltus-long
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@60
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
saltus "${verb[@]}" --threads "$SLURM_CPUS_PER_TASK" & # bash hears of signals while it waits
child=$! asked=no
trap 'asked=yes; kill -USR1 $child' USR1

while kill -0 $child 2>/dev/null; do
    wait $child || true # ends at a signal, too
done
code=0
wait $child || code=$?
if [ $asked = yes ] && [ $code -eq 130 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
