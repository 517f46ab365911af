// The problem of a case, which a grid poses and a record keeps as it was posed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/attention.h"

namespace sparkbench {

/// A Problem, which pass of it is computed, and of what inputs.
struct CaseProblem : Problem {
  CaseProblem() = default;
  CaseProblem(Pass of_pass, const Problem& problem) : Problem(problem), pass(of_pass) {}

  Pass pass = Pass::kForward;
  // None in records of before there was a choice.
  std::optional<std::string> input = "normal";  // "uniform", "outliers", or "tensors": the user's
  std::optional<int> input_scale = 1;           // of q, k and v; none of the user's
  std::optional<float> own_dropout_p;  // that a contender with a dropout of its own applied

  /// As --lengths takes them (sweeps/lengths.h). None where all sequences are alike. Of a problem
  /// that was read from a record, only what is recorded of them is known, and `lengths` is null.
  std::optional<std::string> lengths_spec;
  std::optional<std::int64_t> total_q, total_k;  // tokens of all sequences
  std::optional<std::string> lengths_hash;       // lengths.h: hash_of()

  /// In 256ths (kernels/dropout.h), unless the contender's own.
  float applied_dropout_p() const { return own_dropout_p.value_or(dropout().applied_p()); }
};

/// "applied", "asked"
std::string_view name_of(DropoutScale scale);

/// Throws std::invalid_argument when no scale is called so.
void parse_name(std::string_view name, DropoutScale& scale);

/// "fwd", "bwd", "fwd+bwd"
std::string_view name_of(Pass pass);

/// Throws std::invalid_argument when no pass is called so.
void parse_name(std::string_view name, Pass& pass);

}  // namespace sparkbench
