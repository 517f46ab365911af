// Which part of a problem is computed and compared with the oracle. A GPU computes all of it; the
// emulated machine and the fp64 oracle are slow, so of a long problem they see a sample.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/attention.h"
#include "kernels/sample.h"
#include "reference/tensors/backward_rows.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

struct CheckPlan {
  std::vector<SampleTile> tiles;  // to emulate; empty: all of them
  std::vector<QueryRow> rows;     // to compare, ascending

  bool is_sampled(const Problem& problem) const { return rows.size() < problem.lse_elements(); }
};

/// How a device computes and how much of it is affordable.
struct CheckBudget {
  double emulate_flops;  // of the device's kernels; infinite on a GPU
  double oracle_flops;   // of the fp64 reference
};

/// FLOPs of one case on the host, so that a preset of a hundred cases ends in minutes on two cores.
inline constexpr double kOracleFlops = 1 << 30;

/// The same for a backward pass.
struct GradientPlan {
  /// The forward pass's part: the sampled queries.
  CheckPlan forward() const { return {sample.query_tiles, rows.dq}; }

  BackwardSample sample;               // to emulate; empty: everything
  GradientRows rows;                   // to compare, ascending
  std::vector<QueryRow> forward_rows;  // whose O and LSE the gradients need, ascending

  bool is_sampled(const Problem& problem) const { return rows.dq.size() < problem.lse_elements(); }
};

/// Everything when both budgets allow it. Else one head and the key head that it reads, since every
/// query of a head bears on dK and dV: two tiles of rows of each gradient where kernels are
/// emulated, on a GPU as many rows as the oracle can afford, spread evenly. Of packed sequences, as
/// many whole ones of that head as both budgets allow, the last among them if it is not too long,
/// and at least one. Of a pattern, so much of the last head of each of its unions, and a tile, or
/// 64 rows, where it changes.
GradientPlan make_gradient_plan(const Problem& problem, const CheckBudget& budget);

/// All rows when both budgets allow it. Else, where kernels are emulated, as many whole query tiles
/// as fit, at least two (two cores work on two blocks), spread evenly over tiles, heads and batch
/// with the first and the last always among them; on a GPU, rows spread evenly. Of a pattern,
/// besides, in a head of each of its unions, four tiles, or 64 rows, where it changes.
CheckPlan make_check_plan(const Problem& problem, const CheckBudget& budget);

}  // namespace sparkbench
