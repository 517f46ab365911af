#include "reference/error_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace sparkbench {
namespace {

double ratio_of(double numerator, double denominator) {
  if (denominator != 0.0) return numerator / denominator;
  return numerator == 0.0 ? 0.0 : std::numeric_limits<double>::infinity();
}

/// Both are not finite, in the same way.
bool same_nonfinite(double got, double want) {
  return (std::isnan(got) && std::isnan(want)) || (std::isinf(got) && got == want);
}

/// Running sums over the elements that are finite in both.
struct Sums {
  double count = 0.0;
  double abs = 0.0, squares = 0.0, rel = 0.0;
  double want_abs = 0.0, want_squares = 0.0, got_squares = 0.0;
  double unit_squares = 0.0;

  void add(const Sums& of_row, double weight) {
    for (double Sums::*sum : {&Sums::count, &Sums::abs, &Sums::squares, &Sums::rel, &Sums::want_abs,
                              &Sums::want_squares, &Sums::got_squares, &Sums::unit_squares}) {
      this->*sum += weight * of_row.*sum;
    }
  }
};

/// The unit in the last place at a number: at least 2^-24, the smallest step of the fp16 numbers
/// that the host keeps.
double unit_at(ElementType element, double value) {
  constexpr double kLargestHalf = 65504.0;
  constexpr double kLeast = 0x1p-24;
  const double size =
      std::max<double>(std::abs(to_float(to_input(element, static_cast<float>(value)))), kLeast);
  int exponent = 0;  // size is in [2^(exponent - 1), 2^exponent)
  std::frexp(std::min(size, kLargestHalf), &exponent);
  return std::max(std::ldexp(unit_of(element), exponent - 1), kLeast);
}

void void_metrics(ErrorMetrics& metrics) {
  for (double ErrorMetrics::*metric :
       {&ErrorMetrics::max_abs, &ErrorMetrics::mean_abs, &ErrorMetrics::rmse, &ErrorMetrics::rel_l1,
        &ErrorMetrics::rel_l2, &ErrorMetrics::mean_rel, &ErrorMetrics::max_rel,
        &ErrorMetrics::cosine_diff, &ErrorMetrics::lse_max_abs}) {
    metrics.*metric = std::numeric_limits<double>::quiet_NaN();
  }
  metrics.worst_row_rel_l1.reset();
}

void add_nonfinite(ErrorMetrics& metrics, std::size_t index, double got, double want) {
  if (same_nonfinite(got, want)) return;
  ++metrics.mismatches;
  if (metrics.nonfinite++ > 0) return;
  metrics.worst_index = index;
  metrics.worst_got = got;
  metrics.worst_want = want;
}

void add_element(ErrorMetrics& metrics, Sums& sums, std::size_t index, double got, double want,
                 ElementType element) {
  if (!std::isfinite(got) || !std::isfinite(want)) {
    add_nonfinite(metrics, index, got, want);
    return;
  }
  const double error = std::abs(got - want);
  const double rel = error / std::max(std::abs(want), metrics.rel_floor);
  if (error > metrics.max_abs && metrics.nonfinite == 0) {
    metrics.worst_index = index;
    metrics.worst_got = got;
    metrics.worst_want = want;
  }
  metrics.max_abs = std::max(metrics.max_abs, error);
  metrics.max_rel = std::max(metrics.max_rel, rel);
  metrics.want_max_abs = std::max(metrics.want_max_abs, std::abs(want));
  if (!(error <= 1e-5 + 1e-3 * std::abs(want))) ++metrics.mismatches;
  sums.count += 1.0;
  sums.abs += error;
  sums.squares += error * error;
  sums.rel += rel;
  sums.want_abs += std::abs(want);
  sums.want_squares += want * want;
  sums.got_squares += got * got;
  const double unit = unit_at(element, want);
  metrics.unit_max = std::max(metrics.unit_max, unit);
  sums.unit_squares += unit * unit;
}

void finish(ErrorMetrics& metrics, const Sums& sums) {
  metrics.mean_abs = ratio_of(sums.abs, sums.count);
  metrics.rmse = std::sqrt(ratio_of(sums.squares, sums.count));
  metrics.want_rms = std::sqrt(ratio_of(sums.want_squares, sums.count));
  metrics.unit_rms = std::sqrt(ratio_of(sums.unit_squares, sums.count));
  metrics.mean_rel = ratio_of(sums.rel, sums.count);
  metrics.rel_l1 = ratio_of(sums.abs, sums.want_abs);
  metrics.rel_l2 = std::sqrt(ratio_of(sums.squares, sums.want_squares));
  // 1 - 2 got.want / (got^2 + want^2), in a form without cancellation.
  metrics.cosine_diff = ratio_of(sums.squares, sums.got_squares + sums.want_squares);
  const bool has_no_finite = sums.count == 0.0 && metrics.checked_elements != 0;
  if (metrics.nonfinite != 0 || has_no_finite) void_metrics(metrics);
}

void add_row(ErrorMetrics& metrics, std::size_t row, const Sums& of_row) {
  if (of_row.want_abs == 0.0) return;
  const double rel_l1 = of_row.abs / of_row.want_abs;
  if (rel_l1 <= metrics.worst_row_rel_l1.value_or(-1.0)) return;
  metrics.worst_row_rel_l1 = rel_l1;
  metrics.worst_row = row;
}

void require_sizes(std::size_t got, std::size_t want, const CheckedRows& rows) {
  if (got != want) {
    throw std::invalid_argument(
        fmt::format("{} computed elements against {} exact ones", got, want));
  }
  if (!rows.weights.empty() && rows.weights.size() != rows.count) {
    throw std::invalid_argument(
        fmt::format("{} weights for {} rows", rows.weights.size(), rows.count));
  }
  if (rows.count != 0 && got % rows.count != 0) {
    throw std::invalid_argument(fmt::format("{} elements in {} rows", got, rows.count));
  }
}

template <class Got>
ErrorMetrics metrics_of(std::size_t size, const Got& got, std::span<const double> want,
                        const CheckedRows& rows) {
  require_sizes(size, want.size(), rows);
  ErrorMetrics metrics;
  metrics.checked_elements = size;
  Sums sums;
  const std::size_t columns = rows.count == 0 ? size : size / rows.count;
  for (std::size_t i = 0, row = 0; i < size; ++row) {
    Sums of_row;
    for (const std::size_t end = i + columns; i < end; ++i) {
      add_element(metrics, of_row, i, got(i), want[i], rows.element);
    }
    if (rows.count != 0) add_row(metrics, row, of_row);
    sums.add(of_row, rows.weights.empty() ? 1.0 : rows.weights[row]);
  }
  finish(metrics, sums);
  return metrics;
}

void add_lse(ErrorMetrics& metrics, double got, double want) {
  if (!std::isfinite(got) || !std::isfinite(want)) {
    if (!same_nonfinite(got, want)) ++metrics.nonfinite;
    return;
  }
  metrics.lse_max_abs = std::max(metrics.lse_max_abs, std::abs(got - want));
  metrics.lse_want_max_abs = std::max(metrics.lse_want_max_abs, std::abs(want));
}

}  // namespace

ErrorMetrics error_metrics(std::span<const float> got, std::span<const double> want,
                           const CheckedRows& rows) {
  return metrics_of(
      got.size(), [&](std::size_t i) { return double{got[i]}; }, want, rows);
}

ErrorMetrics error_metrics(std::span<const Half> got, std::span<const double> want,
                           const CheckedRows& rows) {
  return metrics_of(
      got.size(), [&](std::size_t i) { return double{to_float(got[i])}; }, want, rows);
}

ErrorMetrics error_metrics(const ForwardRows& got, const ExactRows& want,
                           std::span<const double> row_weights, ElementType element) {
  if (got.lse.size() != want.lse.size()) {
    throw std::invalid_argument(
        fmt::format("{} computed rows against {} exact ones", got.lse.size(), want.lse.size()));
  }
  ErrorMetrics metrics =
      error_metrics(std::span<const Half>(got.o), want.o, {want.lse.size(), row_weights, element});
  for (std::size_t i = 0; i < want.lse.size(); ++i) add_lse(metrics, got.lse[i], want.lse[i]);
  if (metrics.nonfinite != 0) void_metrics(metrics);
  return metrics;
}

Tolerance tolerance_in(ElementType element, Tolerance of_fp16) {
  const double times = unit_of(element) / unit_of(ElementType::kFp16);
  constexpr double kMost = 0x1p-3;  // above it an output says little
  return {of_fp16.ratio, times * of_fp16.floor,
          std::max(of_fp16.most, std::min(kMost, times * of_fp16.most))};
}

std::string why_incorrect(const ErrorMetrics& kernel, const ErrorMetrics& unfused,
                          const Tolerance& tolerance) {
  if (kernel.nonfinite != 0) {
    return fmt::format(
        "{} elements are NaN or infinite where the exact result is finite, or the reverse",
        kernel.nonfinite);
  }
  const double unit = ratio_of(kernel.unit_rms, kernel.want_rms);
  const double lse_size = std::max(1.0, kernel.lse_want_max_abs);
  const double cap = cap_of_largest(tolerance, unfused.rel_l2);
  for (const ErrorCondition& condition :
       {ErrorCondition{"rel_l2", kernel.rel_l2, unfused.rel_l2, 1.0, unit, tolerance.most},
        ErrorCondition{"max_abs", kernel.max_abs, unfused.max_abs, kernel.want_max_abs,
                       kernel.unit_max, cap},
        ErrorCondition{"lse_max_abs", kernel.lse_max_abs, unfused.lse_max_abs, lse_size, 0.0,
                       cap}}) {
    if (std::string why = why_broken(condition, tolerance); !why.empty()) return why;
  }
  return "";
}

double cap_of_largest(const Tolerance& tolerance, double unfused) {
  const bool is_measure = unfused <= tolerance.most;
  return is_measure ? std::numeric_limits<double>::infinity() : 8 * tolerance.most;
}

std::string why_broken(const ErrorCondition& condition, const Tolerance& tolerance) {
  const auto& [name, error, unfused, size, unit, cap] = condition;
  const double floor = std::max(tolerance.floor * size, unit);
  const double most = cap * size;
  const bool is_capped = tolerance.ratio * unfused > most;
  const double granted = is_capped ? most : tolerance.ratio * unfused;
  if (error <= granted + floor) return "";
  if (tolerance.ratio == 0.0) return fmt::format("{} {:.3g} exceeds {:.3g}", name, error, floor);
  if (is_capped) {
    return fmt::format(
        "{} {:.3g} exceeds {:.3g} + {:.3g}: the unfused computation errs by {:.3g}, "
        "too much to grant {:g} times that",
        name, error, most, floor, unfused, tolerance.ratio);
  }
  return fmt::format("{} {:.3g} exceeds {:g} x {:.3g} (unfused) + {:.3g}", name, error,
                     tolerance.ratio, unfused, floor);
}

double error_ratio(const ErrorMetrics& kernel, const ErrorMetrics& unfused) {
  return ratio_of(kernel.rel_l2, unfused.rel_l2);
}

}  // namespace sparkbench
