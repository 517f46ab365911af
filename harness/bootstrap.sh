#!/usr/bin/env bash
# From a clone to a result, on Debian 12, Ubuntu 24.04 or later, with or without a GPU:
#   bash harness/bootstrap.sh sweep [--arch LIST] [arguments of `sparkbench sweep`]
#   bash harness/bootstrap.sh test  [--arch LIST] [arguments of `ctest`]
# Installs what is missing (apt-get), builds in build/ (BUILD_DIR), then runs the main job or the
# tests. `sweep` builds the program alone, with CUDA code for the GPUs that nvidia-smi finds, or
# none; `test` builds everything, for every architecture that the toolkit knows. `--arch 70,90`
# says for what instead, on a login node without GPUs. The toolkit is CUDACXX, or the nvcc on PATH.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${BUILD_DIR:-$root/build}
nvcc=${CUDACXX:-$(command -v nvcc || true)}
oldest_architecture=70

readonly usage_error=2 environment_error=3

say() { echo "bootstrap: $*" >&2; }
fail() { # EXIT_CODE MESSAGE...
  say "${@:2}"
  exit "$1"
}

# --- What this machine lacks.

# Debian's name of each package, installed only when dpkg does not have it.
packages_for() { # COMMAND
  echo g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev libboost-context-dev \
    libpng-dev
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

# --- For which GPUs.

# The architectures of this machine's GPUs, as "70;90".
present_architectures() {
  command -v nvidia-smi >/dev/null || return 0
  { nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true; } |
    grep -E '^[0-9]+\.[0-9]$' | tr -d . | sort -nu |
    awk -v oldest=$oldest_architecture '$1 >= oldest' | paste -sd ';' || true
}

# What the toolkit compiles for, as "75 80 90".
known_architectures() {
  { "$nvcc" --list-gpu-code || true; } | sed -n 's/^sm_//p' | sort -n |
    awk -v oldest=$oldest_architecture '$1 + 0 >= oldest' | paste -sd ' '
}

toolkit_version() { "$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p'; }

# Which CUDA compiles for an architecture: harness/devices/gpu_code.cc.
cuda_for() { # ARCHITECTURE
  case ${1%[a-z]} in
    70 | 72) echo "CUDA 12.9 or older" ;;
    75 | 80 | 86 | 87 | 89 | 90) echo "CUDA 11.8 or newer" ;;
    100 | 120) echo "CUDA 12.8 or newer" ;;
    103 | 121) echo "CUDA 12.9 or newer" ;;
    *) echo "another CUDA" ;;
  esac
}

# Says which GPUs of this machine the program will refuse: those older than all that it is built
# for. A newer one runs an older one's code, translated by its driver where it must be.
tell_left_out() { # ARCHITECTURES that are built for, as "70;90"
  local architecture oldest
  oldest=$(tr ';' '\n' <<<"${1//[a-z]/}" | sort -n | sed -n 1p)
  for architecture in $(present_architectures | tr ';' ' '); do
    ((architecture >= oldest)) ||
      say "this machine has a GPU of sm_$architecture, which the program will refuse: nothing is" \
        "built for it; take $(cuda_for "$architecture") (CUDACXX) and --arch $architecture"
  done
}

require_known() { # ARCHITECTURES, as "70;90"
  local known architecture cure
  command -v "$nvcc" >/dev/null || fail $environment_error "CUDACXX=$nvcc is no compiler"
  known=$(known_architectures)
  for architecture in ${1//;/ }; do
    [[ " $known " == *" $architecture "* ]] && continue
    cure=$(cuda_for "$architecture")
    fail $environment_error "CUDA $(toolkit_version) ($nvcc) does not know sm_$architecture, only" \
      "sm_${known// /, sm_}; set CUDACXX to the nvcc of $cure, or name other GPUs by --arch"
  done
}

parse_arch() { # LIST, as "70,90"
  local architecture
  [[ $1 =~ ^[0-9]{2,3}[a-z]?(,[0-9]{2,3}[a-z]?)*$ ]] ||
    fail $usage_error "--arch '$1': not a list of architectures; write 70, or 70,90"
  for architecture in ${1//,/ }; do
    ((${architecture%[a-z]} >= oldest_architecture)) ||
      fail $usage_error \
        "--arch $architecture: sm_$oldest_architecture is the oldest with tensor cores"
  done
}

# Sets cuda_options, of CMake: for a sweep what is asked for, else what is there; for tests all.
choose_cuda() { # COMMAND ARCH_LIST
  local architectures=${2//,/;}
  if [[ -z $architectures && $1 == sweep ]]; then
    architectures=$(present_architectures)
    if [[ -n $architectures && -z $nvcc ]]; then
      say "GPUs of sm_${architectures//;/, sm_}, but no nvcc on PATH and no CUDACXX: building for" \
        "the emulated devices only"
      architectures=
    fi
    if [[ -z $architectures ]]; then
      cuda_options=(-DSPARKBENCH_CUDA=OFF)
      return
    fi
  fi
  cuda_options=(-DSPARKBENCH_CUDA=ON -USPARKBENCH_VOLTA_ARCHITECTURES -USPARKBENCH_VOLTA_CUDA_FLAGS)
  if [[ -n $architectures ]]; then
    [[ -n $nvcc ]] || fail $environment_error "--arch $2 needs nvcc: none on PATH, and no CUDACXX"
    require_known "$architectures"
    cuda_options+=("-DCMAKE_CUDA_ARCHITECTURES=$architectures")
    tell_left_out "$architectures"
  else
    cuda_options+=(-UCMAKE_CUDA_ARCHITECTURES)
    [[ -z $nvcc ]] || tell_left_out "$(known_architectures | tr ' ' ';')"
  fi
  if [[ -n $nvcc ]]; then
    # nvcc finds ptxas through PATH: its own toolkit's must come first.
    PATH=$(dirname "$nvcc"):$PATH
    cuda_options+=("-DCMAKE_CUDA_COMPILER=$nvcc")
  fi
}

# --- The two commands. Every option is given each time, so that they may share a build folder.

configure() { # TESTS
  local extra
  read -ra extra <<<"${SPARKBENCH_CMAKE_OPTIONS:-}"
  cmake -S "$root" -B "$build" -G Ninja "-DSPARKBENCH_TESTS=$1" -DSPARKBENCH_QUICK_BUILD=ON \
    "${cuda_options[@]}" "${extra[@]}" >&2
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
    fail $usage_error "usage: bash harness/bootstrap.sh sweep|test [--arch LIST] [arguments]"
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
