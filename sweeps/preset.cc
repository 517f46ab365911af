#include "sweeps/preset.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// A multiple of every tile, and a length that is a multiple of none.
const AxisFlags kQuick = {{"--headdim", "64,128"}, {"--seqlen", "128,200"}, {"--causal", "both"},
                          {"--dropout", "0,0.1"},  {"--batch", "1"},        {"--heads", "2"}};

/// SparkAttention, section 4.1: hidden size 2048, 16,384 tokens, head_dim 64 and 128.
const AxisFlags kPaper = {{"--headdim", "64,128"},
                          {"--seqlen", "512:16k:*2"},
                          {"--causal", "both"},
                          {"--dropout", "0,0.1"}};

/// As many tokens as in the paper's grid, in sequences of any length.
const AxisFlags kRagged = {{"--headdim", "64,128"},
                           {"--lengths", "uniform:1:2k"},
                           {"--causal", "both"},
                           {"--dropout", "0,0.1"}};

/// SPLAT's three patterns at its densities, 10 to 50 % (kernels/mask/README.md): a two-sided
/// window, blocked and strided.
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

/// SparkAttention, section 4.2.4: hidden 2048, 16,384 tokens. The paper gives neither the FFN's
/// size nor mask and dropout, and leaves out 8192.
const AxisFlags kPaperEncoder = {{"--headdim", "64,128"},    {"--seqlen", "512:16k:*2"},
                                 {"--causal", "both"},       {"--dropout", "0,0.1"},
                                 {"--hidden", "2048"},       {"--ffn", "2048,8192"},
                                 {"--rest", "unfused,fused"}};

AxisFlags with(AxisFlags flags, const AxisFlags& more) {
  flags.insert(more.begin(), more.end());
  return flags;
}

/// Llama 3 8B: 32 query heads of 128 columns, 8 key heads.
AxisFlags llama(const char* pass, const char* seqlen, const char* batch) {
  return {{"--pass", pass},  {"--seqlen", seqlen}, {"--batch", batch},   {"--headdim", "128"},
          {"--heads", "32"}, {"--heads-k", "8"},   {"--mask", "causal"}, {"--dropout", "0"}};
}

AxisFlags dense(const char* pass, const char* headdim, const char* heads, const char* seqlen,
                const char* batch, const char* dropout = "0") {
  return {{"--pass", pass},   {"--headdim", headdim}, {"--heads", heads},    {"--seqlen", seqlen},
          {"--batch", batch}, {"--mask", "full"},     {"--dropout", dropout}};
}

/// Shapes from the models' published configurations. Inference is a forward pass; training is both.
std::vector<ModelShape> model_shapes() {
  const char* const step = "fwd+bwd";
  return {
      {"Llama 8B prefill 1k", llama("fwd", "1k", "1")},
      {"Llama 8B prefill 4k", llama("fwd", "4k", "1")},
      {"Llama 8B prefill 8k", llama("fwd", "8k", "1")},
      {"Llama 8B train 1k", llama(step, "1k", "16")},
      {"Llama 8B train 4k", llama(step, "4k", "4")},
      {"Llama 8B train 8k", llama(step, "8k", "2")},
      {"Llama 8B decode 8k", with({{"--seqlen-k", "8k"}}, llama("fwd", "1", "8"))},
      {"Llama 8B 512 on 32k", with({{"--seqlen-k", "32k"}}, llama("fwd", "512", "1"))},
      // 512 x 512 and 1024 x 1024 pixels; the batch of two is for classifier-free guidance.
      {"SD 1.5 self 64x64", dense("fwd", "40", "8", "4096", "2")},
      {"SDXL self 64x64", dense("fwd", "64", "10", "4096", "2")},
      {"SDXL self 32x32", dense("fwd", "64", "20", "1024", "2")},
      {"Flux 1024x1024", dense("fwd", "128", "24", "4608", "1")},  // with 512 tokens of text
      {"ViT-B/16 train", dense(step, "64", "12", "197", "64")},
      {"BERT-large train", dense(step, "64", "16", "512", "32", "0.1")},
      {"Whisper-large", dense("fwd", "64", "20", "1500", "8")},
      {"Gemma 3 4B window",
       with({{"--heads-k", "4"}, {"--mask", "window:1024"}}, {{"--pass", step},
                                                              {"--headdim", "256"},
                                                              {"--heads", "8"},
                                                              {"--seqlen", "8k"},
                                                              {"--batch", "2"},
                                                              {"--dropout", "0"}})},
  };
}

AxisFlags small(const char* seqlen, const char* mask, const char* pass = "fwd,bwd") {
  return {{"--pass", pass}, {"--seqlen", seqlen}, {"--mask", mask},   {"--headdim", "64"},
          {"--heads", "2"}, {"--batch", "2"},     {"--dropout", "0"}, {"--dtype", "fp16,bf16"}};
}

/// Problems that kernels get wrong: small ones, each around one thing; then problems that are worth
/// timing.
std::vector<ModelShape> judged_shapes() {
  AxisFlags rectangular =
      with({{"--seqlen-k", "70,150"}}, small("1,70,150", "full,causal,window:40"));
  AxisFlags groups = with({{"--heads", "4"}, {"--heads-k", "1,2"}}, small("130", "full,causal"));
  return {
      {"tails", small("1,15,16,17,31,63,64,65,127,128,129,200", "full,causal")},
      {"masks", small("150",
                      "window:1,window:40,band:20:30,prefix:33,sink:4+window:32,"
                      "causal-strided:8/window:16")},
      {"rows and keys", std::move(rectangular)},
      {"grouped heads", std::move(groups)},
      {"head dims", with({{"--headdim", "32,72,80,96,128,192,256"}}, small("100", "causal"))},
      {"dropout", with({{"--dropout", "0.1,0.5"}}, small("130", "full,causal"))},
      {"large scores", with({{"--input-scale", "8,32"}}, small("100", "full,causal", "fwd"))},
      {"training step", small("130", "full,causal", "fwd+bwd")},
      {"layouts", with({{"--layout", "bhsd,qkv-packed,k-bhsd"}}, small("130", "full,causal"))},
      {"varlen",
       {{"--pass", "fwd,bwd"},
        {"--lengths", "uniform:0:200"},
        {"--mask", "full,causal"},
        {"--headdim", "64"},
        {"--heads", "2"},
        {"--batch", "4"},
        {"--dropout", "0"},
        {"--dtype", "fp16,bf16"}}},
      {"speed",
       {{"--pass", "fwd,bwd"},
        {"--seqlen", "1k,4k"},
        {"--mask", "full,causal"},
        {"--headdim", "64,128"},
        {"--dropout", "0"}},
       true},
  };
}

std::span<const Preset> attention_presets() {
  static const std::vector<Preset> all = {
      {.name = "models",
       .summary = "the attention of models that people run, a row each, with their names",
       .models = model_shapes()},
      {"quick", "both head dims, masks and dropouts on short sequences: every path, no speeds",
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
      {.name = "judge",
       .summary = "tails, masks, rows and keys, grouped heads, head dims, dropout, layouts, "
                  "varlen; and speed",
       .models = judged_shapes()},
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

}  // namespace

std::span<const Preset> presets(Workload workload) {
  return workload == Workload::kLayer ? layer_presets() : attention_presets();
}

std::vector<std::string> preset_names(Workload workload) {
  std::vector<std::string> names;
  for (const Preset& preset : presets(workload)) names.push_back(preset.name);
  return names;
}

const Preset& find_preset(std::string_view name, Workload workload) {
  static const Preset none;
  if (name.empty()) return none;
  for (const Preset& preset : presets(workload)) {
    if (preset.name == name) return preset;
  }
  throw UsageError(unknown_name_message("--preset", name, preset_names(workload)));
}

std::vector<SweepCase> expand_preset(const Preset& preset, const AxisFlags& given,
                                     std::span<const std::string> known_kernels, Workload workload,
                                     std::uint64_t seed, const Comparison& comparison) {
  if (preset.models.empty()) {
    return expand_grid(make_grid_axes(preset.flags, given, known_kernels, workload), seed);
  }
  AxisFlags compared = given;
  if (const auto named = compared.find("--kernel"); named != compared.end()) {
    for (const std::string& rival : comparison.rivals) named->second += "," + rival;
  }
  std::vector<SweepCase> cases;
  for (const ModelShape& model : preset.models) {
    if (model.compares && !comparison.is_timed) continue;
    const AxisFlags& flags = model.compares ? compared : given;
    for (SweepCase& each :
         expand_grid(make_grid_axes(model.flags, flags, known_kernels, workload), seed)) {
      each.problem.model = model.name;
      cases.push_back(std::move(each));
    }
  }
  return cases;
}

}  // namespace sparkbench
