#include "sweeps/grid.h"

#include <fmt/core.h>

#include <algorithm>

#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

void check_axes(const GridAxes& axes) {
  const auto require = [](bool has_values, const char* flag) {
    if (!has_values) throw UsageError(fmt::format("{}: no value; at least one is needed", flag));
  };
  require(!axes.kernels.empty(), "--kernel");
  require(!axes.passes.empty(), "--pass");
  require(!axes.head_dims.empty(), "--headdim");
  require(!axes.seqlens_q.empty(), "--seqlen");
  require(!axes.causal.empty(), "--causal");
  require(!axes.dropout_p.empty(), "--dropout");
  require(!axes.inputs.empty(), "--input");
  require(!axes.input_scales.empty(), "--input-scale");
}

int heads_of(const GridAxes& axes, int head_dim) {
  if (axes.heads) return *axes.heads;
  if (axes.hidden % head_dim != 0) {
    throw UsageError(
        fmt::format("--headdim: {} does not divide the hidden size {}; allowed: its divisors, "
                    "another --hidden, or an explicit --heads",
                    head_dim, axes.hidden));
  }
  return axes.hidden / head_dim;
}

/// The problems of one head_dim, in grid order.
std::vector<Problem> problems_of(const GridAxes& axes, int head_dim, std::uint64_t seed) {
  std::vector<Problem> problems;
  Problem problem;
  problem.head_dim = head_dim;
  problem.heads = heads_of(axes, head_dim);
  problem.seed = seed;
  const auto push_masks = [&] {
    for (const bool causal : axes.causal) {
      for (const float dropout_p : axes.dropout_p) {
        problem.mask = MaskSpec::causal_if(causal);
        problem.dropout_p = dropout_p;
        problems.push_back(problem);
      }
    }
  };
  for (const int seqlen_q : axes.seqlens_q) {
    problem.seqlen_q = seqlen_q;
    problem.batch = axes.batch ? *axes.batch : std::max(1, axes.total_tokens / seqlen_q);
    const std::vector<int> same_length = {seqlen_q};
    for (const int seqlen_k : axes.seqlens_k.empty() ? same_length : axes.seqlens_k) {
      problem.seqlen_k = seqlen_k;
      push_masks();
    }
  }
  return problems;
}

}  // namespace

std::vector<SweepCase> expand_grid(const GridAxes& axes, std::uint64_t seed) {
  check_axes(axes);
  std::vector<Problem> problems;
  for (const int head_dim : axes.head_dims) {
    const std::vector<Problem> of_head_dim = problems_of(axes, head_dim, seed);
    problems.insert(problems.end(), of_head_dim.begin(), of_head_dim.end());
  }
  std::vector<SweepCase> cases;
  const auto push_problems = [&](Pass pass, const std::string& input, int input_scale) {
    for (const Problem& problem : problems) {
      for (const std::string& kernel : axes.kernels) {
        cases.push_back({kernel, pass, problem, input, input_scale});
      }
    }
  };
  for (const Pass pass : axes.passes) {
    for (const std::string& input : axes.inputs) {
      for (const int input_scale : axes.input_scales) push_problems(pass, input, input_scale);
    }
  }
  return cases;
}

}  // namespace sparkbench
