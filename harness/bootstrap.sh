#!/usr/bin/env bash
# From a clone to a result, on Debian 12, Ubuntu 24.04 or later, with or without a GPU:
#   bash harness/bootstrap.sh sweep [arguments of `sparkbench sweep`]
#   bash harness/bootstrap.sh test  [arguments of `ctest`]
# Installs what is missing (apt-get), builds in build/ (BUILD_DIR), then runs the main job or the
# tests. With a CUDA toolkit on PATH (or CUDACXX) the GPU path is built for every architecture that
# the toolkit knows; without one the emulated devices do the job.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${BUILD_DIR:-$root/build}

usage() {
  echo "usage: bash harness/bootstrap.sh sweep|test [arguments]" >&2
  exit 2
}

# Debian's name of each package, installed only when dpkg does not have it.
packages=(g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev libgtest-dev
  libbenchmark-dev libboost-context-dev)

install_missing() {
  command -v apt-get >/dev/null || return 0 # CMake fetches the libraries itself
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  echo "Installing ${missing[*]}" >&2
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      echo "bootstrap: missing ${missing[*]}, and neither root nor sudo to install them" >&2
      exit 3
    }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >&2
}

build_all() {
  local options=(-S "$root" -B "$build" -G Ninja)
  local nvcc=${CUDACXX:-$(command -v nvcc || true)}
  if [[ -n $nvcc ]]; then
    # nvcc finds ptxas through PATH: its own toolkit's must come first.
    PATH=$(dirname "$nvcc"):$PATH
    options+=("-DCMAKE_CUDA_COMPILER=$nvcc")
  fi
  cmake "${options[@]}" "${CMAKE_OPTIONS[@]}" >&2
  cmake --build "$build" >&2
}

command=${1:-}
[[ $command == sweep || $command == test ]] || usage
shift
read -ra CMAKE_OPTIONS <<<"${SPARKBENCH_CMAKE_OPTIONS:-}"

install_missing
build_all
case $command in
  sweep) exec "$build/harness/sparkbench" sweep "$@" ;;
  test) exec ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "$@" ;;
esac
