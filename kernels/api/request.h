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

  /// In the memory of the tensors; the emulated backend allocates its own.
  std::uint64_t workspace_bytes(Pass pass) const;
};

/// The same for varlen (kernels/problem/packed.h).
struct PackedRequest : Request {
  int sequences;

  std::uint64_t workspace_bytes(Pass pass) const;
};

/// Throws std::invalid_argument unless they are lengths of sequences.
void check_lengths(std::int32_t seqlen_q, std::int32_t seqlen_k);

/// The problem by itself, whichever kernel computes it. Throws std::invalid_argument that names the
/// field, its value, and what is allowed.
Problem problem_of(const spark_attention_problem* given);

/// Throws as problem_of(), as describe_gpu(), and ApiError (UNSUPPORTED) where no kernel serves.
Request request_of(const spark_attention_problem* given, std::int32_t pass);

/// For a varlen problem: batch counts sequences, and seqlen_q and seqlen_k are totals. Each may be
/// 0. Throws as request_of() does, and ApiError (UNSUPPORTED) for patterns.
PackedRequest packed_request_of(const spark_attention_problem* given, std::int32_t pass);

/// What a kernel must be, in addition to serving the problem.
struct KernelWish {
  spark_attention_accumulator accumulator;
  bool allow_slow = false;           // also where the device lacks its instruction
  bool is_packed = false;            // varlen
  std::string_view generation = {};  // the first word of its name; empty: any
};

/// The kernel to use, from the registry's that are as wished and serve the pass on the device: the
/// first whose instruction the device has and which has both passes, otherwise the first. Throws
/// ApiError (UNSUPPORTED) with the first reason if there is none, and std::invalid_argument for a
/// generation that no kernel has.
const AttentionKernel& kernel_for(const Problem& problem, Pass pass, const KernelDevice& device,
                                  const KernelWish& wish);

/// A V100's.
inline constexpr std::size_t kEmulatedSharedBytes = std::size_t{96} << 10;

/// Throw std::invalid_argument for a null pointer, unless that tensor of the problem is empty.
ForwardTensors tensors_of(const Problem& problem, const DropoutOffset* offset,
                          const spark_attention_forward_tensors* given);
BackwardTensors tensors_of(const Problem& problem, const DropoutOffset* offset,
                           const spark_attention_backward_tensors* given);

/// Where the kernels read it; null where there is none.
inline const DropoutOffset* offset_of(const spark_attention_problem& given) {
  return reinterpret_cast<const DropoutOffset*>(given.dropout_offset);
}

}  // namespace sparkbench
