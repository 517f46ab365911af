// How wrong computed gradients are against the exact ones: the forward's metrics and rule
// (error_metrics.h), for dq, dk and dv each by itself.
#pragma once

#include <string>

#include "reference/error_metrics.h"
#include "reference/tensors/backward_rows.h"

namespace sparkbench {

struct GradientErrors {
  ErrorMetrics dq, dk, dv;
};

/// Throws std::invalid_argument when the sizes differ. `dq` and `dkv` are the rows of dQ, and those
/// of dK and dV.
GradientErrors gradient_errors(const HalfGradients& got, const ExactGradients& want,
                               const CheckedRows& dq = {}, const CheckedRows& dkv = {});

/// Empty when all three gradients are correct, else the first that is not and why: "dk: rmse ...".
///   nonfinite == 0, and for err in {rmse, max_abs} the rule of Tolerance,
/// its floor and its cap relative to the largest of the three gradients: dQ and dK are sums of
/// terms P * (dP - delta) that cancel, wholly where a query sees one key only, and what is left of
/// such a sum is no measure for its error. NaN fails.
std::string why_incorrect(const GradientErrors& kernel, const GradientErrors& unfused,
                          const Tolerance& tolerance);

}  // namespace sparkbench
