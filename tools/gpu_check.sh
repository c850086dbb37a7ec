#!/usr/bin/env bash
# On a machine with a GPU but without package registries: build the core with the Python there, check what needs CUDA, and
# measure. Packages that are missing there are looked for in build/gpu-site (pip install --target, for its Python).
# Usage: tools/gpu_check.sh [folder for the figures]
set -uo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/gpu-figures}
mkdir -p "$out" build
python=${PYTHON:-python3}
export PYTHONPATH=build/gpu-site:src:. PYTHONUNBUFFERED=1
cores=$(nproc)

{
  cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$(command -v "$python")"
  cmake --build build/gpu -j"$cores"
} >"$out/build.log" 2>&1 || { tail -30 "$out/build.log"; exit 1; }
rm -f src/ramify/_core*.so
cp build/gpu/_core*.so src/ramify/

"$python" -m pytest --version >/dev/null 2>&1 && "$python" -m pytest -q -p no:cacheprovider tests/networks/test_cuda.py 2>&1 | tail -15
for run in "hex size=11 6x64" "chess - 10x128"; do
  set -- $run
  options=(--game "$1" --network "$3" --seconds "${SECONDS_EACH:-25}" --device cuda --threads "$cores" ${OPTIONS:-})
  [ "$2" = - ] || options+=(--set "$2")
  echo "== $1 $3"
  "$python" -m ramify bench selfplay "${options[@]}" --json | tee "$out/selfplay-$1.json"
done
