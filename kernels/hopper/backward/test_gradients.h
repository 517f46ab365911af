// Shared by the tests of gradients: a problem with its inputs and its exact forward pass.
#pragma once

#include <utility>
#include <vector>

#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {

/// A problem, its inputs, and the exact forward pass rounded to the types that a kernel leaves.
struct Case {
  Problem problem;
  OwnedInputs inputs;
  std::vector<Half> d_o;
  RoundedForward forward;

  BackwardInputs view() const {
    return {inputs.q, inputs.k, inputs.v, d_o, forward.o, forward.lse};
  }
};

inline Case make_case(const Problem& problem) {
  OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
  RoundedForward forward = rounded_forward(problem, inputs.view(), all_rows(problem));
  return {problem, std::move(inputs), make_gradient_input(problem, Distribution::kNormal, 7),
          std::move(forward)};
}

}  // namespace sparkbench
