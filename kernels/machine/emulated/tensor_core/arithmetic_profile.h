// Which tensor core is emulated. Every FP16 tensor core of NVIDIA evaluates one formula, the
// truncated fused dot product and add of block_dot.h; the generations differ in two numbers of it
// and in the instructions they have.
#pragma once

#include <span>
#include <string_view>

namespace sparkbench {

struct ArithmeticProfile {
  std::string_view name;
  int block_length;   // L: products that are added together and rounded once
  int fraction_bits;  // F: bits kept below the largest exponent of a block
  bool is_fma_chain;  // no tensor core: a subroutine of FP32 multiply-adds, F is unused
  bool has_m8n8k4;
  bool has_m16n8k8;
  bool has_m16n8k16;
  bool has_wgmma = false;
  int first_sm = 0;  // compute capability of the first tensor cores that have it; 0: none
};

/// All profiles:
///   volta    V100               L = 4,  F = 23  m8n8k4
///   turing   T4                 L = 8,  F = 24  m8n8k4 (one block of 4), m16n8k8
///   ampere   A100, A2, L40S     L = 8,  F = 24  m16n8k8, m16n8k16 (two blocks)
///   hopper   H100, H200         L = 16, F = 25  m16n8k8 (one block of 8), m16n8k16, wgmma
///   fma884   sm_80 and later    m8n8k4 as those GPUs run it, on the CUDA cores
/// L and F: Khattak and Mikaitis, arXiv 2512.07004, and Xie et al., arXiv 2511.10909, table of
/// T-FDPA parameters.
std::span<const ArithmeticProfile> arithmetic_profiles();

/// The profile of that name. Throws std::invalid_argument that names the allowed ones.
const ArithmeticProfile& arithmetic_profile(std::string_view name);

}  // namespace sparkbench
