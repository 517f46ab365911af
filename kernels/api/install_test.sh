#!/usr/bin/env bash
# install_test.sh BUILD: installs BUILD, moves the tree, and builds and runs the example against it.
# Exit status 77 where there is no C compiler.
set -euo pipefail
build=$(cd "$1" && pwd)
example=$(cd "$(dirname "${BASH_SOURCE[0]}")/example" && pwd)
command -v "${CC:-cc}" >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" --component library >/dev/null
mv "$work/first" "$work/moved"
if grep -rlF -e "$work/first" -e "$build" "$work/moved" --include='*.cmake'; then
  echo "names a folder that a moved tree does not have" >&2
  exit 1
fi

cp -r "$example" "$work/source" # outside of the tree
# By the build's own generator: there may be no make.
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
cmake -S "$work/source" -B "$work/build" -G "$generator" -DCMAKE_PREFIX_PATH="$work/moved" >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/attention" | tee "$work/output"
grep -q 'as expected' "$work/output"

library=$(find "$work/moved" -name 'libspark_attention.so')
# Symbols that it offers are of the interface, and it asks for nothing but libc.
if nm -D --defined-only "$library" | awk '{ print $NF }' |
  grep -v -e '^spark_attention_' -e '^SPARK_ATTENTION_0$'; then
  echo "is visible and no part of the interface" >&2
  exit 1
fi
readelf -d "$library" | grep -q 'SONAME.*\[libspark_attention.so.0\]'
if readelf -d "$library" | grep NEEDED |
  grep -vE 'lib(c|m|dl|rt|pthread)\.so|ld-linux'; then
  echo "is needed, and not everywhere" >&2
  exit 1
fi
# The room for it is short where a program has loaded other libraries, and dlopen() then fails.
if readelf -d "$library" | grep -q STATIC_TLS; then
  echo "has thread-local memory that has to be there when the program starts" >&2
  exit 1
fi
