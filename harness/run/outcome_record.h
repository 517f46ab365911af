// Converts a run's outcome to record fields.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/devices/device.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// Memory and counts of `outcome`.
void record_outcome(const RunOutcome& outcome, const DeviceInfo& device, CaseRecord& record);

/// The errors of the unfused fp16 computation on the same problem.
struct UnfusedError {
  const ErrorMetrics& same_accumulator;
  const ErrorMetrics& fp32;
};

/// Errors of tensor `output` against the exact result, their ratios to the unfused computation's,
/// and a hash of the checked values. Leaves worst_index empty.
Accuracy make_accuracy(const char* output, const ErrorMetrics& error, const UnfusedError& unfused,
                       std::span<const Half> values);

/// {batch, row, head, dim} of the worst element of [rows, head_dim]; empty without rows.
template <class Row>
std::vector<std::int64_t> worst_position(const std::vector<Row>& rows, const ErrorMetrics& error,
                                         const Problem& problem) {
  if (rows.empty()) return {};
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  const Row& row = rows.at(error.worst_index / head_dim);
  return {row.batch, row.row, row.head, static_cast<std::int64_t>(error.worst_index % head_dim)};
}

/// Adds {batch, row, head} of the worst of `rows`, their number, and whether they have weights.
template <class Row>
void add_rows(const std::vector<Row>& rows, const std::vector<double>& weights,
              const ErrorMetrics& error, Accuracy& accuracy) {
  accuracy.checked_rows = rows.size();
  accuracy.weighted = !weights.empty();
  accuracy.worst_row_rel_l1 = error.worst_row_rel_l1;
  if (!error.worst_row_rel_l1) return;
  const Row& row = rows.at(error.worst_row);
  accuracy.worst_row = {row.batch, row.row, row.head};
}

void add_mask_and_repeatability(const DropoutMaskSummary& mask, const RunOutcome& outcome,
                                Accuracy& accuracy);

/// "shared_race at forward.h:120, block (0,0,0), thread 3: ..."
std::string describe(const Finding& finding);

}  // namespace sparkbench
