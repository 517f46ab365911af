#include "reference/cudnn/ragged_batch.h"

#include <algorithm>

namespace sparkbench::cudnn {
namespace {

/// Under every mask the blind rows come first: later rows see keys further right.
int count_blind_rows(const KeyMask& mask) {
  int blind = 0;
  while (blind < mask.seqlen_q && mask.keys(blind).is_empty()) ++blind;
  return blind;
}

template <class T, class Of>
std::vector<T> of_each(const std::vector<RaggedSequence>& sequences, const Of& of) {
  std::vector<T> values;
  values.reserve(sequences.size() + 1);
  for (const RaggedSequence& one : sequences) values.push_back(static_cast<T>(of(one)));
  return values;
}

}  // namespace

bool RaggedBatch::are_square() const {
  return std::all_of(sequences.begin(), sequences.end(),
                     [](const RaggedSequence& one) { return one.rows == one.keys; });
}

std::vector<std::int64_t> RaggedBatch::first_rows(std::int64_t stride) const {
  auto first = of_each<std::int64_t>(
      sequences, [stride](const RaggedSequence& one) { return stride * one.first_row; });
  if (!sequences.empty()) {
    first.push_back(stride * (sequences.back().first_row + sequences.back().rows));
  }
  return first;
}

std::vector<std::int64_t> RaggedBatch::first_keys(std::int64_t stride) const {
  auto first = of_each<std::int64_t>(
      sequences, [stride](const RaggedSequence& one) { return stride * one.first_key; });
  if (!sequences.empty()) {
    first.push_back(stride * (sequences.back().first_key + sequences.back().keys));
  }
  return first;
}

std::vector<std::int32_t> RaggedBatch::rows() const {
  return of_each<std::int32_t>(sequences, [](const RaggedSequence& one) { return one.rows; });
}

std::vector<std::int32_t> RaggedBatch::keys() const {
  return of_each<std::int32_t>(sequences, [](const RaggedSequence& one) { return one.keys; });
}

RaggedBatch ragged_batch(const Problem& problem) {
  RaggedBatch batch;
  batch.total_rows = problem.lengths->total_q();
  batch.total_keys = problem.lengths->total_k();
  for (int i = 0; i < problem.batch; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int first_row = problem.lengths->cu_seqlens_q()[at];
    const int first_key = problem.lengths->cu_seqlens_k()[at];
    const int rows = problem.seqlen_q_of(i), keys = problem.seqlen_k_of(i);
    const int blind = count_blind_rows(problem.key_mask_of(i));
    if (blind > 0) batch.blind_rows.push_back({first_row, first_row + blind});
    if (blind < rows) {
      batch.sequences.push_back({first_row + blind, rows - blind, first_key, keys});
      batch.longest_rows = std::max(batch.longest_rows, rows - blind);
      batch.longest_keys = std::max(batch.longest_keys, keys);
    } else if (keys > 0) {
      batch.unread_keys.push_back({first_key, first_key + keys});
    }
  }
  return batch;
}

}  // namespace sparkbench::cudnn
