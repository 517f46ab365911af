#include "sweeps/axis_flags.h"

#include <algorithm>
#include <array>

#include "sweeps/list_flag.h"
#include "sweeps/names.h"

namespace sparkbench {
namespace {

std::vector<Pass> parse_passes(const std::string& text) {
  static const std::array<std::string, 3> names = {"fwd", "bwd", "fwd+bwd"};
  constexpr std::array<Pass, 3> kPasses = {Pass::kForward, Pass::kBackward, Pass::kForwardBackward};
  std::vector<Pass> passes;
  for (const std::string& name : select_names("--pass", text, names)) {
    passes.push_back(kPasses.at(std::find(names.begin(), names.end(), name) - names.begin()));
  }
  return passes;
}

std::vector<std::string> parse_inputs(const std::string& text) {
  static const std::array<std::string, 3> names = {"normal", "uniform", "outliers"};
  return select_names("--input", text, names);
}

void apply_shape_flags(GridAxes& axes, const AxisFlags& flags) {
  if (flags.total_tokens) {
    axes.total_tokens = parse_extent("--total-tokens", *flags.total_tokens);
    axes.batch.reset();
  }
  if (flags.hidden) {
    axes.hidden = parse_extent("--hidden", *flags.hidden);
    axes.heads.reset();
  }
  if (flags.batch) axes.batch = parse_extent_or_auto("--batch", *flags.batch);
  if (flags.heads) axes.heads = parse_extent_or_auto("--heads", *flags.heads);
}

}  // namespace

GridAxes apply_axis_flags(GridAxes preset, const AxisFlags& flags,
                          std::span<const std::string> known_kernels) {
  GridAxes axes = std::move(preset);
  if (flags.kernel) {
    axes.kernels = select_names("--kernel", *flags.kernel, known_kernels);
  } else if (axes.kernels.empty()) {
    axes.kernels.assign(known_kernels.begin(), known_kernels.end());
  }
  if (flags.pass) axes.passes = parse_passes(*flags.pass);
  if (flags.head_dim) axes.head_dims = parse_extents("--headdim", *flags.head_dim);
  if (flags.seqlen) axes.seqlens_q = parse_extents("--seqlen", *flags.seqlen);
  if (flags.seqlen_k) axes.seqlens_k = parse_extents("--seqlen-k", *flags.seqlen_k);
  if (flags.causal) axes.causal = parse_booleans("--causal", *flags.causal);
  if (flags.dropout) axes.dropout_p = parse_probabilities("--dropout", *flags.dropout);
  if (flags.input) axes.inputs = parse_inputs(*flags.input);
  if (flags.input_scale) axes.input_scales = parse_extents("--input-scale", *flags.input_scale);
  apply_shape_flags(axes, flags);
  return axes;
}

}  // namespace sparkbench
