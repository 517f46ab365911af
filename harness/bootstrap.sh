#!/usr/bin/env bash
# From a clone to a result, on Debian 12, Ubuntu 24.04 or later, with or without a GPU:
#   bash harness/bootstrap.sh sweep [--arch LIST|none] [arguments of `sparkbench sweep`]
#   bash harness/bootstrap.sh test  [--arch LIST|none] [arguments of `ctest`]
# Installs missing packages (apt-get), builds in build/ (BUILD_DIR), then runs the sweep or the tests.
# `sweep` builds only the program, `test` everything. Both build CUDA code for the GPUs that
# nvidia-smi finds, and stop if the toolkit cannot (.cmake/CudaChoice.cmake). On a login node without
# GPUs, `--arch 70,90` names the architectures; `--arch none` leaves CUDA out. The toolkit is CUDACXX,
# or the nvcc on PATH.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${BUILD_DIR:-$root/build}
nvcc=${CUDACXX:-$(command -v nvcc || true)}

readonly usage_error=2 environment_error=3

say() { echo "bootstrap: $*" >&2; }
fail() { # EXIT_CODE MESSAGE...
  say "${@:2}"
  exit "$1"
}

# --- Missing packages.

# Debian's package names; a package is installed only if dpkg does not have it.
packages_for() { # COMMAND
  echo g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev libboost-context-dev \
    libtomlplusplus-dev
  [[ $1 == sweep ]] || echo libgtest-dev libbenchmark-dev
}

is_installed() { # PACKAGE
  dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'
}

install_missing() { # COMMAND
  command -v apt-get >/dev/null || return 0 # CMake fetches the libraries itself
  local missing=() package as_root=()
  for package in $(packages_for "$1"); do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      say "missing ${missing[*]}, and neither root nor sudo to install them; CMake fetches" \
        "libraries"
      return 0
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >&2
}

require_build_tools() {
  local tool
  for tool in "${CXX:-c++}" cmake ninja; do
    command -v "$tool" >/dev/null || fail $environment_error "no $tool on PATH"
  done
}

# --- GPU architectures.

parse_arch() { # LIST, as "70,90"
  [[ $1 == none || $1 =~ ^[0-9]{2,3}a?(,[0-9]{2,3}a?)*$ ]] ||
    fail $usage_error "--arch '$1': not a list of architectures; write 70, or 70,90, or none"
}

# Sets cuda_options, of CMake.
choose_cuda() { # COMMAND ARCH_LIST
  local volta=
  [[ $1 == sweep ]] || volta=all # its tests run on whatever GPU is there
  case $2 in
    none) cuda_options=(-DSPARKBENCH_CUDA=OFF) ;;
    "") cuda_options=(-DSPARKBENCH_CUDA=ON -UCMAKE_CUDA_ARCHITECTURES) ;;
    *) cuda_options=(-DSPARKBENCH_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=${2//,/;}") ;;
  esac
  cuda_options+=("-DSPARKBENCH_VOLTA_ARCHITECTURES=$volta" -USPARKBENCH_VOLTA_CUDA_FLAGS)
  [[ -z $nvcc || $2 == none ]] || cuda_options+=("-DCMAKE_CUDA_COMPILER=$nvcc")
}

# --- The two commands. Both set every option, so that they can share a build folder.

configure() { # TESTS
  local extra
  read -ra extra <<<"${SPARKBENCH_CMAKE_OPTIONS:-}"
  cmake -S "$root" -B "$build" -G Ninja "-DSPARKBENCH_TESTS=$1" -DSPARKBENCH_QUICK_BUILD=ON \
    "${cuda_options[@]}" "${extra[@]}" >&2 ||
    fail $environment_error "CMake ended with an error; here --arch LIST names GPUs, and --arch none" \
      "leaves CUDA out"
}

sweep() {
  configure OFF
  cmake --build "$build" --target sparkbench >&2
  say "built $build/harness/sparkbench in $SECONDS s"
  exec "$build/harness/sparkbench" sweep "$@"
}

tests() {
  configure ON
  cmake --build "$build" >&2
  say "built $build in $SECONDS s; the program is $build/harness/sparkbench"
  exec ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "$@"
}

command=${1:-}
case $command in
  sweep | test) shift ;;
  *)
    [[ -z $command ]] || say "unknown command '$command'"
    fail $usage_error "usage: bash harness/bootstrap.sh sweep|test [--arch LIST|none] [arguments]"
    ;;
esac

arch_list= arguments=()
while (($#)); do
  case $1 in
    --arch) parse_arch "${2:-}" && arch_list=$2 && shift ;;
    --arch=*) parse_arch "${1#*=}" && arch_list=${1#*=} ;;
    *) arguments+=("$1") ;;
  esac
  shift
done

install_missing "$command"
require_build_tools
choose_cuda "$command" "$arch_list"
if [[ $command == sweep ]]; then sweep "${arguments[@]}"; else tests "${arguments[@]}"; fi
