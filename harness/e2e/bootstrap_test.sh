#!/usr/bin/env bash
# What bootstrap.sh builds and rejects. Fakes of CMake, nvcc and the package manager are on PATH,
# with only a few other tools. .cmake/cuda_choice_test.py tests CMake's part.
set -uo pipefail

bootstrap=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/bootstrap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

stub() { # NAME BODY
  printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# A machine with an nvcc, or with "" without one.
machine() { # NVCC
  rm -rf "$work/bin" "$work/build" "$work/log"
  mkdir -p "$work/bin"
  local tool
  for tool in bash cat chmod dirname grep mkdir nproc; do
    ln -s "$(command -v "$tool")" "$work/bin/$tool"
  done
  stub c++ ''
  stub ninja ''
  stub dpkg-query 'echo install ok installed'
  stub apt-get 'echo "apt-get is not to be called" >&2; exit 1'
  stub ctest 'echo "ctest $*"'
  stub cmake "echo \"cmake \$*\" >>'$work/log'
if [[ \$1 == --build ]]; then
  mkdir -p \"\$2/harness\"
  printf '#!/bin/bash\necho \"sparkbench \$*\"\n' >\"\$2/harness/sparkbench\"
  chmod +x \"\$2/harness/sparkbench\"
fi"
  [[ -z $1 ]] || stub "$1" ''
}

# Runs bootstrap.sh. Sets status, and says: its output and CMake's arguments.
run() {
  says=$(PATH=$work/bin CUDACXX='' SPARKBENCH_CMAKE_OPTIONS='' BUILD_DIR=$work/build \
    "$work/bin/bash" "$bootstrap" "$@" 2>&1)
  status=$?
  [[ ! -f $work/log ]] || says+=$'\n'$(cat "$work/log")
}

expect() { # STATUS TEXT..., a text that starts with ! being one that is not said
  local text wanted=$1
  shift
  ((status == wanted)) || report "exit status $status, not $wanted"
  for text in "$@"; do
    case $text in
      !*) [[ $says != *"${text#!}"* ]] || report "says '${text#!}'" ;;
      *) [[ $says == *"$text"* ]] || report "does not say '$text'" ;;
    esac
  done
}

report() {
  printf 'FAILED %s: %s. It said:\n%s\n\n' "$test_name" "$1" "$says"
  failures=$((failures + 1))
}

refuses_what_it_does_not_know() {
  machine ""
  run; expect 2 "usage: " "sweep|test"
  run build; expect 2 "unknown command 'build'" "usage: "
}

builds_the_program_alone_for_a_sweep() {
  machine ""
  run sweep --preset quick; expect 0 "--target sparkbench" "-DSPARKBENCH_TESTS=OFF" \
    "-DSPARKBENCH_QUICK_BUILD=ON" "-DSPARKBENCH_VOLTA_ARCHITECTURES= " \
    "built $work/build/harness/sparkbench" "sparkbench sweep --preset quick"
}

takes_what_cmake_finds() {
  machine nvcc
  run sweep; expect 0 "-DSPARKBENCH_CUDA=ON -UCMAKE_CUDA_ARCHITECTURES" \
    "-DCMAKE_CUDA_COMPILER=$work/bin/nvcc"
  machine ""
  run sweep; expect 0 "-DSPARKBENCH_CUDA=ON -UCMAKE_CUDA_ARCHITECTURES" "!CMAKE_CUDA_COMPILER"
}

takes_architectures_for_a_login_node() {
  machine nvcc
  run sweep --arch 70,90 --seqlen 64; expect 0 "-DCMAKE_CUDA_ARCHITECTURES=70;90 " \
    "sparkbench sweep --seqlen 64" "!sweep --arch"
  run sweep --seqlen 64 --arch=70; expect 0 "-DCMAKE_CUDA_ARCHITECTURES=70 "
}

leaves_cuda_out_where_asked() {
  machine nvcc
  run sweep --arch none; expect 0 "-DSPARKBENCH_CUDA=OFF" "!CMAKE_CUDA_COMPILER" "!--arch"
}

refuses_architectures_that_are_none() {
  machine nvcc
  local list
  for list in "" volta 7.0 70,,90 70,; do
    run sweep --arch "$list"; expect 2 "--arch '$list'" "70,90" "!cmake"
  done
  run sweep --arch; expect 2 "--arch ''"
}

says_how_to_answer_an_error_of_cmake() {
  machine ""
  stub cmake 'echo "CUDA 13.0 cannot compile for sm_70" >&2; exit 1'
  run sweep; expect 3 "cannot compile for sm_70" "--arch LIST names GPUs" "--arch none"
}

compiles_voltas_kernels_for_every_gpu_to_test_them() {
  machine nvcc
  run test -L cpu; expect 0 "-DSPARKBENCH_TESTS=ON" "-DSPARKBENCH_QUICK_BUILD=ON" \
    "-DSPARKBENCH_CUDA=ON" "-DSPARKBENCH_VOLTA_ARCHITECTURES=all" "!--target" \
    "ctest --test-dir $work/build" "-L cpu"
}

gives_each_option_each_time() {
  machine nvcc
  run sweep; expect 0 "-DSPARKBENCH_TESTS=OFF"
  : >"$work/log"
  run test; expect 0 "-DSPARKBENCH_TESTS=ON" "-DSPARKBENCH_VOLTA_ARCHITECTURES=all" \
    "-USPARKBENCH_VOLTA_CUDA_FLAGS"
  : >"$work/log"
  run sweep; expect 0 "-DSPARKBENCH_TESTS=OFF" "-DSPARKBENCH_VOLTA_ARCHITECTURES= " \
    "-USPARKBENCH_VOLTA_CUDA_FLAGS"
}

names_the_tool_that_is_missing() {
  machine ""
  rm "$work/bin/ninja"
  run sweep; expect 3 "no ninja on PATH"
}

for test_name in refuses_what_it_does_not_know builds_the_program_alone_for_a_sweep \
  takes_what_cmake_finds takes_architectures_for_a_login_node leaves_cuda_out_where_asked \
  refuses_architectures_that_are_none says_how_to_answer_an_error_of_cmake \
  compiles_voltas_kernels_for_every_gpu_to_test_them gives_each_option_each_time \
  names_the_tool_that_is_missing; do
  "$test_name"
done
((failures == 0)) && echo "bootstrap_test: all passed"
exit $((failures > 0))
