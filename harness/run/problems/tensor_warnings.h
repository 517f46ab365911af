// What is taken, but is not likely to be what the user meant: tensors that fp16 hardly holds, and
// shapes that look transposed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/attention.h"
#include "kernels/half.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// The elements of a tensor that fp16 holds with fewer digits than others, or not at all.
struct SmallValues {
  std::string name;  // "q", "k", "v" or "d_o"
  std::size_t elements = 0;
  std::size_t vanished = 0;   // were not 0, and are
  std::size_t subnormal = 0;  // nearer to 0 than 2^-14
  bool is_all_zero = false;
};

SmallValues count_small_values(const std::string& name, std::span<const Half> values,
                               std::size_t vanished);

/// At most one each of W-INPUT-UNDERFLOW, W-INPUT-SUBNORMAL (of more than one value in a thousand)
/// and W-INPUT-ZERO, of all tensors together, with what to do about it.
std::vector<Warning> warn_of_small_values(const std::vector<SmallValues>& tensors);

/// W-TRANSPOSED where both lengths are below the number of heads: [batch, heads, seqlen, head_dim]
/// was saved, perhaps.
std::optional<Warning> warn_of_transposed(const Problem& extents);

}  // namespace sparkbench
