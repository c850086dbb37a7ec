#!/usr/bin/env bash
# Build the core under a sanitizer, in a build folder of its own, and run the tests marked `core` (and not `slow`) against it.
# Usage: tools/sanitize.sh address|thread PYTHON [pytest arguments]
set -euo pipefail
cd "$(dirname "$0")/.."
mode=$1
python=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
shift 2
compiler=${CXX:-c++}
build=build/sanitize-$mode

if [ "$(uname)" != Linux ]; then
  echo "ramify: the sanitizers run on Linux only: elsewhere they cannot be loaded into Python from outside" >&2
  exit 1
fi

# The sanitizer has to be in the process before Python is: the compiler knows where its library lies.
library() {
  local path
  for name in "lib$1.so" "libclang_rt.$1-$(uname -m).so"; do
    path=$("$compiler" -print-file-name="$name")
    if [ "$path" != "$name" ]; then
      realpath "$path"
      return
    fi
  done
  echo "ramify: $compiler has no lib$1: on Debian apt install libasan8 libubsan1 libtsan2" >&2
  return 1
}

case $mode in
  address) preload="$(library asan)"; if ubsan=$(library ubsan 2>/dev/null); then preload="$preload $ubsan"; fi ;;
  thread) preload="$(library tsan)" ;;
  *) echo "ramify: the sanitizers are address and thread, not $mode" >&2; exit 2 ;;
esac

cmake=$("$python" -c 'import cmake, pathlib; print(pathlib.Path(cmake.CMAKE_BIN_DIR) / "cmake")')
ninja=$("$python" -c 'import ninja, pathlib; print(pathlib.Path(ninja.BIN_DIR) / "ninja")')
"$cmake" -S . -B "$build" -G Ninja -DCMAKE_MAKE_PROGRAM="$ninja" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_BUILD_TYPE=Debug -DRAMIFY_SANITIZE="$mode" -DRAMIFY_WERROR=ON \
  -DPython_EXECUTABLE="$python" >/dev/null
"$cmake" --build "$build"
core=$(echo "$PWD/$build"/_core*.so)

# Python's own allocator and the interpreter's deliberate leaks would hide or drown what the core does.
export RAMIFY_CORE=$core PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1
export ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# A report goes past pytest (capture=sys), or it would die with the process. Addresses are not randomised, because
# ThreadSanitizer cannot map its shadow over a widely randomised layout.
run=(env LD_PRELOAD="$preload" "$python" -m pytest -p tools.load_core -m "core and not slow" --capture=sys "$@")
if command -v setarch >/dev/null && setarch -R true 2>/dev/null; then run=(setarch -R "${run[@]}"); fi
exec "${run[@]}"
