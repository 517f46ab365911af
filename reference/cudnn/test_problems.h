// Problems that cuDNN's graphs of attention are tested with.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/problem/attention.h"

namespace sparkbench::cudnn {

/// The cuDNN version of these problems.
constexpr std::size_t kTestVersion = 91901;

/// Every mask that has a graph, with few rows and keys.
std::vector<Problem> problems_with_a_graph();

/// Heads that share keys. Each head's dK and dV are rounded to fp16 before they are summed.
std::vector<Problem> problems_with_groups();

/// Different lengths, with empty sequences and with more rows than keys.
const std::vector<SequenceLength>& test_lengths();
/// Each sequence has as many rows as keys.
const std::vector<SequenceLength>& square_test_lengths();

Problem packed_problem(const std::vector<SequenceLength>& lengths, const MaskSpec& mask,
                       float dropout_p = 0.0f, int heads_k = 4);

/// Every mask that has a graph, with and without shared keys and dropout.
std::vector<Problem> packed_problems();

/// Lengths, mask and dropout.
std::string describe(const Problem& problem);

}  // namespace sparkbench::cudnn
