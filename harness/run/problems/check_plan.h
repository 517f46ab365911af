// Which part of a problem is computed and compared with the oracle. A GPU computes everything. The
// emulated machine and the fp64 oracle are slow, so they compute a sample of a long problem.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "kernels/base/sample.h"
#include "kernels/problem/attention.h"
#include "reference/tensors/backward_rows.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

struct CheckPlan {
  std::vector<SampleTile> tiles;  // to emulate; empty: all
  std::vector<QueryRow> rows;     // to compare, ascending
  /// How many rows of the whole problem each of `rows` represents. 0: the row is checked but is not
  /// part of an estimate. Empty: all rows are there.
  std::vector<double> weights = {};
  /// {batch, key head} of the inputs that the check needs. Empty: all.
  std::set<std::array<int, 2>> key_heads = {};

  bool is_sampled(const Problem& problem) const { return rows.size() < problem.lse_elements(); }
};

/// How a device computes, and how much is affordable.
struct CheckBudget {
  double emulate_flops;  // on the device's kernels; infinite on a GPU
  double oracle_flops;   // for the fp64 oracle
};

/// FLOPs of one case on the host, so that a preset of a hundred cases takes minutes on two cores.
inline constexpr double kOracleFlops = 1 << 30;

/// The same for the user's own inputs, which are one problem: its heads differ more than random
/// ones.
CheckBudget budget_for_own_inputs(const CheckBudget& budget);

/// The same for a backward pass.
struct GradientPlan {
  /// The forward pass's part: the sampled queries.
  CheckPlan forward() const { return {sample.query_tiles, rows.dq, dq_weights, key_heads}; }

  BackwardSample sample = {};               // to emulate; empty: everything
  GradientRows rows = {};                   // to compare, ascending
  std::vector<QueryRow> forward_rows = {};  // the gradients need their O and LSE; ascending
  std::vector<double> dq_weights = {}, dkv_weights = {};  // as in CheckPlan
  std::set<std::array<int, 2>> key_heads = {};            // as in CheckPlan
  bool leaves_out_longest = false;                        // sequences, which shorter ones represent

  bool is_sampled(const Problem& problem) const {
    return rows.dq.size() < problem.lse_elements() || rows.dkv.size() < key_shape(problem).rows();
  }
};

/// All rows if both budgets allow it. Otherwise a sample of each stratum of rows (row_sample.h):
/// whole query tiles for emulated kernels, single rows on a GPU. If the budgets allow it, each head
/// of each sequence has its own strata. For each per-head pattern, one head also gets four tiles,
/// or 64 rows, where the pattern changes; these have weight 0.
CheckPlan make_check_plan(const Problem& problem, const CheckBudget& budget);

/// The same for a backward pass. dK and dV depend on every query of a head, and their O and LSE are
/// computed exactly. So rows are drawn from some key heads and the heads that read them: the last
/// key head for each per-head pattern and, for varlen, for each length (to a factor of 2); and as
/// many others as the oracle's budget allows. Varlen sequences are emulated whole, unless they are
/// too long.
GradientPlan make_gradient_plan(const Problem& problem, const CheckBudget& budget);

}  // namespace sparkbench
