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

struct GradientCondition {
  const char* name;
  double kernel;
  double unfused;
  double floor;
};

}  // namespace

GradientErrors gradient_errors(const HalfGradients& got, const ExactGradients& want) {
  return {error_metrics(std::span<const Half>(got.dq), want.dq),
          error_metrics(std::span<const Half>(got.dk), want.dk),
          error_metrics(std::span<const Half>(got.dv), want.dv)};
}

std::string why_incorrect(const GradientErrors& kernel, const GradientErrors& unfused,
                          const Tolerance& tolerance) {
  const double want_rms = std::max({kernel.dq.want_rms, kernel.dk.want_rms, kernel.dv.want_rms});
  const double want_max_abs =
      std::max({kernel.dq.want_max_abs, kernel.dk.want_max_abs, kernel.dv.want_max_abs});
  for (const auto& [name, errors] : {Gradient{"dq", &GradientErrors::dq},
                                     {"dk", &GradientErrors::dk},
                                     {"dv", &GradientErrors::dv}}) {
    const ErrorMetrics& of_kernel = kernel.*errors;
    const ErrorMetrics& of_unfused = unfused.*errors;
    if (of_kernel.nonfinite != 0) {
      return fmt::format("{}: {} elements are not finite where the exact result is, or the reverse",
                         name, of_kernel.nonfinite);
    }
    const GradientCondition conditions[] = {
        {"rmse", of_kernel.rmse, of_unfused.rmse, tolerance.floor * want_rms},
        {"max_abs", of_kernel.max_abs, of_unfused.max_abs, tolerance.floor * want_max_abs}};
    for (const auto& [metric, error, unfused_error, floor] : conditions) {
      if (error <= tolerance.ratio * unfused_error + floor) continue;
      if (tolerance.ratio == 0.0) {
        return fmt::format("{}: {} {:.3g} exceeds {:.3g}", name, metric, error, floor);
      }
      return fmt::format("{}: {} {:.3g} exceeds {:g} x {:.3g} (unfused) + {:.3g}", name, metric,
                         error, tolerance.ratio, unfused_error, floor);
    }
  }
  return "";
}

}  // namespace sparkbench
