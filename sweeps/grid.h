// The grid of a sweep: axes, and the cases that their Cartesian product is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sweeps/axes.h"

namespace sparkbench {

/// The values of every axis. No list is empty.
struct GridAxes {
  std::vector<std::string> kernels;  // names
  /// By the name of the axis; none stands for what the others and the totals make it.
  std::map<std::string, std::vector<AxisValue>, std::less<>> values;
  GridTotals totals;
  bool is_of_layers = false;  // then the axes of layers are among the values
};

/// Of one sweep, all its shards together.
inline constexpr int kMaxCases = 1 << 15;

struct SweepCase {
  std::string kernel;
  CaseProblem problem;
};

/// Every combination, in the order of problem_axes_of(), the first slowest, and last the kernel, so
/// that the cases of one problem are neighbours and share its inputs. Every problem has `seed`.
/// Throws UsageError as set_lengths() and lay_patterns() do, when heads_k does not divide heads,
/// for a layer's sequences with other keys than rows, and for too many.
std::vector<SweepCase> expand_grid(const GridAxes& grid, std::uint64_t seed);

/// Whether any case has a backward pass.
bool has_backward(const std::vector<SweepCase>& cases);

}  // namespace sparkbench
