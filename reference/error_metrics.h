// Errors of computed rows against exact ones, and whether they are acceptable.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "reference/exact/exact.h"
#include "reference/tensors/element_type.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

/// The rows that the elements belong to. All have one length.
struct CheckedRows {
  std::size_t count = 0;  // 0: unknown; then there is no worst row
  /// How many rows of the whole tensor each row represents; 0 leaves it out of sums and means.
  /// Empty: 1 each.
  std::span<const double> weights = {};
  ElementType element = ElementType::kFp16;  // whose units in the last place are allowed
};

/// Errors of `got` against `want`. Sums and means over elements use the weight of the element's
/// row. The largest errors, the worst element, the worst row and the counts cover the checked
/// elements. A ratio of 0 to 0 is 0; of anything else to 0, +inf. Every metric of `got` is NaN if
/// `nonfinite` is not 0 or if no element is finite: the error of the finite rest would flatter a
/// useless output. Elements that are not finite in both, in the same way, are left out. The counts,
/// the worst element and the magnitudes of `want` remain.
struct ErrorMetrics {
  std::size_t checked_elements = 0;  // elements checked, finite or not
  double max_abs = 0.0;
  double mean_abs = 0.0;
  double rmse = 0.0;
  double rel_l1 = 0.0;  // sum |got - want| / sum |want|: the paper's percentages
  double rel_l2 = 0.0;  // sqrt(sum (got - want)^2 / sum want^2)
  double mean_rel = 0.0;
  double max_rel = 0.0;         // of |got - want| / max(|want|, rel_floor)
  double rel_floor = 1e-3;      // below it a relative error would only measure closeness to zero
  double cosine_diff = 0.0;     // 1 - 2 got.want / (got^2 + want^2), after FlashMLA's tests
  std::size_t mismatches = 0;   // |got - want| > 1e-5 + 1e-3 |want|, as torch.testing for fp16
  std::size_t nonfinite = 0;    // elements of it and of LSE of which one is finite and the other is
                                // not, or which both are not and differ in kind or sign; also
                                // counted in mismatches
  std::size_t worst_index = 0;  // in [rows, head_dim], of max_abs or the first nonfinite element
  double worst_got = 0.0;
  double worst_want = 0.0;
  /// The largest sum |got - want| / sum |want| of any row, and that row. The sums leave out
  /// elements that are not finite in both. Rows with sum |want| = 0 have no relative error and are
  /// skipped; max_abs covers them. Empty if no row remains.
  std::optional<double> worst_row_rel_l1;
  std::size_t worst_row = 0;
  double lse_max_abs = 0.0;
  double want_max_abs = 0.0;      // the largest finite |want|
  double want_rms = 0.0;          // sqrt(mean want^2) of the same elements
  double lse_want_max_abs = 0.0;  // the largest finite |want| of LSE
  double unit_max = 0.0;          // the largest unit in the last place at a finite want
  double unit_rms = 0.0;          // sqrt(mean unit^2); at least 2^-24
  double given_max = 0.0;         // how much the gradient changes per unit in the last place of O,
  double given_rms = 0.0;         // from which it is computed; 0 if not requested
};

/// Throws std::invalid_argument if the sizes differ or a row has no weight. In LSE -inf equals -inf
/// and NaN equals NaN.
ErrorMetrics error_metrics(const ForwardRows& got, const ExactRows& want,
                           std::span<const double> row_weights = {},
                           ElementType element = ElementType::kFp16);

/// One tensor without LSE, in any type.
ErrorMetrics error_metrics(std::span<const float> got, std::span<const double> want,
                           const CheckedRows& rows = {});
ErrorMetrics error_metrics(std::span<const Half> got, std::span<const double> want,
                           const CheckedRows& rows = {});

/// FlashAttention's test rule: err(kernel) <= ratio * err(unfused, same dtype) + floor.
struct Tolerance {
  double ratio = 2.0;
  /// Relative to the largest |want|: half a unit in the last place. The rule always allows
  /// at least one unit of the elements themselves (unit_max, unit_rms).
  double floor = 0x1p-11;
  /// The cap on ratio * err(unfused), in the mean over elements (rel_l2, rmse). An unfused
  /// computation with a larger error cannot set a tolerance. Then the cap for max_abs is eight
  /// times `most`: the largest of a million normal errors is five times their root mean square.
  double most = 0x1p-5;
};

/// A tolerance for fp16 as one for this type: bf16 has eight times the unit, and so the floor. The
/// cap grows likewise, up to 2^-3.
Tolerance tolerance_in(ElementType element, Tolerance of_fp16);

/// Empty if the kernel is correct. Otherwise describes the first condition that fails:
///
///   nonfinite == 0, and for err in {rel_l2, max_abs, lse_max_abs} the rule of Tolerance.
///
/// rel_l2 is the stable measure; max_abs finds a single wrong element in a large tensor. A NaN
/// anywhere makes the kernel incorrect.
std::string why_incorrect(const ErrorMetrics& kernel, const ErrorMetrics& unfused,
                          const Tolerance& tolerance);

/// One condition of the rule. Floor and cap are relative to `size`; `unit` is the error that is
/// always allowed: a unit in the last place.
struct ErrorCondition {
  const char* name;
  double kernel, unfused, size, unit;
  double cap;  // upper bound on ratio * unfused, relative to `size`
};

/// Tolerance::most for a largest error. There is no cap if the unfused computation, whose mean
/// error is `unfused`, is a usable standard.
double cap_of_largest(const Tolerance& tolerance, double unfused);

/// Empty if it holds, else the reason. NaN never holds.
std::string why_broken(const ErrorCondition& condition, const Tolerance& tolerance);

/// err(kernel) / err(unfused) in rel_l2; NaN if either is not finite.
double error_ratio(const ErrorMetrics& kernel, const ErrorMetrics& unfused);

}  // namespace sparkbench
