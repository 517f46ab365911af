// Inputs that the user brings: a model's own q, k, v and, for a backward pass, d_o.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/attention.h"
#include "reference/inputs/inputs.h"
#include "results/record/case_record.h"

namespace sparkbench {

struct OwnTensors {
  std::string path;       // as given
  std::string hash;       // FNV-1a of the file's bytes, 16 hexadecimal digits
  Problem extents;        // batch, heads, heads_k, lengths, head_dim; the rest as by default
  OwnedInputs inputs;     // as a kernel takes them
  std::vector<Half> d_o;  // empty when the file has none
  std::vector<Warning> warnings;
};

/// Reads the tensors q, k, v and, where there is one, d_o of a safetensors file. Each is F16, BF16
/// or F32, [batch, seqlen, heads, head_dim]; k and v are alike, d_o is like q, all have q's batch
/// and head_dim, and the heads of k divide those of q. Other tensors of the file are left alone.
///
/// Values are rounded to fp16, and errors are measured from the rounded ones; see
/// TensorFile::read() for those that are refused, tensor_warnings.h for what is warned of. Throws
/// UsageError, one line, for these, for a file that cannot be read, and before it reads tensors
/// that take more memory than `most_memory_bytes`.
OwnTensors read_own_tensors(const std::string& path, std::uint64_t most_memory_bytes =
                                                         std::numeric_limits<std::uint64_t>::max());

}  // namespace sparkbench
