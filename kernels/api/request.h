// From the C structs to what kernels take, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/api/prepared_mask.h"
#include "kernels/api/spark_attention.h"
#include "kernels/launch/attention_kernel.h"

namespace sparkbench {

/// A problem, and the kernel of its accumulator that serves a pass of it on its device.
struct Request {
  Problem problem;
  bool is_emulated;
  int device;
  bool is_deterministic;
  const AttentionKernel* kernel;
  std::shared_ptr<PreparedMask> mask;  // of a pattern: null without one
  bool has_text;                       // the pattern is given by its text

  /// Of the memory in which the tensors lie: the emulated backend takes its own.
  std::uint64_t workspace_bytes(Pass pass) const;
};

/// The same of packed sequences (kernels/problem/packed.h).
struct PackedRequest : Request {
  int sequences;

  std::uint64_t workspace_bytes(Pass pass) const;
};

/// Throws std::invalid_argument unless they are lengths of sequences.
void check_lengths(std::int32_t seqlen_q, std::int32_t seqlen_k);

/// The problem alone, whatever computes it. Throws std::invalid_argument that names the field, what
/// it was, and what is allowed.
Problem problem_of(const spark_attention_problem* given);

/// Throws as problem_of(), as describe_gpu(), and ApiError (UNSUPPORTED) where no kernel serves.
Request request_of(const spark_attention_problem* given, std::int32_t pass);

/// Of a problem whose batch counts sequences, and whose seqlen_q and seqlen_k are totals. Each may
/// be 0. Throws as request_of() does, and ApiError (UNSUPPORTED) for patterns.
PackedRequest packed_request_of(const spark_attention_problem* given, std::int32_t pass);

/// What a kernel is to be, besides serving the problem.
struct KernelWish {
  spark_attention_accumulator accumulator;
  bool allow_slow = false;           // also where the device lacks its instruction
  bool is_packed = false;            // of packed sequences
  std::string_view generation = {};  // the first word of its name; empty: any
};

/// Of the registry's kernels that are as wished and serve the pass on the device, the first whose
/// instruction this has and which has both passes, or else the first. Throws ApiError
/// (UNSUPPORTED) with the first reason where there is none, and std::invalid_argument for a
/// generation that no kernel is of.
const AttentionKernel& kernel_for(const Problem& problem, Pass pass, const KernelDevice& device,
                                  const KernelWish& wish);

/// A V100's.
inline constexpr std::size_t kEmulatedSharedBytes = std::size_t{96} << 10;

/// Throw std::invalid_argument for a null, unless it is of a tensor of the problem's that is empty.
ForwardTensors tensors_of(const Problem& problem, const DropoutOffset* offset,
                          const spark_attention_forward_tensors* given);
BackwardTensors tensors_of(const Problem& problem, const DropoutOffset* offset,
                           const spark_attention_backward_tensors* given);

/// Where the kernels read it; null where there is none.
inline const DropoutOffset* offset_of(const spark_attention_problem& given) {
  return reinterpret_cast<const DropoutOffset*>(given.dropout_offset);
}

}  // namespace sparkbench
