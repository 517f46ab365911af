// Errors of computed gradients against exact ones: the forward pass's metrics and rule
// (error_metrics.h), for each of dq, dk and dv.
#pragma once

#include <string>

#include "reference/error_metrics.h"
#include "reference/tensors/backward_rows.h"

namespace sparkbench {

struct GradientErrors {
  ErrorMetrics dq, dk, dv;
};

/// Throws std::invalid_argument if the sizes differ. `dq` describes the rows of dQ, `dkv` those of
/// dK and dV.
GradientErrors gradient_errors(const HalfGradients& got, const ExactGradients& want,
                               const CheckedRows& dq = {}, const CheckedRows& dkv = {});

/// Empty if all three gradients are correct. Otherwise the first that is wrong and why: "dk: rmse
/// ...".
///
///   nonfinite == 0, and for err in {rmse, max_abs} the rule of Tolerance,
///
/// with floor and cap relative to the largest of the three gradients. dQ and dK are sums of terms P
/// * (dP - delta) that cancel, completely if a query sees a single key. The remainder cannot be the
/// scale for the error. NaN fails.
std::string why_incorrect(const GradientErrors& kernel, const GradientErrors& unfused,
                          const Tolerance& tolerance);

}  // namespace sparkbench
