// Options and results of running a candidate on a problem.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/run/problems/problem_data.h"
#include "harness/timing/timing.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "results/record/run_record.h"

namespace sparkbench {

struct RunOptions {
  Pass pass = Pass::kForward;
  bool is_deterministic = false;  // for the backward pass
  bool keeps_outputs = false;     // for a kernel; the plan must then not sample tiles
  Method method;
};

/// Every output of a pass, whole, in the layouts of ForwardTensors and BackwardTensors; outputs
/// that the pass does not compute are empty. Kept outputs include the same kernel's o and lse, even
/// for a backward pass.
struct PassOutputs {
  std::vector<Half> o, dq, dk, dv;
  std::vector<float> lse;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

inline bool same_bits(const PassOutputs& a, const PassOutputs& b) {
  return same_bits(a.o, b.o) && same_bits(a.lse, b.lse) && same_bits(a.dq, b.dq) &&
         same_bits(a.dk, b.dk) && same_bits(a.dv, b.dv);
}

/// Outputs in the words of this type, as the host keeps them (element_type.h).
inline PassOutputs as_host_keeps(ElementType element, PassOutputs outputs) {
  for (std::vector<Half>* tensor : {&outputs.o, &outputs.dq, &outputs.dk, &outputs.dv}) {
    *tensor = as_host_keeps(element, std::move(*tensor));
  }
  return outputs;
}

/// The result of one candidate on one problem.
struct RunOutcome {
  ForwardRows rows;  // the plan's rows of O and LSE, for a pass with a forward or kept outputs
  HalfGradients gradients;  // the plan's rows, for a pass with a backward
  std::optional<EmulationReport> emulation;
  std::uint64_t workspace_bytes = 0;
  std::optional<std::uint64_t> peak_bytes;    // of tensors and workspace, measured
  std::optional<bool> is_bitwise_repeatable;  // two runs on the same inputs gave the same bits
  std::optional<PassOutputs> outputs;         // if they are kept
  std::string violation;  // what it wrote other than its outputs: "its input k"; empty if nothing
  bool has_lse = true;    // of a pass with a forward
  std::optional<double> prepare_s;  // how long the candidate was prepared, if known
};

}  // namespace sparkbench
