#include "sweeps/preset.h"

#include <algorithm>
#include <vector>

#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// A multiple of every tile, and a length that is one of none.
const AxisFlags kQuick = {{"--headdim", "64,128"}, {"--seqlen", "128,200"}, {"--causal", "both"},
                          {"--dropout", "0,0.1"},  {"--batch", "1"},        {"--heads", "2"}};

/// SparkAttention, section 4.1: hidden size 2048, 16,384 tokens, head_dim 64 and 128.
const AxisFlags kPaper = {{"--headdim", "64,128"},
                          {"--seqlen", "512:16k:*2"},
                          {"--causal", "both"},
                          {"--dropout", "0,0.1"}};

/// As many tokens as the paper's grid has, in sequences of any length.
const AxisFlags kRagged = {{"--headdim", "64,128"},
                           {"--lengths", "uniform:1:2k"},
                           {"--causal", "both"},
                           {"--dropout", "0,0.1"}};

/// SPLAT's three patterns at its densities, 10 to 50 % (kernels/mask/README.md): a window that
/// reaches to both sides, blocked and strided.
const AxisFlags kSplat = {{"--headdim", "64,128"},
                          {"--seqlen", "1k"},
                          {"--mask",
                           "band:52:52,band:167:167,band:299:299,blocked:64,blocked:128,"
                           "blocked:256,strided:10,strided:4,strided:2"},
                          {"--dropout", "0"}};

/// The inputs grow until they overflow fp16 themselves.
const AxisFlags kAccuracyInputs = {{"--headdim", "64,128"},
                                   {"--seqlen", "512"},
                                   {"--causal", "false"},
                                   {"--dropout", "0"},
                                   {"--input", "normal,uniform,outliers"},
                                   {"--input-scale", "1:64k:*2"},
                                   {"--batch", "1"},
                                   {"--heads", "1"}};

const AxisFlags kQuickEncoder = {
    {"--headdim", "64"}, {"--seqlen", "128"}, {"--causal", "both"}, {"--dropout", "0,0.1"},
    {"--batch", "1"},    {"--hidden", "256"}, {"--ffn", "1024"},    {"--rest", "unfused,fused"}};

/// SparkAttention, section 4.2.4: hidden 2048, 16,384 tokens. It says neither the FFN's size nor
/// which mask and dropout, and leaves out 8192.
const AxisFlags kPaperEncoder = {{"--headdim", "64,128"},    {"--seqlen", "512:16k:*2"},
                                 {"--causal", "both"},       {"--dropout", "0,0.1"},
                                 {"--hidden", "2048"},       {"--ffn", "2048,8192"},
                                 {"--rest", "unfused,fused"}};

AxisFlags with(AxisFlags flags, const AxisFlags& more) {
  flags.insert(more.begin(), more.end());
  return flags;
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> all = {
      {"quick", "both head dims, masks and dropouts on short sequences; under a minute emulated",
       kQuick},
      {"paper-forward", "SparkAttention's forward grid: 512 to 16k of 16,384 tokens, hidden 2048",
       kPaper},
      {"paper-backward", "SparkAttention's grid of the backward pass, its lengths and hidden size",
       with(kPaper, {{"--pass", "bwd"}})},
      {"paper-accuracy", "SparkAttention's lengths, one sequence of two heads: errors, not times",
       // Every further head is only another sample of the same distribution.
       with(kPaper, {{"--batch", "1"}, {"--heads", "2"}})},
      {"ragged", "packed sequences of 1 to 2k drawn tokens, 16,384 in all or so, hidden 2048",
       kRagged},
      {"splat", "SPLAT's window, blocked and strided patterns, 10 to 50 % dense, 1,024 tokens",
       kSplat},
      {"accuracy-inputs", "three distributions of inputs, each growing until FP16 overflows",
       kAccuracyInputs},
  };
  return all;
}

std::span<const Preset> layer_presets() {
  static const std::vector<Preset> all = {
      {"quick-encoder", "small layers, both masks and dropouts, fused and not: seconds, emulated",
       kQuickEncoder},
      {"paper-encoder", "SparkAttention's Figure 12, with what it leaves open: FFN 2048 and 8192",
       kPaperEncoder},
  };
  return all;
}

const Preset& find_preset(std::string_view name, Workload workload) {
  std::vector<std::string> names;
  for (const Preset& preset : workload == Workload::kLayer ? layer_presets() : presets()) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  throw UsageError(unknown_name_message("--preset", name, names));
}

}  // namespace sparkbench
