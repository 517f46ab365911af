// What a kernel takes of an SM, as the assembler recorded it in the binary.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

struct KernelResources {
  int registers;     // a thread
  int stack_bytes;   // a thread: arrays with run-time indices, and spilled registers
  int local_bytes;   // a thread: local memory beside the stack
  int shared_bytes;  // a block, known at compile time
};

struct ResourceUsage {
  std::string symbol;     // mangled
  std::optional<int> sm;  // absent from the listing of a cubin
  KernelResources resources;
};

/// A `cuobjdump -res-usage` listing. Throws std::runtime_error for a function whose line of
/// registers and memory is missing or malformed.
std::vector<ResourceUsage> parse_resource_usage(std::string_view listing);

/// Throws std::runtime_error when the function is not there.
const KernelResources& resources_of(std::span<const ResourceUsage> usages, std::string_view symbol,
                                    int sm);

}  // namespace sparkbench
