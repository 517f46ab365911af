#include "harness/model/predict/unfused_time.h"

#include <gtest/gtest.h>

#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

Problem problem_of(int heads, int seqlen, int head_dim, float dropout_p = 0,
                   const MaskSpec& mask = MaskSpec::full()) {
  return {.batch = 1,
          .heads = heads,
          .seqlen_q = seqlen,
          .seqlen_k = seqlen,
          .head_dim = head_dim,
          .mask = mask,
          .dropout_p = dropout_p};
}

TEST(UnfusedTime, ProductsRunAtPublishedRates) {
  const auto flops_of_square = [](double rows) { return 2 * rows * rows * rows; };
  EXPECT_NEAR(gemm_tflops(flops_of_square(1024), 97), 57, 1e-9);
  EXPECT_NEAR(gemm_tflops(flops_of_square(512), 97), 57.0 / 2, 1e-9);
  EXPECT_NEAR(gemm_tflops(flops_of_square(2048), 97), 78, 1e-9);
  EXPECT_NEAR(gemm_tflops(flops_of_square(2896.309), 97), 87, 1e-4);  // half-way of 2048 and 4096
  EXPECT_NEAR(gemm_tflops(flops_of_square(1e6), 97), 97, 1e-9);
  EXPECT_DOUBLE_EQ(gemm_tflops(flops_of_square(8192), 80), 80);
}

TEST(UnfusedTime, ForwardReadsAndWritesTheScores) {
  const auto steps = unfused_steps(problem_of(2, 1024, 64), Pass::kForward);
  const double scores = 2.0 * 1024 * 1024 * 2, rows = 2.0 * 1024 * 64 * 2;  // bytes
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_DOUBLE_EQ(steps[0].flops, 2 * 2.0 * 1024 * 1024 * 64);
  EXPECT_DOUBLE_EQ(steps[0].bytes, scores + 2 * rows);
  EXPECT_DOUBLE_EQ(steps[1].flops, 0);
  EXPECT_DOUBLE_EQ(steps[1].bytes, 2 * scores);
  EXPECT_DOUBLE_EQ(steps[2].bytes, scores + 2 * rows);
}

TEST(UnfusedTime, OfAPatternReadsWhatIsVisibleAndItsBits) {
  Problem problem = problem_of(2, 1024, 64);
  problem.sparse = make_sparse_mask("chunk:256", 1024, 1024);
  const double scores = 2.0 * 1024 * 1024 * 2;  // bytes
  EXPECT_DOUBLE_EQ(unfused_steps(problem, Pass::kForward)[1].bytes, scores * (0.25 + 1 + 1.0 / 16));
  EXPECT_DOUBLE_EQ(unfused_steps(problem, Pass::kBackward)[2].bytes,
                   scores * (2 * 0.25 + 1 + 1.0 / 16));
}

TEST(UnfusedTime, BackwardHasFourProducts) {
  const auto steps = unfused_steps(problem_of(2, 1024, 64), Pass::kBackward);
  const double scores = 2.0 * 1024 * 1024 * 2;
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[2].name, "dS of P and dP");
  EXPECT_DOUBLE_EQ(steps[2].bytes, 3 * scores);
  EXPECT_EQ(unfused_steps(problem_of(2, 1024, 64), Pass::kForwardBackward).size(), 8u);
}

TEST(UnfusedTime, GroupsReadTheirKeysOnceAndAddGradientsUp) {
  Problem problem = problem_of(8, 1024, 64);
  problem.heads_k = 2;
  const double scores = 8.0 * 1024 * 1024 * 2, queries = 8.0 * 1024 * 64 * 2;
  const double keys = 2.0 * 1024 * 64 * 2, of_heads = 8.0 * 1024 * 64 * 4;
  const auto forward = unfused_steps(problem, Pass::kForward);
  ASSERT_EQ(forward.size(), 3u);
  EXPECT_DOUBLE_EQ(forward[0].flops, 8 * 2.0 * 1024 * 1024 * 64);
  EXPECT_DOUBLE_EQ(forward[0].bytes, queries + keys + scores);
  EXPECT_DOUBLE_EQ(forward[2].bytes, queries + keys + scores);
  const auto backward = unfused_steps(problem, Pass::kBackward);
  ASSERT_EQ(backward.size(), 7u);
  EXPECT_DOUBLE_EQ(backward[0].bytes, scores + queries + of_heads);
  EXPECT_EQ(backward[1].name, "dV of groups");
  EXPECT_DOUBLE_EQ(backward[1].bytes, of_heads + keys);
  EXPECT_DOUBLE_EQ(backward[1].flops, 0);
  EXPECT_DOUBLE_EQ(backward[6].bytes, of_heads + keys);
}

TEST(UnfusedTime, SoftmaxSkipsMaskedScoresAndKeepsP) {
  const double all = 1024.0 * 1024, visible = 1024.0 * 1025 / 2;
  const Problem causal = problem_of(1, 1024, 64, 0, MaskSpec::causal());
  const auto steps = unfused_steps(causal, Pass::kForward);
  EXPECT_DOUBLE_EQ(steps[1].bytes, 2 * (visible + all));
  EXPECT_DOUBLE_EQ(steps[0].flops, 2 * all * 64);  // of all pairs
  const Problem dropped = problem_of(1, 1024, 64, 0.1f);
  EXPECT_DOUBLE_EQ(unfused_steps(dropped, Pass::kForwardBackward)[1].bytes, 2 * 3 * all);
  EXPECT_DOUBLE_EQ(unfused_steps(dropped, Pass::kForward)[1].bytes, 2 * 2 * all);
}

TEST(UnfusedTime, TilesHideHalfOfAProductsFlops) {
  // B * heads = 32, 4096: the scores are 1 GiB, moved four times; head_dim 64 is a whole tile.
  const PassTime time = time_of_unfused(problem_of(32, 4096, 64), Pass::kForward);
  const double scores = 32.0 * 4096 * 4096 * 2, rows = 32.0 * 4096 * 64 * 2;
  const double flops = 2 * 32.0 * 4096 * 4096 * 64, bytes = scores + 2 * rows;
  const auto ms = [&](double gbps, double softmax_gbps, double exposed, double tflops) {
    return 2 * (bytes / gbps + exposed * flops / tflops / 1e3) / 1e6 +
           2 * scores / softmax_gbps / 1e6;
  };
  EXPECT_NEAR(time.ms.likely, ms(760, 724, 0.5, 78) + 7.5e-3, 1e-9);
  EXPECT_NEAR(time.ms.fast, ms(800, 814, 0, 97) + 7.5e-3 / 1.05, 1e-9);
  EXPECT_NEAR(time.ms.slow, ms(720, 714, 1, 72) + 7.5e-3 / 0.87, 1e-9);
  EXPECT_EQ(time.binding, "hbm");
}

TEST(UnfusedTime, ProductsHideHalfOfTheirBytesWithWideHeads) {
  const PassTime time = time_of_unfused(problem_of(16, 4096, 512), Pass::kForward);
  const double product = 16.0 * 2 * 4096 * 4096 * 512;
  const double scores = 16.0 * 4096 * 4096 * 2, rows = 16.0 * 4096 * 512 * 2;
  EXPECT_NEAR(
      time.ms.likely,
      2 * (product / 78e9 + 0.5 * (scores + 2 * rows) / 760e6) + 2 * scores / 724e6 + 7.5e-3, 1e-9);
  EXPECT_EQ(time.binding, "tensor");
}

TEST(UnfusedTime, ProductsAreOfWholeTiles) {
  const auto flops = [](int seqlen, int head_dim, std::size_t step) {
    return unfused_steps(problem_of(1, seqlen, head_dim), Pass::kForward)[step].flops;
  };
  EXPECT_DOUBLE_EQ(flops(512, 40, 0), 2.0 * 512 * 512 * 64);  // 40 of 64 as inner extent
  EXPECT_DOUBLE_EQ(flops(512, 16, 0), 2.0 * 512 * 512 * 32);
  EXPECT_DOUBLE_EQ(flops(512, 16, 2), 2.0 * 512 * 512 * 64);  // as columns of O
  EXPECT_DOUBLE_EQ(flops(200, 64, 0), 2.0 * 256 * 256 * 64);
  EXPECT_DOUBLE_EQ(flops(200, 64, 2), 2.0 * 256 * 64 * 224);
}

TEST(UnfusedTime, RowsThatAreNotAlignedLeaveTheTensorCores) {
  const Problem problem = problem_of(64, 197, 64);
  const auto padded = unfused_steps(problem, Pass::kForward);
  EXPECT_EQ(padded[0].kind, LaunchKind::kProduct);
  const auto contiguous = unfused_steps(problem, Pass::kForward, ScoreRows::kContiguous);
  EXPECT_EQ(contiguous[0].kind, LaunchKind::kUnalignedProduct);
  EXPECT_EQ(contiguous[1].kind, LaunchKind::kSoftmax);
  const double flops = 64 * 2.0 * 197 * 197 * 64;
  EXPECT_DOUBLE_EQ(contiguous[0].flops, flops);
  EXPECT_NEAR(time_of_unfused_steps({contiguous[0]}).ms.likely,
              flops / 14.4e9 + 0.5 * contiguous[0].bytes / 760e6 + 2.5e-3, 1e-9);
  EXPECT_EQ(unfused_steps(problem_of(64, 200, 64), Pass::kForward, ScoreRows::kContiguous)[0].kind,
            LaunchKind::kProduct);
}

TEST(UnfusedTime, OfSmallProblemsIsItsLaunches) {
  const PassTime time = time_of_unfused(problem_of(1, 128, 64), Pass::kForward);
  EXPECT_EQ(time.binding, "launch");
  EXPECT_GT(time.ms.likely, 7.5e-3);
}

TEST(UnfusedTime, AgreesWithPublishedSoftmax) {
  // Ivanov et al.: the softmax with dropout of batch 8, 16 heads, 512 took 188 us on a V100.
  const auto steps =
      unfused_steps({.batch = 8, .heads = 16, .seqlen_q = 512, .seqlen_k = 512}, Pass::kForward);
  EXPECT_NEAR(steps[1].bytes / 724e6, 0.188, 0.05 * 0.188);
}

/// Milliseconds of a pass whose every step goes by its bytes, at the share of the peak that is
/// assumed of a V100.
double ms_by_bytes(const Problem& problem, Pass pass, double peak_gbps) {
  constexpr double kV100PeakGbps = 900;
  double bytes = 0;
  for (const UnfusedStep& step : unfused_steps(problem, pass)) bytes += step.bytes;
  return bytes / (peak_gbps * kHbmGbps.likely / kV100PeakGbps * 1e6);
}

TEST(UnfusedTime, GoesByBytesAsAnH200Does) {
  struct Measured {
    int seqlen, head_dim;
    double forward_ms, backward_ms;  // of cublas-fp16: reference/README.md
  };
  for (const Measured& of :
       {Measured{512, 64, 0.606, 1.038}, Measured{16384, 64, 18.34, 29.82},
        Measured{512, 128, 0.347, 0.606}, Measured{16384, 128, 9.132, 14.83}}) {
    const Problem problem{.batch = 16384 / of.seqlen,
                          .heads = 2048 / of.head_dim,
                          .seqlen_q = of.seqlen,
                          .seqlen_k = of.seqlen,
                          .head_dim = of.head_dim};
    constexpr double kH200Gbps = 4800;
    const double forward = of.forward_ms / ms_by_bytes(problem, Pass::kForward, kH200Gbps);
    const double backward = of.backward_ms / ms_by_bytes(problem, Pass::kBackward, kH200Gbps);
    EXPECT_NEAR(forward, 1.045, 0.035) << of.seqlen << ", " << of.head_dim;
    EXPECT_NEAR(backward, 0.995, 0.025) << of.seqlen << ", " << of.head_dim;
  }
}

TEST(UnfusedTime, OfPackedSequencesIsThatOfEach) {
  const auto lengths = std::make_shared<const SequenceLengths>(
      std::vector<SequenceLength>{{1024, 1024}, {0, 7}, {7, 0}, {64, 512}});
  const Problem problem = with_lengths(problem_of(2, 1, 64), lengths);
  const auto steps = unfused_steps(problem, Pass::kForward);
  const auto of_first = unfused_steps(problem_of(2, 1024, 64), Pass::kForward);
  ASSERT_EQ(steps.size(), 2u * 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(steps[i].bytes, of_first[i].bytes);
  EXPECT_DOUBLE_EQ(steps[3].flops, 2 * 2.0 * 64 * 512 * 64);
}

}  // namespace
}  // namespace sparkbench
