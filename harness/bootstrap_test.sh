#!/usr/bin/env bash
# What bootstrap.sh builds and refuses. Stubs stand for CMake, the CUDA toolkit, the GPUs and the
# package manager, and are all that PATH has beside a few tools.
set -uo pipefail

bootstrap=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/bootstrap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

stub() { # NAME BODY
  printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# A machine with a toolkit of these architectures ("" for none) and GPUs of these capabilities.
machine() { # TOOLKIT_VERSION "70 75" "7.0 9.0"
  rm -rf "$work/bin" "$work/build" "$work/log"
  mkdir -p "$work/bin"
  local tool
  for tool in awk bash cat chmod dirname grep mkdir nproc paste sed sort tr; do
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
  if [[ -n $1 ]]; then
    stub nvcc "case \$1 in
  --version) echo 'Cuda compilation tools, release $1, V$1.1' ;;
  --list-gpu-code) printf 'sm_%s\n' $2 ;;
esac"
  fi
  [[ -z $3 ]] || stub nvidia-smi "printf '%s\n' $3"
}

# Runs bootstrap.sh; sets status, and says: its output and what CMake was asked.
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
  machine "" "" ""
  run; expect 2 "usage: " "sweep|test"
  run build; expect 2 "unknown command 'build'" "usage: "
}

builds_the_program_alone_for_a_sweep() {
  machine "" "" ""
  run sweep --preset quick; expect 0 "--target sparkbench" "-DSPARKBENCH_TESTS=OFF" \
    "-DSPARKBENCH_QUICK_BUILD=ON" "-DSPARKBENCH_CUDA=OFF" \
    "built $work/build/harness/sparkbench" "sparkbench sweep --preset quick"
}

leaves_cuda_out_without_a_gpu() {
  machine 12.4 "70 75 80 90" ""
  run sweep; expect 0 "-DSPARKBENCH_CUDA=OFF" "!CMAKE_CUDA_COMPILER"
}

builds_for_the_gpus_that_are_there() {
  machine 12.4 "70 75 80 90" "9.0 7.0 9.0"
  run sweep; expect 0 "-DSPARKBENCH_CUDA=ON" "-DCMAKE_CUDA_ARCHITECTURES=70;90 " \
    "-DCMAKE_CUDA_COMPILER=$work/bin/nvcc"
}

says_that_a_gpu_lacks_a_toolkit() {
  machine "" "" "7.0"
  run sweep; expect 0 "sm_70, but no nvcc" "-DSPARKBENCH_CUDA=OFF"
}

ignores_gpus_without_tensor_cores() {
  machine 12.4 "60 70" "6.1"
  run sweep; expect 0 "-DSPARKBENCH_CUDA=OFF"
}

takes_architectures_for_a_login_node() {
  machine 12.4 "70 75 80 90" ""
  run sweep --arch 70,90 --seqlen 64; expect 0 "-DCMAKE_CUDA_ARCHITECTURES=70;90 " \
    "sparkbench sweep --seqlen 64" "!sweep --arch"
  run sweep --seqlen 64 --arch=70; expect 0 "-DCMAKE_CUDA_ARCHITECTURES=70 "
}

refuses_architectures_that_are_none() {
  machine 12.4 "60 70 90" ""
  local list
  for list in "" volta 7.0 70,,90 70,; do
    run sweep --arch "$list"; expect 2 "--arch '$list'" "70,90" "!cmake"
  done
  run sweep --arch; expect 2 "--arch ''"
  run sweep --arch 60; expect 2 "--arch 60" "sm_70 is the oldest"
}

names_the_toolkit_that_is_too_new() {
  machine 13.0 "75 80 90" "7.0"
  run sweep; expect 3 "CUDA 13.0" "does not know sm_70, only sm_75, sm_80, sm_90" \
    "CUDA 12.9 or older" "!cmake"
  run sweep --arch 70; expect 3 "does not know sm_70"
  run sweep --arch 90,103; expect 3 "does not know sm_103" "CUDA 12.9 or newer"
  run sweep --arch 90,140; expect 3 "does not know sm_140" "another CUDA"
}

says_which_gpu_is_left_out() {
  machine 13.0 "75 80 90" "7.0"
  run test; expect 0 "a GPU of sm_70, which the program will refuse" "CUDA 12.9 or older" \
    "--arch 70" "-DSPARKBENCH_CUDA=ON"
  machine 12.4 "70 75 80 90" "7.0 9.0"
  run sweep --arch 90; expect 0 "a GPU of sm_70, which the program will refuse" "!of sm_90"
  run sweep; expect 0 "!will refuse"
  run test; expect 0 "!will refuse"
}

wants_a_toolkit_for_named_architectures() {
  machine "" "" ""
  run sweep --arch 70; expect 3 "--arch 70 needs nvcc"
}

tests_all_that_the_toolkit_knows() {
  machine 12.4 "70 75 80 90" ""
  run test -L cpu; expect 0 "-DSPARKBENCH_TESTS=ON" "-DSPARKBENCH_QUICK_BUILD=ON" \
    "-DSPARKBENCH_CUDA=ON" "-UCMAKE_CUDA_ARCHITECTURES" "!--target" \
    "ctest --test-dir $work/build" "-L cpu"
}

gives_each_option_each_time() {
  machine 12.4 "70 75" "7.0"
  run sweep; expect 0 "-DSPARKBENCH_TESTS=OFF"
  : >"$work/log"
  run test; expect 0 "-DSPARKBENCH_TESTS=ON" "-UCMAKE_CUDA_ARCHITECTURES" \
    "-USPARKBENCH_VOLTA_ARCHITECTURES" "-USPARKBENCH_VOLTA_CUDA_FLAGS"
  : >"$work/log"
  run sweep; expect 0 "-DSPARKBENCH_TESTS=OFF" "-DCMAKE_CUDA_ARCHITECTURES=70 " \
    "-USPARKBENCH_VOLTA_ARCHITECTURES" "-USPARKBENCH_VOLTA_CUDA_FLAGS"
}

names_the_tool_that_is_missing() {
  machine "" "" ""
  rm "$work/bin/ninja"
  run sweep; expect 3 "no ninja on PATH"
}

for test_name in refuses_what_it_does_not_know builds_the_program_alone_for_a_sweep \
  leaves_cuda_out_without_a_gpu builds_for_the_gpus_that_are_there \
  says_that_a_gpu_lacks_a_toolkit ignores_gpus_without_tensor_cores \
  takes_architectures_for_a_login_node refuses_architectures_that_are_none \
  names_the_toolkit_that_is_too_new says_which_gpu_is_left_out \
  wants_a_toolkit_for_named_architectures \
  tests_all_that_the_toolkit_knows gives_each_option_each_time names_the_tool_that_is_missing; do
  "$test_name"
done
((failures == 0)) && echo "bootstrap_test: all passed"
exit $((failures > 0))
