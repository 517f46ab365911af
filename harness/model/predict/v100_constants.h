// Every number about a V100 by which a prediction goes beside the cycle model's, with its source.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sparkbench {

/// The fast end of a prediction, the likeliest value, and the slow end.
struct ThreeWays {
  double fast, likely, slow;
};

/// SXM2, MHz. Boost is NVIDIA's data sheet's; the sustained clock is what FasterTransformer's
/// published V100 tables state, and within the 1260 to 1450 MHz that power leaves to tensor kernels
/// of seconds (1CatAI, 1Cat-vLLM; NVIDIA/cutlass issue 169).
inline constexpr double kBoostClockMhz = 1530, kSustainedClockMhz = 1380;

inline constexpr int kModelledSm = 70;                     // sm_70
inline constexpr int kSchedulers = 4;                      // of an SM: NVIDIA, Volta white paper
inline constexpr int kV100Sms = 80;                        // NVIDIA, Volta white paper
inline constexpr std::size_t kV100SharedBytes = 96 << 10;  // of a block: CUDA programming guide
inline constexpr std::uint64_t kV100MemoryBytes = std::uint64_t{32} << 30;  // the larger one

// The share of the cycle model's speed, with accumulators forwarded, that a kernel reaches:
// measured over model was 0.87 to 1.08 where V100 figures of public kernels exist (a fused
// attention kernel at locked clocks, cuBLAS, 18 kernels of CUTLASS).
inline constexpr ThreeWays kShareOfModel = {1.05, 0.98, 0.88};

/// The same of loops that no measured kernel resembles: larger than the L0 instruction cache, run
/// by blocks or teams of warps out of step with each other.
inline constexpr ThreeWays kShareOfModelOutOfStep = {1.05, 0.95, 0.80};

inline constexpr int kL0CacheBytes = 12 << 10;  // Jia et al., arXiv 1804.06826

/// GB/s that kernels which read and write reach of HBM2's 900: 714 and 734 of published softmax and
/// bias kernels (Ivanov et al., Data Movement Is All You Need, B 8, S 512, H 1024), 814 of a third;
/// 80 to 89 % of the peak.
inline constexpr ThreeWays kHbmGbps = {800, 760, 720};

/// The same of a softmax: the mean of the two published ones above, their ends for the third kernel
/// and the slower one.
inline constexpr ThreeWays kSoftmaxGbps = {814, 724, 714};

inline constexpr double kL2Gbps = 2155;  // Jia et al., of loads by all SMs

/// From the end of a kernel to the next one's start, with what a launch costs. The published V100
/// encoder layers of FasterTransformer below 1024 tokens fit so.
inline constexpr double kLaunchMs = 2.5e-3;

/// TFLOP/s of cuBLAS on a V100, FP16 with FP32 accumulators, square matrices of so many rows
/// (zzc0721/torch-performance-test-data issue 140).
struct GemmRate {
  double rows, tflops;
};
inline constexpr std::array<GemmRate, 4> kGemmRates = {
    {{1024, 57}, {2048, 78}, {4096, 96}, {8192, 97}}};

/// TFLOP/s at most where an extent is no more than 1024, as every product of attention has
/// head_dim: 78.3 measured for 8192 x 1024 x 4096 (mli/transformers-benchmarks 53a232b), and 80,
/// give or take 8, with which FasterTransformer's tables fit. The fast end is what the largest
/// square reaches.
inline constexpr ThreeWays kGemmTflopsAtMost = {97, 78, 72};
inline constexpr int kNarrowGemmExtent = 1024;

/// Least multiples of a product's extents in cuBLAS's FP16 kernels for the V100: tiles of C are 64,
/// 128 or 256 wide, and a turn of the loop takes 32 of the inner extent (names of the kernels in
/// libcublas 11.11: volta_fp16_s884gemm_fp16_64x64_sliced1x2_ldg8_nn and so on).
inline constexpr int kGemmTileColumns = 64, kGemmTileInner = 32;

/// cuBLAS's tensor kernels want rows that begin at multiples of 16 bytes (cuBLAS documentation,
/// "Tensor Core Usage"). Others take what FP32 arithmetic does: 14.4 of 15.7 TFLOP/s
/// (mli/transformers-benchmarks 53a232b, FP32 square matrices of 2048 and 8192).
inline constexpr int kGemmRowBytes = 16;
inline constexpr double kGemmFp32Tflops = 14.4;

/// The part of a product's shorter phase, bytes or FLOPs, that the longer one does not hide. The
/// products of attention have a side of head_dim: blocks load, multiply for a few turns and store,
/// and an SM holds two of them (the 128x128 kernels of libcublas: 128 threads, 2 blocks). In the
/// likely case each is in the other's phase half of the time; at the ends always, and never.
inline constexpr ThreeWays kGemmExposed = {0, 0.5, 1};

/// The share of the speed by these rates that a layer, or any launch, reaches. By the rates,
/// FasterTransformer's published encoder layers of 1024 tokens and more, with unfused attention,
/// come out at most 13 % too fast and 5 % too slow.
inline constexpr ThreeWays kShareOfRates = {1.05, 1.0, 0.87};

}  // namespace sparkbench
