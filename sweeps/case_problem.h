// The problem of a case, as a grid creates it and a record stores it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/problem/attention.h"
#include "reference/encoder/layer_shape.h"
#include "reference/tensors/element_type.h"
#include "reference/tensors/tensor_layout.h"

namespace sparkbench {

/// A Problem, its pass, and its inputs.
struct CaseProblem : Problem {
  CaseProblem() = default;
  CaseProblem(Pass of_pass, const Problem& problem) : Problem(problem), pass(of_pass) {}

  Pass pass = Pass::kForward;
  TensorLayout layout = TensorLayout::kBshd;
  // Empty in records older than the choice of inputs.
  std::optional<std::string> input = "normal";  // "uniform", "outliers", or "tensors": the user's
  std::optional<int> input_scale = 1;           // of q, k and v; empty for the user's tensors
  std::optional<LayerShape> layer;              // empty for attention by itself
  std::optional<std::string> model;             // as a preset names it; not an axis
  std::optional<float> own_dropout_p;           // applied by a candidate with its own dropout

  /// The value of --lengths (sweeps/lengths.h). Empty if all sequences have one length. A problem
  /// read from a record has only the recorded fields below, and `lengths` is null.
  std::optional<std::string> lengths_spec;
  std::optional<std::int64_t> total_q, total_k;  // tokens of all sequences
  std::optional<std::string> lengths_hash;       // lengths.h: hash_of()

  /// A pattern (kernels/mask/pattern) in its normal form, if mask_spec.h does not have the mask;
  /// `mask` is then full. `sparse` is built from it once the lengths are known (sweeps/masks.h),
  /// and is null in a problem read from a record.
  std::optional<std::string> pattern_spec;
  std::optional<std::string> zones_hash;  // hash of the file that the pattern names: masks.h

  /// In 256ths (kernels/problem/dropout.h), unless the candidate has its own.
  float applied_dropout_p() const { return own_dropout_p.value_or(dropout().applied_p()); }
};

/// "applied", "asked"
std::string_view name_of(DropoutScale scale);

/// Throws std::invalid_argument for an unknown name.
void parse_name(std::string_view name, DropoutScale& scale);

/// "fwd", "bwd", "fwd+bwd"
std::string_view name_of(Pass pass);

/// Throws std::invalid_argument for an unknown name.
void parse_name(std::string_view name, Pass& pass);

}  // namespace sparkbench
