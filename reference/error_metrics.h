// How wrong computed rows are against the exact ones, and whether that is acceptable.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "reference/exact/exact.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

/// The rows that elements belong to, all of one length.
struct CheckedRows {
  std::size_t count = 0;  // 0: not told, and then no row is the worst
  /// How many rows of the whole tensor each row stands for, 0 if it is to be in no sum or mean.
  /// Empty: 1 each.
  std::span<const double> weights = {};
};

/// Errors of `got` against `want`. Sums and means over elements weigh each by its row's weight; the
/// largest errors, the worst element and row, and counts are those of the elements checked. A ratio
/// of nothing to nothing is 0, of something to nothing +inf. Every metric of `got` is NaN when
/// `nonfinite` is not 0, or none of its elements is finite: what the finite rest errs by would
/// flatter an output that is of no use. Elements that are not finite in both, in the same way, are
/// left out. The counts, the worst element and what is said of `want` remain.
struct ErrorMetrics {
  std::size_t checked_elements = 0;  // of the tensor, finite or not
  double max_abs = 0.0;
  double mean_abs = 0.0;
  double rmse = 0.0;
  double rel_l1 = 0.0;  // sum |got - want| / sum |want|: the paper's percentages
  double rel_l2 = 0.0;  // sqrt(sum (got - want)^2 / sum want^2)
  double mean_rel = 0.0;
  double max_rel = 0.0;         // of |got - want| / max(|want|, rel_floor)
  double rel_floor = 1e-3;      // below it a relative error would measure only closeness to zero
  double cosine_diff = 0.0;     // 1 - 2 got.want / (got^2 + want^2), after FlashMLA's tests
  std::size_t mismatches = 0;   // |got - want| > 1e-5 + 1e-3 |want|, as torch.testing for fp16
  std::size_t nonfinite = 0;    // elements of it and LSE where one is finite and the other is not,
                                // or both are not and differ in kind or sign; mismatches too
  std::size_t worst_index = 0;  // in [rows, head_dim], of max_abs or of the first nonfinite element
  double worst_got = 0.0;
  double worst_want = 0.0;
  /// The largest sum |got - want| / sum |want| of a row, and which row that is. Elements that are
  /// not finite in both are left out of these sums, and rows with sum |want| = 0 out of the search:
  /// they have no relative error, and max_abs tells theirs. None where no row is left.
  std::optional<double> worst_row_rel_l1;
  std::size_t worst_row = 0;
  double lse_max_abs = 0.0;
  double want_max_abs = 0.0;      // the largest finite |want|
  double want_rms = 0.0;          // sqrt(mean want^2) of the same elements
  double lse_want_max_abs = 0.0;  // the largest finite |want| of LSE
  double unit_max = 0.0;          // the largest unit in the last place of fp16 at a finite want
  double unit_rms = 0.0;          // sqrt(mean unit^2); 2^-24 at a subnormal or zero want
  double given_max = 0.0;  // what a unit in the last place of O, from which a gradient is computed,
  double given_rms = 0.0;  // changes the gradient by; 0 where nobody asked
};

/// Throws std::invalid_argument when the sizes differ, or there is not a weight for each row. -inf
/// equals -inf in LSE, NaN equals NaN.
ErrorMetrics error_metrics(const ForwardRows& got, const ExactRows& want,
                           std::span<const double> row_weights = {});

/// One tensor alone, in whatever type it was computed.
ErrorMetrics error_metrics(std::span<const float> got, std::span<const double> want,
                           const CheckedRows& rows = {});
ErrorMetrics error_metrics(std::span<const Half> got, std::span<const double> want,
                           const CheckedRows& rows = {});

/// FlashAttention's own test rule: err(kernel) <= ratio * err(unfused, same dtype) + floor.
struct Tolerance {
  double ratio = 2.0;
  /// Relative to the largest |want|: half a unit in the last place of fp16. The rule never allows
  /// less than one unit of the elements themselves (unit_max, unit_rms).
  double floor = 0x1p-11;
  /// The most that ratio * err(unfused) grants, in the mean over elements (rel_l2, rmse). An
  /// unfused computation that errs by more itself measures nothing: of max_abs it grants eight
  /// times `most` then, since the largest of a million normal errors is five times their root mean
  /// square.
  double most = 0x1p-5;
};

/// Empty when the kernel is correct, else the first condition that does not hold, in words:
///   nonfinite == 0, and for err in {rel_l2, max_abs, lse_max_abs} the rule of Tolerance.
/// rel_l2 is the stable measure; max_abs finds the one wrong element in a large tensor.
/// A NaN anywhere makes the kernel incorrect.
std::string why_incorrect(const ErrorMetrics& kernel, const ErrorMetrics& unfused,
                          const Tolerance& tolerance);

/// One condition of the rule. `size` is what floor and cap are relative to, `unit` the units in
/// the last place of fp16 that are always allowed.
struct ErrorCondition {
  const char* name;
  double kernel, unfused, size, unit;
  double cap;  // of what is granted, over `size`
};

/// Tolerance::most of a largest error: none beside an unfused computation that is a measure, which
/// errs by `unfused` in the mean.
double cap_of_largest(const Tolerance& tolerance, double unfused);

/// Empty when it holds, else why not. NaN never holds.
std::string why_broken(const ErrorCondition& condition, const Tolerance& tolerance);

/// err(kernel) / err(unfused) in rel_l2; NaN where either is not finite.
double error_ratio(const ErrorMetrics& kernel, const ErrorMetrics& unfused);

}  // namespace sparkbench
