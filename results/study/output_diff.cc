#include "results/study/case_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "results/render/number_format.h"

namespace sparkbench {
namespace {

constexpr double kErrorGrowth = 1.05, kLseGrowth = 2;
constexpr double kSampleGrowth = 1.2;    // of two estimates, each within 10 %
constexpr double kLseRounding = 9.6e-7;  // a unit in the last place of a float from 8 to 16
constexpr double kMemoryGrowth = 1.01;
constexpr double kPageBytes = 2 << 20;  // the GPU driver's allocation granularity

std::string grew(const Accuracy& accuracy, const char* metric, double first, double second) {
  return fmt::format("{} of {} is {}, was {}", metric, accuracy.output, significant(second, 3),
                     significant(first, 3));
}

bool are_of_same_rows(const Accuracy& first, const Accuracy& second) {
  return first.checked_elements == second.checked_elements &&
         first.weighted.value_or(false) == second.weighted.value_or(false);
}

/// How much rel_l2 may grow, as a factor. A sample from before 1.7.0 was not weighted and says
/// nothing about other rows.
double allowed_growth(const Accuracy& first, const Accuracy& second) {
  if (are_of_same_rows(first, second)) return kErrorGrowth;
  return first.weighted && second.weighted ? kSampleGrowth
                                           : std::numeric_limits<double>::infinity();
}

/// The error that has grown, as a message; "" if none has.
std::string find_growth(const Accuracy& first, const Accuracy& second) {
  if (second.nonfinite > first.nonfinite) {
    return fmt::format("{} elements of {} are not finite, {} were", second.nonfinite, second.output,
                       first.nonfinite);
  }
  // So that NaN, for an output that is not finite, is not counted as growth too.
  if (second.rel_l2 > allowed_growth(first, second) * first.rel_l2) {
    return grew(second, "rel_l2", first.rel_l2, second.rel_l2);
  }
  if (are_of_same_rows(first, second) && first.lse_max_abs && second.lse_max_abs &&
      *second.lse_max_abs > kLseGrowth * *first.lse_max_abs + kLseRounding) {
    return grew(second, "the largest error of lse", *first.lse_max_abs, *second.lse_max_abs);
  }
  return "";
}

bool has_grown(double first, double second, double least_bytes) {
  return second > kMemoryGrowth * first && second - first > least_bytes;
}

std::string memory_grew(const char* what, std::uint64_t first, std::uint64_t second) {
  return fmt::format("{} {}, was {}", what, format_memory(second), format_memory(first));
}

double ratio_of_bytes(std::uint64_t first, std::uint64_t second) {
  return static_cast<double>(second) / static_cast<double>(first);
}

bool may_repeat(const Accuracy& accuracy) { return accuracy.bitwise_repeatable.value_or(true); }

/// Compares the same rows of one output; none if unknown.
std::optional<bool> has_same_bits(const Accuracy& first, const Accuracy& second) {
  if (!first.output_hash || !second.output_hash) return std::nullopt;
  if (!may_repeat(first) || !may_repeat(second)) return std::nullopt;
  return first.output_hash == second.output_hash;
}

}  // namespace

void compare_errors(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff) {
  for (const Accuracy* accuracy : accuracies_of(second)) {
    const Accuracy* const before = find_accuracy(first, accuracy->output);
    if (before == nullptr) continue;
    const double ratio = accuracy->rel_l2 / before->rel_l2;
    if (std::isfinite(ratio)) diff.error_ratio = std::max(diff.error_ratio.value_or(0), ratio);
    if (std::string growth = find_growth(*before, *accuracy); !growth.empty()) {
      diff.findings.push_back({Verdict::kWorse, std::move(growth)});
    }
  }
}

void compare_memory(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff) {
  if (!first.memory_bytes || !second.memory_bytes) return;
  const MemoryBytes &a = *first.memory_bytes, &b = *second.memory_bytes;
  const bool has_peaks = a.peak && b.peak;
  const std::uint64_t before = has_peaks ? *a.peak : a.workspace;
  const std::uint64_t after = has_peaks ? *b.peak : b.workspace;
  if (before > 0) diff.memory_ratio = ratio_of_bytes(before, after);
  const auto bytes = [](std::uint64_t value) { return static_cast<double>(value); };
  if (has_peaks && has_grown(bytes(before), bytes(after), 2 * kPageBytes)) {
    diff.findings.push_back({Verdict::kMemory, memory_grew("peak", before, after)});
  } else if (has_grown(bytes(a.workspace), bytes(b.workspace), 0)) {
    diff.findings.push_back({Verdict::kMemory, memory_grew("workspace", a.workspace, b.workspace)});
  }
}

void compare_bits(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff) {
  std::vector<std::string> others;
  for (const Accuracy* accuracy : accuracies_of(second)) {
    const Accuracy* const before = find_accuracy(first, accuracy->output);
    if (before == nullptr || !are_of_same_rows(*before, *accuracy)) continue;
    if (before->mask_hash && accuracy->mask_hash && before->mask_hash != accuracy->mask_hash) {
      others.push_back("the dropout mask of " + accuracy->output);
    }
    const std::optional<bool> is_same = has_same_bits(*before, *accuracy);
    if (!is_same) continue;
    diff.has_same_bits = diff.has_same_bits.value_or(true) && *is_same;
    if (!*is_same) others.push_back(accuracy->output);
  }
  if (!others.empty()) {
    diff.findings.push_back({Verdict::kBits, fmt::format("{}", fmt::join(others, ", "))});
  }
}

}  // namespace sparkbench
