// Kernels that are not part of sparkbench (sparkbench_kernel.h): where `--kernel` finds them, and
// what is checked before one is used.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plugin/sparkbench_kernel.h"

namespace sparkbench {

/// A kernel from outside. Its table, and what that points to, live until the process ends.
struct ForeignKernel {
  const sparkbench_kernel* table = nullptr;
  std::string spec;  // the item of --kernel that names only this kernel: "./libmine.so:fast"
  std::string file;  // that it was read from: its hash is recorded. Empty: none
};

/// Loads an item of --kernel: kernels from outside, or nothing if the item is a name or a
/// glob of sparkbench's kernels. Throws UsageError, which names --kernel and the item.
using LoadKernels =
    std::function<std::optional<std::vector<ForeignKernel>>(const std::string& item)>;

/// The LoadKernels of the program. An item with a '/', or that ends in .so, is a shared library;
/// ":name" after it chooses one of its kernels. The library is never unloaded. Throws UsageError
/// for a file that is missing or is no library, a library without entry point or without a kernel
/// for this ABI, and a name that it does not have.
std::optional<std::vector<ForeignKernel>> load_kernel_library(const std::string& item);

/// A kernel whose every field was checked. Names are copies; functions that its maker did not know
/// of are null.
struct CheckedKernel {
  sparkbench_kernel table{};
  std::string name, summary;
  std::optional<std::string> version;
  std::string spec, file_name;           // of ForeignKernel; the latter without its folder
  std::optional<std::string> file_hash;  // FNV-1a of its bytes, 16 hexadecimal digits
};

/// Throws UsageError for a table that is null or too small, lacks a name, prepare() or forward(),
/// has an unknown backend or accumulator, or has a name that is malformed, that another of
/// `kernels` for its backend has, or that one of sparkbench's own has.
std::vector<CheckedKernel> checked_kernels(const std::string& item,
                                           const std::vector<ForeignKernel>& kernels);

}  // namespace sparkbench
