// The likely time of the unfused computation on a V100, the `cublas-fp16` of reference/cublas: its
// parts, each as long as its bytes take at the bandwidth that kernels reach, or its product at the
// rate that cuBLAS has been published with, whichever is longer, and what a launch costs. Every
// product is of all pairs, masked ones too; the softmax reads what is visible, and of a
// pattern its bits, and writes all.
//
//   rate  of a product with as much work as a square of n rows: the published rates between their
//         sizes, n / 1024 of the first below, and no more than what head_dim as an extent allows
#pragma once

#include <string_view>
#include <vector>

#include "harness/model/predict/problem_time.h"

namespace sparkbench {

struct UnfusedStep {
  std::string_view name;
  double flops = 0, bytes = 0;
};

/// The steps of an fp16 pass, as reference/cublas/unfused_chain.cuh launches them. A forward pass
/// before a backward one also keeps P where dropout changes it. Heads that share keys have their
/// own dV and dK in fp32, which one more step each adds up. Packed sequences are computed one by
/// one.
std::vector<UnfusedStep> unfused_steps(const Problem& problem, Pass pass);

/// TFLOP/s of a product of `flops`.
double gemm_tflops(double flops, double at_most);

/// The ends are divided by kShareOfRates. `binding` is "tensor" where products bound by their rate
/// take most of the likely time, "launch" where launches take half of it, else "hbm".
PassTime time_of_unfused(const Problem& problem, Pass pass);

}  // namespace sparkbench
