#!/usr/bin/env bash
# Check what needs CUDA, and measure, on a machine as gpu_build.sh describes it.
# Usage: tools/gpu_check.sh [folder for the figures]
set -uo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/gpu-figures}
mkdir -p "$out"
source tools/gpu_build.sh
cores=$(nproc)

"$python" -m pytest --version >/dev/null 2>&1 && "$python" -m pytest -q -p no:cacheprovider tests/networks/test_cuda.py 2>&1 | tail -15
for run in "hex size=11 6x64" "chess - 10x128"; do
  set -- $run
  options=("$1" --network "$3" --seconds "${SECONDS_EACH:-25}" --device cuda --threads "$cores" ${OPTIONS:-})
  [ "$2" = - ] || options+=(-p "$2")
  echo "== $1 $3"
  "$python" -m ramify bench "${options[@]}" --json | tee "$out/selfplay-$1.json"
done
