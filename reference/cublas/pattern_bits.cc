#include "reference/cublas/pattern_bits.h"

#include "kernels/base/ceil_divide.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {

int union_count(const Problem& problem) {
  return problem.sparse ? static_cast<int>(problem.sparse->pattern.unions.size()) : 1;
}

std::size_t bits_row_bytes(const Problem& problem) {
  return sizeof(std::uint64_t) * static_cast<std::size_t>(ceil_divide(problem.seqlen_k, kWordKeys));
}

std::size_t bits_bytes(const Problem& problem) {
  if (!problem.sparse) return 0;
  return static_cast<std::size_t>(union_count(problem)) *
         static_cast<std::size_t>(problem.seqlen_q) * bits_row_bytes(problem);
}

std::vector<std::uint64_t> pattern_words(const Problem& problem) {
  std::vector<std::uint64_t> words;
  words.reserve(bits_bytes(problem) / sizeof(std::uint64_t));
  for (int i = 0; i < union_count(problem); ++i) {
    const SharedBits bits = bits_of(problem.sparse->pattern, i);
    words.insert(words.end(), bits->words.begin(), bits->words.end());
  }
  return words;
}

std::uint64_t visible_pairs_of_heads(const Problem& problem) {
  const auto batch = static_cast<std::uint64_t>(problem.batch);
  if (!problem.sparse) {
    return batch * static_cast<std::uint64_t>(problem.heads) * visible_pairs(problem.key_mask());
  }
  std::uint64_t pairs = 0;
  for (int head = 0; head < problem.heads; ++head) pairs += problem.sparse->pairs_of(head);
  return batch * pairs;
}

}  // namespace sparkbench
