// The user's own inputs: a model's q, k, v and, for a backward pass, d_o.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "harness/run/problems/tensor_file.h"
#include "kernels/problem/attention.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {

struct OwnTensors : OwnInputs {
  Problem shape;          // batch, heads, heads_k, lengths, head_dim; otherwise defaults
  OwnedInputs inputs;     // in a kernel's form
  std::vector<Half> d_o;  // empty if the file has none

  AxisFlags extents() const override;
  const char* missing_gradient() const override { return d_o.empty() ? "d_o" : nullptr; }
};

/// Reads the tensors q, k, v and, if present, d_o from a safetensors file. Each is F16, BF16 or
/// F32, [batch, seqlen, heads, head_dim]. k and v have the same shape, and d_o has q's. All have
/// q's batch and head_dim, and the heads of k divide those of q. Other tensors in the file are
/// ignored.
///
/// Values are rounded to fp16, and errors are relative to the rounded ones. TensorFile::read()
/// rejects some values; input_warnings.h has the warnings. Throws UsageError, one line, for these,
/// for an unreadable file, and (before it reads them) for tensors that take more memory than
/// `most_memory_bytes`.
OwnTensors read_own_tensors(const std::string& path, std::uint64_t most_memory_bytes =
                                                         std::numeric_limits<std::uint64_t>::max());

}  // namespace sparkbench
