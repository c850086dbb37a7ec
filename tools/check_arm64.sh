#!/usr/bin/env bash
# Compile every translation unit of the core for arm64, for syntax only: catches what only x86 has.
# Usage: tools/check_arm64.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
compiler=${ARM64_CXX:-aarch64-linux-gnu-g++}

if ! command -v "$compiler" >/dev/null; then
  echo "ramify: needs $compiler: on Debian apt install g++-aarch64-linux-gnu" >&2
  exit 1
fi

headers=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
nanobind=$("$python" -m nanobind --include_dir)
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
mapfile -t units < <(find cpp -name '*.cpp'; find build/"$tag"-*/generated -name '*.cpp')

# Debian's pyconfig.h asks for one per architecture; any 64-bit one will do where nothing is linked.
triplet=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("MULTIARCH") or "")')
shim=$(mktemp -d)
trap 'rm -rf "$shim"' EXIT
if [ -n "$triplet" ] && [ -d "/usr/include/$triplet" ]; then ln -s "/usr/include/$triplet" "$shim/aarch64-linux-gnu"; fi

printf '%s\0' "${units[@]}" | xargs -0 -n 1 -P 2 "$compiler" -std=c++20 -fsyntax-only -fvisibility=hidden \
  -Wall -Wextra -Wpedantic -Werror -Wno-restrict \
  -I cpp -isystem "$headers" -isystem "$nanobind" -isystem "$shim"
echo "arm64: ${#units[@]} files compile"
