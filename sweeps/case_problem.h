// The problem of a case, which a grid poses and a record keeps as it was posed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/attention.h"
#include "kernels/encoder/layer_shape.h"

namespace sparkbench {

/// A Problem, which pass of it is computed, and of what inputs.
struct CaseProblem : Problem {
  CaseProblem() = default;
  CaseProblem(Pass of_pass, const Problem& problem) : Problem(problem), pass(of_pass) {}

  Pass pass = Pass::kForward;
  // None in records of before there was a choice.
  std::optional<std::string> input = "normal";  // "uniform", "outliers", or "tensors": the user's
  std::optional<int> input_scale = 1;           // of q, k and v; none of the user's
  std::optional<LayerShape> layer;              // whose attention it is; none of attention alone
  std::optional<std::string> model;    // whose attention it is, by a preset's name for it; no axis
  std::optional<float> own_dropout_p;  // that a candidate with a dropout of its own applied

  /// As --lengths takes them (sweeps/lengths.h). None where all sequences are alike. Of a problem
  /// that was read from a record, only what is recorded of them is known, and `lengths` is null.
  std::optional<std::string> lengths_spec;
  std::optional<std::int64_t> total_q, total_k;  // tokens of all sequences
  std::optional<std::string> lengths_hash;       // lengths.h: hash_of()

  /// A pattern (kernels/mask/pattern) in its normal form, where the mask is none of mask_spec.h's;
  /// `mask` is full then. `sparse` is made of it for known lengths (sweeps/masks.h), and null in a
  /// problem that was read from a record.
  std::optional<std::string> pattern_spec;
  std::optional<std::string> zones_hash;  // of the file that the pattern names: masks.h

  /// In 256ths (kernels/dropout.h), unless the candidate's own.
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
