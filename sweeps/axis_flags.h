// The command line's axis flags, laid over a preset.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sweeps/grid.h"

namespace sparkbench {

/// As typed; a flag that was not given leaves the preset's values.
struct AxisFlags {
  std::optional<std::string> kernel;        // --kernel 'volta-*',unfused-fp16
  std::optional<std::string> pass;          // --pass fwd,bwd,fwd+bwd
  std::optional<std::string> head_dim;      // --headdim 64,128
  std::optional<std::string> seqlen;        // --seqlen 512:16k:*2
  std::optional<std::string> seqlen_k;      // --seqlen-k; seqlen_q's own by default
  std::optional<std::string> causal;        // --causal true|false|both
  std::optional<std::string> dropout;       // --dropout 0,0.1
  std::optional<std::string> input;         // --input normal,uniform,outliers
  std::optional<std::string> input_scale;   // --input-scale 1:8k:*2
  std::optional<std::string> batch;         // --batch N|auto
  std::optional<std::string> heads;         // --heads N|auto
  std::optional<std::string> total_tokens;  // --total-tokens 16k; makes an unnamed batch automatic
  std::optional<std::string> hidden;        // --hidden 2048; makes unnamed heads automatic
};

/// `preset` with the flags that were given. Kernels are chosen from `known_kernels`, by default
/// all. Throws UsageError, one line that names the flag.
GridAxes apply_axis_flags(GridAxes preset, const AxisFlags& flags,
                          std::span<const std::string> known_kernels);

}  // namespace sparkbench
