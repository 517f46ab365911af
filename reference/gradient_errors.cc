#include "reference/gradient_errors.h"

#include <span>

namespace sparkbench {

GradientErrors gradient_errors(const HalfGradients& got, const ExactGradients& want) {
  return {error_metrics(std::span<const Half>(got.dq), want.dq),
          error_metrics(std::span<const Half>(got.dk), want.dk),
          error_metrics(std::span<const Half>(got.dv), want.dv)};
}

std::string why_incorrect(const GradientErrors& kernel, const GradientErrors& unfused,
                          const Tolerance& tolerance) {
  struct Gradient {
    const char* name;
    ErrorMetrics GradientErrors::*errors;
  };
  for (const auto& [name, errors] : {Gradient{"dq", &GradientErrors::dq},
                                     {"dk", &GradientErrors::dk},
                                     {"dv", &GradientErrors::dv}}) {
    const std::string reason = why_incorrect(kernel.*errors, unfused.*errors, tolerance);
    if (!reason.empty()) return std::string(name) + ": " + reason;
  }
  return "";
}

}  // namespace sparkbench
