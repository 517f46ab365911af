// Which part of a problem is computed and compared with the oracle. A GPU computes all of it; the
// emulated machine and the fp64 oracle are slow, so of a long problem they see a sample.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "kernels/attention.h"
#include "kernels/sample.h"
#include "reference/tensors/backward_rows.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

struct CheckPlan {
  std::vector<SampleTile> tiles;  // to emulate; empty: all of them
  std::vector<QueryRow> rows;     // to compare, ascending
  /// How many rows of the whole each of `rows` stands for. 0: the row is checked, and no estimate.
  /// Empty: all rows are there.
  std::vector<double> weights = {};
  /// {batch, key head} of the inputs that the check needs. Empty: all.
  std::set<std::array<int, 2>> key_heads = {};

  bool is_sampled(const Problem& problem) const { return rows.size() < problem.lse_elements(); }
};

/// How a device computes and how much of it is affordable.
struct CheckBudget {
  double emulate_flops;  // of the device's kernels; infinite on a GPU
  double oracle_flops;   // of the fp64 reference
};

/// FLOPs of one case on the host, so that a preset of a hundred cases ends in minutes on two cores.
inline constexpr double kOracleFlops = 1 << 30;

/// The same of inputs that are the user's own, which are one problem: heads differ more than those
/// that are drawn at random.
CheckBudget budget_for_own_inputs(const CheckBudget& budget);

/// The same for a backward pass.
struct GradientPlan {
  /// The forward pass's part: the sampled queries.
  CheckPlan forward() const { return {sample.query_tiles, rows.dq, dq_weights, key_heads}; }

  BackwardSample sample = {};               // to emulate; empty: everything
  GradientRows rows = {};                   // to compare, ascending
  std::vector<QueryRow> forward_rows = {};  // whose O and LSE the gradients need, ascending
  std::vector<double> dq_weights = {}, dkv_weights = {};  // as those of CheckPlan
  std::set<std::array<int, 2>> key_heads = {};            // as those of CheckPlan
  bool leaves_out_longest = false;  // sequences, whose rows those of shorter ones stand for

  bool is_sampled(const Problem& problem) const {
    return rows.dq.size() < problem.lse_elements() || rows.dkv.size() < key_shape(problem).rows();
  }
};

/// All rows when both budgets allow it. Else a sample of each stratum of rows (row_sample.h): whole
/// query tiles where kernels are emulated, on a GPU single rows. Each head of each sequence has
/// strata of its own if the budgets allow it. In a head of each of a pattern's unions four tiles,
/// or 64 rows, where the pattern changes are checked with a weight of 0.
CheckPlan make_check_plan(const Problem& problem, const CheckBudget& budget);

/// The same of a backward pass. Every query of a head bears on dK and dV, and their O and LSE are
/// computed exactly, so rows are drawn from some key heads and the heads that read them: of each
/// union of a pattern, and of packed sequences of each length (to a factor of 2), the last one, and
/// as many others as the oracle's budget allows. Packed sequences are emulated whole, unless they
/// are too long for that.
GradientPlan make_gradient_plan(const Problem& problem, const CheckBudget& budget);

}  // namespace sparkbench
