// Asks a GPU's tensor cores for single dot products d = a . b + c, to compare their bits with the
// emulator's arithmetic.
#pragma once

#include <cstddef>

#include "kernels/base/half.h"

namespace sparkbench {

inline constexpr int kMaxProbeTerms = 16;

struct MmaProbe {
  Half a[kMaxProbeTerms];
  Half b[kMaxProbeTerms];
  float c_f32;
  Half c_f16;
};

struct MmaProbeResult {
  float d_f32;  // of the instruction with fp32 C and D
  Half d_f16;   // of the instruction with fp16 C and D
};

/// Runs `count` host probes of `terms` terms on the current GPU: 4 terms by mma.m8n8k4 (sm_70 and
/// up), 8 by m16n8k8 (sm_75 and up), 16 by m16n8k16 (sm_80 and up). Every other element of the
/// tiles is zero. Throws std::invalid_argument for another number of terms, std::runtime_error when
/// the GPU lacks the instruction or fails.
void probe_mma(int terms, const MmaProbe* probes, MmaProbeResult* results, std::size_t count);

}  // namespace sparkbench
