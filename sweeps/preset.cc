#include "sweeps/preset.h"

#include <algorithm>
#include <vector>

#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

GridAxes quick_axes() {
  GridAxes axes;
  axes.head_dims = {64, 128};
  axes.seqlens_q = {128, 200};  // a multiple of every tile, and one of none
  axes.causal = {false, true};
  axes.dropout_p = {0.0f, 0.1f};
  axes.batch = 1;
  axes.heads = 2;
  return axes;
}

/// SparkAttention, section 4.1: hidden size 2048, 16,384 tokens, head_dim 64 and 128.
GridAxes paper_axes() {
  GridAxes axes;
  axes.head_dims = {64, 128};
  axes.seqlens_q = {512, 1024, 2048, 4096, 8192, 16384};
  axes.causal = {false, true};
  axes.dropout_p = {0.0f, 0.1f};
  return axes;
}

/// The same grid backward.
GridAxes paper_backward_axes() {
  GridAxes axes = paper_axes();
  axes.passes = {Pass::kBackward};
  return axes;
}

/// The paper's lengths, with one sequence and two heads: errors depend on seqlen and head_dim, and
/// every further head is only another sample of the same distribution.
GridAxes paper_accuracy_axes() {
  GridAxes axes = paper_axes();
  axes.batch = 1;
  axes.heads = 2;
  return axes;
}

/// One length and one mask, every distribution, growing until the inputs themselves overflow fp16.
GridAxes accuracy_inputs_axes() {
  GridAxes axes;
  axes.head_dims = {64, 128};
  axes.seqlens_q = {512};
  axes.causal = {false};
  axes.dropout_p = {0.0f};
  axes.inputs = {"normal", "uniform", "outliers"};
  axes.input_scales.clear();
  for (int scale = 1; scale <= 1 << 16; scale *= 2) axes.input_scales.push_back(scale);
  axes.batch = 1;
  axes.heads = 1;
  return axes;
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> all = {
      {"quick", "both head dims, masks and dropouts on short sequences; under a minute emulated",
       quick_axes()},
      {"paper-forward", "SparkAttention's forward grid: 512 to 16k of 16,384 tokens, hidden 2048",
       paper_axes()},
      {"paper-backward", "SparkAttention's grid of the backward pass, its lengths and hidden size",
       paper_backward_axes()},
      {"paper-accuracy", "SparkAttention's lengths, one sequence of two heads: errors, not times",
       paper_accuracy_axes()},
      {"accuracy-inputs", "three distributions of inputs, each growing until FP16 overflows",
       accuracy_inputs_axes()},
  };
  return all;
}

const Preset& find_preset(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  throw UsageError(unknown_name_message("--preset", name, names));
}

}  // namespace sparkbench
