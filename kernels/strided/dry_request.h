// A request for a plan that is read, or timed, and never run.
#pragma once

#include <cstddef>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/launch/attention_kernel.h"
#include "kernels/launch/plan.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"
#include "kernels/strided/kernel_passes.h"

namespace sparkbench {

/// A forward or a backward pass over contiguous tensors at address 0, with the lengths and lists of
/// its problem, which must outlive it; without tables of a mask.
class DryRequest {
 public:
  DryRequest(const AttentionKernel& kernel, const Problem& problem, Pass pass,
             bool is_deterministic, std::size_t shared_bytes_per_block)
      : problem_(problem.lengths ? problem.packed() : problem),
        forward_(contiguous_tensors(problem_, nullptr, nullptr, nullptr, nullptr, nullptr)),
        backward_(contiguous_tensors(problem_, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                     nullptr, nullptr, nullptr)),
        request{problem_, shared_bytes_per_block} {
    request.is_deterministic = is_deterministic;
    if (pass == Pass::kForward) {
      request.forward = &forward_;
    } else {
      request.backward = &backward_;
    }
    if (problem.lengths) {
      lengths_ = packed_lengths(problem);
      request.lengths = &lengths_;
    }
    if (problem.sparse && kernel.listed_instances != nullptr) {
      lists_ = sparse_lists(kernel, problem, pass, is_deterministic);
      request.lists = &lists_;
    }
  }
  DryRequest(const DryRequest&) = delete;  // `request` refers to the members
  DryRequest& operator=(const DryRequest&) = delete;

 private:
  Problem problem_;
  ForwardTensors forward_;
  BackwardTensors backward_;
  PackedLengths lengths_{};
  PatternLists lists_;

 public:
  PlanRequest request;
};

}  // namespace sparkbench
