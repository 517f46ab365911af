// Inputs whose scores rise: with normal ones m of a row rises only in its first tile (lazy_rows.h).
#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/base/half.h"
#include "kernels/problem/attention.h"
#include "reference/inputs/inputs.h"

namespace sparkbench::hopper {

/// Normal inputs, but that of_key(row of K) comes to each scaled score, of all sequences and heads.
template <class OfKey>
OwnedInputs inputs_with(const Problem& problem, std::uint64_t seed, OfKey of_key) {
  constexpr float kOfQuery = 8.0f;
  OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, seed);
  const auto columns = static_cast<std::size_t>(problem.head_dim);
  const std::size_t row = columns * static_cast<std::size_t>(problem.key_heads());
  for (std::size_t i = 0; i < inputs.q.size(); i += columns) inputs.q[i] = to_half(kOfQuery);
  for (std::size_t i = 0; i < inputs.k.size(); i += columns) {
    const float score = of_key(static_cast<int>(i / row));
    inputs.k[i] = to_half(score / (kOfQuery * problem.scale()));
  }
  return inputs;
}

/// Scores that rise by 2^9 of P in 64 keys.
inline OwnedInputs rising_inputs(const Problem& problem, std::uint64_t seed) {
  return inputs_with(problem, seed, [](int key) { return 0.1f * static_cast<float>(key); });
}

}  // namespace sparkbench::hopper
