#include "reference/gradient_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace sparkbench {
namespace {

struct Gradient {
  const char* name;
  ErrorMetrics GradientErrors::*errors;
};

/// The largest over the three gradients.
double largest_of(const GradientErrors& errors, double ErrorMetrics::*metric) {
  return std::max({errors.dq.*metric, errors.dk.*metric, errors.dv.*metric});
}

}  // namespace

GradientErrors gradient_errors(const HalfGradients& got, const ExactGradients& want,
                               const CheckedRows& dq, const CheckedRows& dkv) {
  return {error_metrics(std::span<const Half>(got.dq), want.dq, dq),
          error_metrics(std::span<const Half>(got.dk), want.dk, dkv),
          error_metrics(std::span<const Half>(got.dv), want.dv, dkv)};
}

std::string why_incorrect(const GradientErrors& kernel, const GradientErrors& unfused,
                          const Tolerance& tolerance) {
  const double want_rms = largest_of(kernel, &ErrorMetrics::want_rms);
  const double want_max_abs = largest_of(kernel, &ErrorMetrics::want_max_abs);
  const double unit_rms = largest_of(kernel, &ErrorMetrics::unit_rms);
  const double unit_max = largest_of(kernel, &ErrorMetrics::unit_max);
  for (const auto& [name, errors] : {Gradient{"dq", &GradientErrors::dq},
                                     {"dk", &GradientErrors::dk},
                                     {"dv", &GradientErrors::dv}}) {
    const ErrorMetrics& of_kernel = kernel.*errors;
    const ErrorMetrics& of_unfused = unfused.*errors;
    if (of_kernel.nonfinite != 0) {
      return fmt::format(
          "{}: {} elements are NaN or infinite where the exact result is finite, or the reverse",
          name, of_kernel.nonfinite);
    }
    // If all exact gradients are 0, there is no relative error.
    const double of_want = want_rms == 0.0 ? 0.0 : of_unfused.rmse / want_rms;
    for (const ErrorCondition& condition :
         {ErrorCondition{"rmse", of_kernel.rmse, of_unfused.rmse, want_rms,
                         std::max(unit_rms, of_kernel.given_rms), tolerance.most},
          ErrorCondition{"max_abs", of_kernel.max_abs, of_unfused.max_abs, want_max_abs,
                         std::max(unit_max, of_kernel.given_max),
                         cap_of_largest(tolerance, of_want)}}) {
      if (const std::string why = why_broken(condition, tolerance); !why.empty()) {
        return fmt::format("{}: {}", name, why);
      }
    }
  }
  return "";
}

}  // namespace sparkbench
