// Problems that cuDNN's graphs of attention are tested with.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/attention.h"

namespace sparkbench::cudnn {

/// Of the cuDNN that they are for.
constexpr std::size_t kTestVersion = 91901;

/// Every mask that has a graph, of few rows and keys.
std::vector<Problem> problems_with_a_graph();

/// Heads that share keys. dK and dV of each are rounded to fp16 before they are added up.
std::vector<Problem> problems_with_groups();

/// Lengths that differ, empty ones among them, and more rows than keys.
const std::vector<SequenceLength>& test_lengths();
/// As many rows as keys in each.
const std::vector<SequenceLength>& square_test_lengths();

Problem packed_problem(const std::vector<SequenceLength>& lengths, const MaskSpec& mask,
                       float dropout_p = 0.0f, int heads_k = 4);

/// Every mask that has a graph, with and without heads that share keys and dropout.
std::vector<Problem> packed_problems();

/// Lengths, mask and dropout.
std::string describe(const Problem& problem);

}  // namespace sparkbench::cudnn
