// The grid of a sweep: axes, and the cases that their Cartesian product is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/attention.h"

namespace sparkbench {

/// The values of every axis. No list is empty but seqlens_k.
struct GridAxes {
  std::vector<std::string> kernels;  // names
  std::vector<Pass> passes = {Pass::kForward};
  std::vector<int> head_dims;
  std::vector<int> seqlens_q;
  std::vector<int> seqlens_k;  // none: each seqlen_k equals its seqlen_q
  std::vector<bool> causal;
  std::vector<float> dropout_p;
  std::vector<std::string> inputs = {"normal"};  // distributions
  std::vector<int> input_scales = {1};           // of q, k and v
  std::optional<int> batch;                      // none: max(1, total_tokens / seqlen_q)
  std::optional<int> heads;                      // none: hidden / head_dim
  int total_tokens = 16 * 1024;
  int hidden = 2048;
};

struct SweepCase {
  std::string kernel;
  Pass pass = Pass::kForward;
  Problem problem;
  std::string input = "normal";
  int input_scale = 1;
};

/// Every combination, the first axis slowest: pass, input, input_scale, head_dim, seqlen_q,
/// seqlen_k, causal, dropout, and last the kernel, so that the cases of one problem are neighbours
/// and share its inputs. Every problem has `seed`. Throws UsageError when heads are automatic and
/// head_dim does not divide hidden, and when an axis is empty.
std::vector<SweepCase> expand_grid(const GridAxes& axes, std::uint64_t seed);

}  // namespace sparkbench
