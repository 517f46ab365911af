// What the machine code of a fast kernel keeps to, and whether a kernel does. The limits are a
// row's of its folder's table (kernels/launch/kernel_instance.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

struct KernelInspection;

struct GateResult {
  std::string_view name;
  std::optional<double> value;  // absent: this kernel's code does not tell, and `reason` says why
  double limit;
  bool is_minimum;  // whether the limit is the least value that holds; else it is the most
  std::string reason = {};

  std::optional<bool> holds() const;
};

/// Every gate, in the order of judge(), for an iteration of the main loop unless said otherwise:
///   stack_bytes             of a thread: spilled registers and arrays with run-time indices; 0
///   local_accesses          loads and stores of local memory anywhere in the kernel; 0
///   narrow_shared_accesses  loads and stores of shared memory under 64 bits a lane; 0
///   barriers                CodeLimits::barriers, while a block goes over barrier_columns
///   data_shuffles           CodeLimits::data_shuffles, for 8 scores of a lane; those of a row's
///                           maximum are not data
///   issue_cap, lsu_cap      see LoopCaps; at least CodeLimits::cap
///   masks                   mask code (mask_code.h) in a pass; 0. Absent where the whole kernel
///                           has not enough of it to be a mask: it may hide scores in another way
std::span<const std::string_view> gate_names();

/// `kernel` has a main loop. A foreign kernel is judged by the limits of a CodeLimits{}, and by the
/// gates that need not know what it computes.
std::vector<GateResult> judge(const KernelInspection& kernel);

}  // namespace sparkbench
