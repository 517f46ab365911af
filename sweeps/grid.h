// The grid of a sweep: the axes, and the cases of their Cartesian product.
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
  /// By axis name. None: the other axes and the totals determine it.
  std::map<std::string, std::vector<AxisValue>, std::less<>> values;
  GridTotals totals;
  bool is_of_layers = false;  // then `values` has the axes of layers
};

/// Per sweep, over all its shards.
inline constexpr int kMaxCases = 1 << 15;

struct SweepCase {
  std::string kernel;
  CaseProblem problem;
};

/// Every combination, in the order of problem_axes_of(): the first axis varies slowest and the
/// kernel fastest, so that the cases of one problem are adjacent and share its inputs. Every
/// problem has `seed`. Throws UsageError as set_lengths() and lay_patterns() do, if heads_k does
/// not divide heads, for a layer whose sequences have different numbers of rows and keys, and for
/// too many cases.
std::vector<SweepCase> expand_grid(const GridAxes& grid, std::uint64_t seed);

/// Whether any case has a backward pass.
bool has_backward(const std::vector<SweepCase>& cases);

}  // namespace sparkbench
