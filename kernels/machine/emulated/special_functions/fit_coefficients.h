// Where coefficients.cc comes from: the interpolator's coefficients, derived from what a GPU
// computes for every float of one binade.
//
// A result bounds the interpolator's sum. The fit searches, near the function's own Taylor series,
// for the coefficients that keep the sums of a whole segment within these bounds; 2^16 or 2^17
// results leave exactly one choice.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/machine/emulated/special_functions/interpolation.h"

namespace sparkbench {

/// A function of [0, 1), as the interpolator is to compute it.
struct FittedFunction {
  double (*slope)(double f);
  double (*half_curvature)(double f);
  double finest_step;  // what the sum is cut to before it becomes a float; 0: only to the float
  bool skips_zero;     // the result for f = 0 is not the interpolator's
};

/// 2^f, log2(1 + f) and 1 / (1 + f), of MUFU.EX2, MUFU.LG2 and MUFU.RCP.
extern const FittedFunction kExp2Function;
extern const FittedFunction kLog2Function;
extern const FittedFunction kReciprocalFunction;

struct FittedTable {
  std::vector<Coefficients> segments;
  std::int32_t bias;
};

/// `results[i]` is the function of i * 2^-23, for all i of 23 bits. The segments and bias of
/// `layout` are not read. Throws std::runtime_error if a segment has no coefficients or several, or
/// if the segments do not agree on one bias.
FittedTable fit_coefficients(const FittedFunction& function, const Interpolation& layout,
                             const std::vector<float>& results);

}  // namespace sparkbench
