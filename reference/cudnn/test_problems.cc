#include "reference/cudnn/test_problems.h"

#include <memory>
#include <utility>

#include "kernels/mask/test_masks.h"
#include "reference/cudnn/supported_problems.h"

namespace sparkbench::cudnn {

std::vector<Problem> problems_with_a_graph() {
  std::vector<Problem> problems;
  for (const MaskSpec& mask : kTestMasks) {
    for (const float dropout_p : {0.0f, 0.25f}) {
      for (const auto& [seqlen_q, seqlen_k] : {std::pair{1, 1}, {7, 7}, {5, 9}, {9, 5}}) {
        const Problem problem{2, 3, seqlen_q, seqlen_k, 8, mask, dropout_p, 0.0f, 77};
        if (!why_no_graph(problem, kTestVersion)) problems.push_back(problem);
      }
    }
  }
  return problems;
}

std::vector<Problem> problems_with_groups() {
  std::vector<Problem> problems;
  for (const int heads_k : {1, 2}) {
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::window(3)}) {
      for (const float dropout_p : {0.0f, 0.25f}) {
        problems.push_back({2, 4, 7, 7, 8, mask, dropout_p, 0.0f, 77, heads_k});
      }
    }
  }
  return problems;
}

std::string describe(const Problem& problem) {
  return std::to_string(problem.seqlen_q) + " x " + std::to_string(problem.seqlen_k) + ", " +
         name_of(problem.mask) + ", dropout " + std::to_string(problem.dropout_p);
}

const std::vector<SequenceLength>& test_lengths() {
  static const std::vector<SequenceLength> lengths = {{7, 7}, {0, 0}, {1, 4}, {9, 5},
                                                      {3, 0}, {0, 2}, {5, 6}};
  return lengths;
}

const std::vector<SequenceLength>& square_test_lengths() {
  static const std::vector<SequenceLength> squares = {{7, 7}, {1, 1}, {4, 4}};
  return squares;
}

Problem packed_problem(const std::vector<SequenceLength>& lengths, const MaskSpec& mask,
                       float dropout_p, int heads_k) {
  const Problem of_each{.heads = 4,
                        .head_dim = 8,
                        .mask = mask,
                        .dropout_p = dropout_p,
                        .seed = 77,
                        .heads_k = heads_k};
  return with_lengths(of_each, std::make_shared<const SequenceLengths>(lengths));
}

std::vector<Problem> packed_problems() {
  std::vector<Problem> problems;
  for (const MaskSpec& mask : kTestMasks) {
    for (const int heads_k : {4, 2}) {
      for (const Problem& problem : {packed_problem(test_lengths(), mask, 0.0f, heads_k),
                                     packed_problem(square_test_lengths(), mask, 0.0f, heads_k),
                                     packed_problem(square_test_lengths(), mask, 0.25f, heads_k)}) {
        if (!why_no_graph(problem, kTestVersion)) problems.push_back(problem);
      }
    }
  }
  return problems;
}

}  // namespace sparkbench::cudnn
