#!/usr/bin/env bash
# On a machine with a GPU but without package registries: build the core with the Python there. Packages that are missing
# there are looked for in build/gpu-site (pip install --target, for its Python). Source it: it sets PYTHONPATH and $python.
python=${PYTHON:-python3}
export PYTHONPATH=build/gpu-site:src:. PYTHONUNBUFFERED=1
mkdir -p build
{
  cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$(command -v "$python")"
  cmake --build build/gpu -j"$(nproc)"
} >build/gpu.log 2>&1 || { tail -30 build/gpu.log; exit 1; }
rm -f src/ramify/_core*.so
cp build/gpu/_core*.so src/ramify/
