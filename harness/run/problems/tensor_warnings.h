// Warns about accepted inputs that are probably not intended: values that fp16 hardly represents,
// and shapes that look transposed.
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

/// The elements of a tensor that fp16 represents with reduced precision or not at all.
struct SmallValues {
  std::string name;  // "q", "k", "v" or "d_o"
  std::size_t elements = 0;
  std::size_t vanished = 0;   // nonzero values that became 0
  std::size_t subnormal = 0;  // closer to 0 than 2^-14
  bool is_all_zero = false;
};

SmallValues count_small_values(const std::string& name, std::span<const Half> values,
                               std::size_t vanished);

/// At most one each of W-INPUT-UNDERFLOW, W-INPUT-SUBNORMAL (for more than one value in a thousand)
/// and W-INPUT-ZERO, over all tensors, with the remedy.
std::vector<Warning> warn_of_small_values(const std::vector<SmallValues>& tensors);

/// W-TRANSPOSED if both lengths are below the number of heads: the file may have [batch, heads,
/// seqlen, head_dim].
std::optional<Warning> warn_of_transposed(const Problem& extents);

}  // namespace sparkbench
