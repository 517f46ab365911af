// How wrong computed gradients are against the exact ones: the forward's metrics and rule
// (error_metrics.h), for dq, dk and dv each by itself.
#pragma once

#include <string>

#include "reference/backward_rows.h"
#include "reference/error_metrics.h"

namespace sparkbench {

struct GradientErrors {
  ErrorMetrics dq, dk, dv;
};

/// Throws std::invalid_argument when the sizes differ.
GradientErrors gradient_errors(const HalfGradients& got, const ExactGradients& want);

/// Empty when all three gradients are correct by the rule of why_incorrect(ErrorMetrics, ...), else
/// the first that is not and why: "dk: rel_l2 ...". Where a query sees one key only, dQ and dK
/// vanish but for the error of delta: give exact and unfused the same o and lse, so that both have
/// it.
std::string why_incorrect(const GradientErrors& kernel, const GradientErrors& unfused,
                          const Tolerance& tolerance);

}  // namespace sparkbench
