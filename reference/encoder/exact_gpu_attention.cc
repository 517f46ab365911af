#include "reference/encoder/exact_gpu_attention.h"

#include <algorithm>
#include <vector>

#include "kernels/strided/pass_dropout.h"
#include "reference/cublas/pattern_bits.h"
#include "reference/encoder/token_rows.h"
#include "reference/inputs/dropout_mask.h"

namespace sparkbench {
namespace {

constexpr int kRowsAtOnce = 1024;  // rows of a head's scores

std::unique_ptr<DeviceBuffer> bits_of_pattern(const Problem& problem) {
  if (!problem.sparse) return nullptr;
  const std::vector<std::uint64_t> words = pattern_words(problem);
  auto bits = std::make_unique<DeviceBuffer>(words.size() * sizeof(std::uint64_t));
  CUDA_CHECK(cudaMemcpy(bits->as<void>(), words.data(), bits->bytes(), cudaMemcpyHostToDevice));
  return bits;
}

}  // namespace

/// Some rows of one head of a sequence with `keys` keys.
struct ExactGpuAttention::Rows {
  int sequence, head;
  int first_token;  // the sequence's
  int row, count, keys;
};

ExactGpuAttention::ExactGpuAttention(const Problem& problem, const ExactProducts& products)
    : problem_(problem),
      products_(products),
      hidden_(problem.heads * problem.head_dim),
      bits_(bits_of_pattern(problem)) {}

template <class Body>
void ExactGpuAttention::for_rows_of_heads(Body body) const {
  for (int sequence = 0; sequence < problem_.batch; ++sequence) {
    const int first = static_cast<int>(first_token(problem_, sequence));
    const int keys = problem_.seqlen_k_of(sequence);
    for (int head = 0; head < problem_.heads; ++head) {
      for (int row = 0; row < keys; row += kRowsAtOnce) {
        body(Rows{sequence, head, first, row, std::min(kRowsAtOnce, keys - row), keys});
      }
    }
  }
}

DoubleView ExactGpuAttention::rows_of(const DoubleMatrix& packed, int part,
                                      const Rows& rows) const {
  return packed.part(rows.first_token + rows.row, rows.count,
                     part * hidden_ + rows.head * problem_.head_dim, problem_.head_dim);
}

DoubleView ExactGpuAttention::keys_of(const DoubleMatrix& packed, int part,
                                      const Rows& rows) const {
  return packed.part(rows.first_token, rows.keys, part * hidden_ + rows.head * problem_.head_dim,
                     problem_.head_dim);
}

DoubleView ExactGpuAttention::scores_of(const DoubleMatrix& scores, const Rows& rows) {
  return {scores.data(), rows.count, rows.keys, rows.keys};
}

ExactScores ExactGpuAttention::meaning_of(const Rows& rows) const {
  ExactScores scores;
  scores.dropout = {problem_.dropout(), exact_keep_scale(problem_)};
  scores.views = dropout_views_of(problem_);
  scores.sequence = rows.sequence;
  scores.head = rows.head;
  scores.first_row = rows.row;
  scores.scale = static_cast<double>(problem_.scale());
  if (bits_ == nullptr) {
    scores.mask = problem_.key_mask_of(rows.sequence);
    return scores;
  }
  scores.row_words = static_cast<int>(bits_row_bytes(problem_) / sizeof(std::uint64_t));
  scores.bits =
      bits_->as<std::uint64_t>() + static_cast<std::ptrdiff_t>(rows.head % union_count(problem_)) *
                                       problem_.seqlen_q * scores.row_words;
  return scores;
}

DoubleMatrix ExactGpuAttention::make_scores() const {
  return {std::min(kRowsAtOnce, problem_.seqlen_q), problem_.seqlen_k};
}

void ExactGpuAttention::probabilities(const DoubleMatrix& qkv, const Rows& rows,
                                      const DoubleMatrix& p, const DoubleMatrix& dropped) const {
  products_.multiply(rows_of(qkv, 0, rows), keys_of(qkv, 1, rows).transposed(), scores_of(p, rows));
  exact_softmax(p.data(), dropped.data(), meaning_of(rows), {rows.count, rows.keys}, nullptr);
}

void ExactGpuAttention::forward(const DoubleMatrix& qkv, const DoubleMatrix& o) const {
  const DoubleMatrix p = make_scores(), dropped = make_scores();
  for_rows_of_heads([&](const Rows& rows) {
    probabilities(qkv, rows, p, dropped);
    products_.multiply(scores_of(dropped, rows), keys_of(qkv, 2, rows), rows_of(o, 0, rows));
  });
  CUDA_CHECK(cudaDeviceSynchronize());  // before the scores are freed
}

void ExactGpuAttention::backward(const DoubleMatrix& qkv, const DoubleMatrix& d_o,
                                 const DoubleMatrix& d_qkv) const {
  const DoubleMatrix p = make_scores(), dropped = make_scores(), d_scores = make_scores();
  for_rows_of_heads([&](const Rows& rows) {
    probabilities(qkv, rows, p, dropped);
    const DoubleView of_o = rows_of(d_o, 0, rows), of_scores = scores_of(d_scores, rows);
    const double of_before = rows.row == 0 ? 0 : 1;
    products_.multiply(scores_of(dropped, rows).transposed(), of_o, keys_of(d_qkv, 2, rows),
                       of_before);
    products_.multiply(of_o, keys_of(qkv, 2, rows).transposed(), of_scores);
    exact_softmax_backward(p.data(), d_scores.data(), meaning_of(rows), {rows.count, rows.keys},
                           nullptr);
    products_.multiply(of_scores, keys_of(qkv, 1, rows), rows_of(d_qkv, 0, rows));
    products_.multiply(of_scores.transposed(), rows_of(qkv, 0, rows), keys_of(d_qkv, 1, rows),
                       of_before);
  });
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace sparkbench
