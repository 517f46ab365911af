// The length of each sequence of a batch, if not all are alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sparkbench {

/// One sequence's rows and keys, of which either may be 0.
struct SequenceLength {
  int q, k;
};

/// Lengths of any number of sequences, also none, as cu_seqlens of rows and of keys
/// (kernels/problem/packed.h). Totals are below 2^30.
class SequenceLengths {
 public:
  explicit SequenceLengths(const std::vector<SequenceLength>& of_each) {
    for (const SequenceLength& length : of_each) {
      cu_seqlens_q_.push_back(total_q() + length.q);
      cu_seqlens_k_.push_back(total_k() + length.k);
      longest_q_ = std::max(longest_q_, length.q);
      longest_k_ = std::max(longest_k_, length.k);
    }
  }

  int batch() const { return static_cast<int>(cu_seqlens_q_.size()) - 1; }
  int q(int sequence) const { return length(cu_seqlens_q_, sequence); }
  int k(int sequence) const { return length(cu_seqlens_k_, sequence); }
  int total_q() const { return cu_seqlens_q_.back(); }
  int total_k() const { return cu_seqlens_k_.back(); }
  int longest_q() const { return longest_q_; }
  int longest_k() const { return longest_k_; }

  /// [batch + 1], from 0 to the total.
  const std::vector<int>& cu_seqlens_q() const { return cu_seqlens_q_; }
  const std::vector<int>& cu_seqlens_k() const { return cu_seqlens_k_; }

 private:
  static int length(const std::vector<int>& cu_seqlens, int sequence) {
    const auto at = static_cast<std::size_t>(sequence);
    return cu_seqlens[at + 1] - cu_seqlens[at];
  }

  std::vector<int> cu_seqlens_q_ = {0}, cu_seqlens_k_ = {0};
  int longest_q_ = 0, longest_k_ = 0;
};

}  // namespace sparkbench
