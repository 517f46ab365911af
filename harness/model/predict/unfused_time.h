// The likely time of the unfused computation on a V100, the `cublas-fp16` of reference/cublas: its
// launches, one after the other, and what each launch costs. Every product is of all pairs, masked
// ones too; the softmax reads what is visible, and of a pattern its bits, and writes all.
//
//   copy     its bytes at the bandwidth that kernels reach
//   softmax  its bytes at the bandwidth that published softmax kernels reach
//   product  the longer of its bytes at a copy's bandwidth and its FLOPs at cuBLAS's rate, and a
//            part of the shorter (kGemmExposed). FLOPs are those of whole tiles (kGemmTileColumns)
//   rate     of a product with as much work as a square of n rows: the published rates between
//   their
//            sizes, n / 1024 of the first below, and no more than what head_dim as an extent
//            allows; FP32's where rows are not aligned
#pragma once

#include <string_view>
#include <vector>

#include "harness/model/predict/problem_time.h"

namespace sparkbench {

enum class LaunchKind { kCopy, kSoftmax, kProduct, kUnalignedProduct };

struct UnfusedStep {
  std::string_view name;
  LaunchKind kind = LaunchKind::kCopy;
  double flops = 0;  // of the tiles that a product has
  double bytes = 0;
};

/// How the rows of S and P lie: kPadded to 16 bytes, as reference/cublas has them, or one after the
/// other, as PyTorch does.
enum class ScoreRows { kPadded, kContiguous };

/// The steps of an fp16 pass, as reference/cublas/unfused_chain.cuh launches them. A forward pass
/// before a backward one also keeps P where dropout changes it. Heads that share keys have their
/// own dV and dK in fp32, which one more step each adds up. Packed sequences are computed one by
/// one.
std::vector<UnfusedStep> unfused_steps(const Problem& problem, Pass pass,
                                       ScoreRows score_rows = ScoreRows::kPadded);

/// TFLOP/s of a product of `flops`.
double gemm_tflops(double flops, double at_most);

/// `binding` is "tensor" where products bound by their rate
/// take most of the likely time, "launch" where launches take half of it, else "hbm".
PassTime time_of_unfused_steps(const std::vector<UnfusedStep>& steps);

PassTime time_of_unfused(const Problem& problem, Pass pass);

}  // namespace sparkbench
