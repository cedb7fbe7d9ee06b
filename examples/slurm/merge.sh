#!/usr/bin/env bash
# The parts that array.sh has made become one file:
#     sbatch --dependency=afterok:JOB merge.sh result.h5
# It refuses when a part is missing or incomplete, and says which.
#SBATCH --job-name=saltus-merge
#SBATCH --ntasks=1
#SBATCH --time=01:00:00
#SBATCH --output=merge.log
set -euo pipefail

saltus merge part-*.h5 -o "$1"
