// For tests of references: patterns over 40 keys, with their visible keys from the atoms'
// definitions in words instead of the pattern algebra (kernels/mask/pattern/test_atoms.h).
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/test_atoms.h"
#include "kernels/problem/attention.h"

namespace sparkbench {

struct WordedPattern {
  std::string spec;
  std::function<bool(int head, int p, int k)> sees;  // for the row at key p
};

inline bool sees_window(int p, int k, int keys) { return k <= p && k > p - keys; }
inline bool is_same_line(int p, int k, int extent) {
  return line_of(p, extent) == line_of(k, extent);
}

inline std::vector<WordedPattern> worded_patterns() {
  const auto nd = [](int p, int k) {  // a 5 x 8 grid, windows of 3 x 5
    return is_in_neighbourhood(line_of(p, 8), line_of(k, 8), 5, 3) &&
           is_in_neighbourhood(column_of(p, 8), column_of(k, 8), 8, 5);
  };
  return {
      {"window:7+window:3", [](int, int p, int k) { return sees_window(p, k, 7); }},
      {"blocked:6",
       [](int, int p, int k) {
         const int back = line_of(p, 6) - line_of(k, 6);
         return back == 0 || back == 1;
       }},
      {"strided:5", [](int, int p, int k) { return column_of(k - p, 5) == 0; }},
      {"causal-strided:4+window:3",
       [](int, int p, int k) {
         return sees_window(p, k, 3) || (k <= p && column_of(k - p, 4) == 0);
       }},
      {"dilated:2:6",
       [](int, int p, int k) { return column_of(k - p, 6) == 0 && std::abs(k - p) <= 12; }},
      {"fixed:8:2",
       [](int, int p, int k) { return k <= p && (is_same_line(p, k, 8) || column_of(k, 8) >= 6); }},
      {"longformer:4:3", [](int, int p, int k) { return std::abs(k - p) <= 4 || k < 3 || p < 3; }},
      {"sink:2+window:5",
       [](int, int p, int k) { return sees_window(p, k, 5) || (k < 2 && k <= p); }},
      {"causal-documents:7:18:9",  // and six keys in no document
       [](int, int p, int k) {
         const std::vector<int> lengths = {7, 18, 9};
         return k <= p && document_of(lengths, p) >= 0 &&
                document_of(lengths, p) == document_of(lengths, k);
       }},
      {"nd:5x8:3x5", [nd](int, int p, int k) { return nd(p, k); }},
      {"window:9/strided:3/full",
       [](int head, int p, int k) {
         if (head % 3 == 0) return sees_window(p, k, 9);
         return head % 3 == 2 || column_of(k - p, 3) == 0;
       }},
  };
}

/// `problem`, whose lengths must be set, under a pattern.
inline Problem with_pattern(Problem problem, const std::string& spec) {
  problem.sparse = make_sparse_mask(spec, problem.seqlen_q, problem.seqlen_k);
  return problem;
}

}  // namespace sparkbench
