#!/bin/sh
# What the first `make` needs from the system: prints the Python to use, or says what is missing and how to get it.
# Cmake and ninja are not looked for: pip brings them.

complain() {
  printf 'ramify: %s\n' "$*" >&2
  exit 1
}

# A name in PATH proves little (version managers put shims there), so every candidate has to run.
version() {
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

python=""
seen=""
for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3.14 python3 python}; do
  found=$(version "$candidate") || continue
  seen="$seen $candidate ($found)"
  case $found in
    3.11 | 3.12 | 3.13 | 3.14) python=$candidate; break ;;
  esac
done
if [ -z "$python" ]; then
  [ -n "${PYTHON:-}" ] && complain "needs Python 3.11 to 3.14; PYTHON=$PYTHON is ${found:-no Python that runs}"
  complain "needs Python 3.11 to 3.14; found:${seen:- none}." \
    "Install one (Debian: apt install python3-dev python3-venv; macOS: brew install python@3.13) or say where it is:" \
    "make PYTHON=/path/to/python"
fi

"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  complain "$python cannot create virtual environments: on Debian apt install python3-venv"

"$python" -c '
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' ||
  complain "the headers of $python are missing (Python.h): on Debian apt install python3-dev"

works=""
probe=$(mktemp -d) || exit 1
trap 'rm -rf "$probe"' EXIT
printf '%s\n' '#include <bit>' '#include <concepts>' '#include <span>' \
  'template <std::integral T> constexpr int bits(T x) { return std::popcount(x); }' \
  'int main() { return bits(0u); }' >"$probe/probe.cpp"
for compiler in ${CXX:-c++ g++ clang++}; do
  if "$compiler" -std=c++20 -fsyntax-only "$probe/probe.cpp" 2>/dev/null; then
    works=$compiler
    break
  fi
done
[ -n "$works" ] ||
  complain "needs a C++20 compiler (g++ >= 11 or clang >= 14): on Debian apt install g++," \
    "on macOS xcode-select --install${CXX:+ (CXX=$CXX does not compile C++20)}"

printf '%s\n' "$python"
