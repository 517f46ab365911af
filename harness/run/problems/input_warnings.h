// Warnings of inputs that are probably not what the user meant: tensors that fp16 hardly holds,
// shapes that look transposed, and inputs whose outputs need no computing, so that a kernel may get
// them right and be wrong.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/run/problems/problem_data.h"
#include "kernels/base/half.h"
#include "kernels/problem/attention.h"
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

/// At most one W-INPUT-TELLS-NOTHING, which names what these inputs do not test. Uses the oracle on
/// up to 32 of the checked rows. Either O is the same with all scores 0, so that any kernel with
/// uniform weights is right (equal rows of V, Q or K zero, one visible key). Or it is the same with
/// scores 16 times as large, so that any kernel that picks the largest score is right. Or a
/// gradient is so small, relative to the largest of the three, that zeros would pass. `gradients`
/// is null without a backward pass.
std::vector<Warning> warn_of_telling_nothing(ProblemData& data, GradientData* gradients);

}  // namespace sparkbench
