#include "harness/model/predict/case_prediction.h"

#include <gtest/gtest.h>

#include "harness/model/predict/test_cycles.h"
#include "harness/model/predict/unfused_time.h"
#include "kernels/registry.h"
#include "sweeps/memory.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

const PredictedCard kCard{.baseline = "unfused-fp16", .device = "V100"};

CaseRecord case_of(const std::string& kernel, int seqlen = 1024, Pass pass = Pass::kForward) {
  CaseRecord record;
  record.kernel = kernel;
  record.problem = CaseProblem(
      pass, {.batch = 2, .heads = 16, .seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = 64});
  record.flops = useful_flops(pass, record.problem);
  record.memory_bytes = MemoryBytes{};
  record.memory_bytes->predicted = tensor_bytes(pass, record.problem);
  return record;
}

CasePrediction predict(const CaseRecord& record) {
  return predict_case(record, false, kCard, test_cycles());
}

// Milliseconds by hand. Two entries of 16 heads, 1024 rows and keys, head_dim 64.
//
// Forward: 8 blocks of 128 rows in each of 32 heads, of 16 tiles each. By test_cycles() one takes
// 1000 + 16 * 2000 + 500 cycles, with another one on its SM half as long again. 80 SMs hold 160 of
// the 256 blocks; the other 96 follow, two on 16 of the SMs. So the last one ends after twice
// 50,250.
constexpr double kForwardCycles = 2 * 1.5 * 33500;
// HBM moves four tensors and LSE; half of that is exposed, at the slow end all of it.
constexpr double kScores = 32.0 * 1024 * 1024 * 2, kTensor = 32.0 * 1024 * 64 * 2;
constexpr double kForwardBytes = 4 * kTensor + 32.0 * 1024 * 4;
constexpr double kForwardFast = kForwardCycles / 1.05 / 1530e3 + 2.5e-3;
constexpr double kForwardLikely =
    kForwardCycles / 0.95 / 1380e3 + 0.5 * kForwardBytes / 760e6 + 2.5e-3;
constexpr double kForwardSlow = kForwardCycles / 0.80 / 1380e3 + kForwardBytes / 720e6 + 2.5e-3;

// The unfused computation: scores of 64 MiB and tensors of 4 MiB. Each product moves the scores and
// two tensors, and has as much work as a square of 1290 rows; forward has two of them, backward
// four. The softmax moves the scores twice, its gradient three times.
struct UnfusedRates {
  double gbps, softmax_gbps, exposed, share;  // share: of a launch's time
};
constexpr UnfusedRates kFast = {800, 814, 0, 1.05}, kLikely = {760, 724, 0.5, 1},
                       kSlow = {720, 714, 1, 0.87};

double unfused_ms(int products, int softmax_scores, int launches, const UnfusedRates& rates) {
  const double flops = 2 * 32.0 * 1024 * 1024 * 64;
  const double by_rate = flops / (gemm_tflops(flops, 72) * 1e9);
  const double by_bytes = (kScores + 2 * kTensor) / (rates.gbps * 1e6);
  EXPECT_LT(by_rate, by_bytes);
  return products * (by_bytes + rates.exposed * by_rate) +
         softmax_scores * kScores / (rates.softmax_gbps * 1e6) + launches * 2.5e-3 / rates.share;
}

TEST(CasePrediction, OfAKernelIsTheTimeOfItsLaunch) {
  const Prediction predicted = predict(case_of("volta-fp32acc")).predicted.value();
  EXPECT_EQ(predicted.chip, "V100-SXM2");
  EXPECT_EQ(predicted.basis, "cycle model");
  EXPECT_NEAR(predicted.time_ms.low, kForwardFast, 1e-9);
  EXPECT_NEAR(predicted.time_ms.likely, kForwardLikely, 1e-9);
  EXPECT_NEAR(predicted.time_ms.high, kForwardSlow, 1e-9);
  const double flops = 4.0 * 32 * 1024 * 1024 * 64;
  EXPECT_NEAR(predicted.tflops, flops / kForwardLikely * 1e-9, 1e-6);
  EXPECT_EQ(predicted.clock_mhz, 1380);
  EXPECT_EQ(predicted.low_clock_mhz, 1530);
  EXPECT_EQ(predicted.binding, "issue");
}

TEST(CasePrediction, SpeedupTakesOppositeEnds) {
  const Prediction kernel = predict(case_of("volta-fp32acc")).predicted.value();
  const PredictedSpeedup speedup = kernel.speedup.value();
  EXPECT_EQ(speedup.over, "unfused-fp16");
  EXPECT_NEAR(speedup.low, unfused_ms(2, 2, 3, kFast) / kForwardSlow, 1e-9);
  EXPECT_NEAR(speedup.likely, unfused_ms(2, 2, 3, kLikely) / kForwardLikely, 1e-9);
  EXPECT_NEAR(speedup.high, unfused_ms(2, 2, 3, kSlow) / kForwardFast, 1e-9);
}

TEST(CasePrediction, OfSharedKeysWalksTheHeadsOfEachGroup) {
  CaseRecord shared = case_of("volta-fp32acc", 1024, Pass::kBackward);
  shared.problem.heads_k = 2;
  // 8 blocks of 128 keys in each of 4 key heads, an SM each. A block walks 8 heads of 32 steps,
  // two at once, and 7 times from a head to the next.
  const double main = (1000 + 8 * 16 * 2000 + 7 * 250 + 500) / 0.95 / 1380e3;
  // Launches of rows go by their bytes: o, d_o and LSE into statistics; the memset of dQ's sums;
  // the sums into dQ.
  const double rows = 32.0 * 1024;
  const double bytes = rows * (2 * 128 + 4 + 8) + rows * 256 + rows * (256 + 128);
  const double main_bytes = launches_of_pass(*find_attention_kernel("volta-fp32acc"),
                                             shared.problem, Pass::kBackward, false)[2]
                                .hbm_bytes;
  EXPECT_NEAR(predict(shared).predicted->time_ms.likely,
              main + 0.5 * main_bytes / 760e6 + bytes / 760e6 + 4 * 2.5e-3, 1e-9);
}

TEST(CasePrediction, OfTheBaselineGoesByPublishedRates) {
  const CaseRecord record = case_of("unfused-fp16", 1024, Pass::kForwardBackward);
  const Prediction predicted = predict(record).predicted.value();
  EXPECT_EQ(predicted.basis, "published rates");
  EXPECT_NEAR(predicted.time_ms.low, unfused_ms(6, 5, 8, kFast), 1e-9);
  EXPECT_NEAR(predicted.time_ms.likely, unfused_ms(6, 5, 8, kLikely), 1e-9);
  EXPECT_NEAR(predicted.time_ms.high, unfused_ms(6, 5, 8, kSlow), 1e-9);
  EXPECT_FALSE(predicted.clock_mhz.has_value());
  EXPECT_FALSE(predicted.speedup.has_value());
}

TEST(CasePrediction, NeedsNoBaselineThatDoesNotFit) {
  const CaseRecord record = case_of("volta-fp32acc", 32768);  // scores of 64 GiB
  EXPECT_TRUE(predict(record).predicted.has_value());
  EXPECT_FALSE(predict(record).predicted->speedup.has_value());
  CaseRecord unfused = case_of("unfused-fp16", 32768);
  unfused.memory_bytes->predicted += unfused_workspace_bytes(Pass::kForward, unfused.problem, 2);
  EXPECT_FALSE(predict(unfused).predicted.has_value());
  EXPECT_EQ(predict(unfused).why_not->message, "needs 64.5 GiB, the V100 has 32.0 GiB");
}

TEST(CasePrediction, SaysWhyThereIsNone) {
  EXPECT_EQ(predict(case_of("volta-fp16acc")).why_not->code, "P-NO-CYCLES");
  EXPECT_EQ(predict(case_of("volta-fp16acc")).why_not->message,
            "no cycles of volta-fp16acc/fwd/d64 in kernels/volta/cycles.json");
  EXPECT_EQ(predict(case_of("cublas-fp32")).why_not->message, "there is no model of cublas-fp32");
  CaseRecord packed = case_of("volta-fp32acc");
  packed.problem.layout = TensorLayout::kQkvPacked;
  EXPECT_EQ(predict(packed).why_not->code, "P-NO-MODEL");
  EXPECT_EQ(predict(packed).why_not->message, "the model's tensors are bshd, not qkv-packed");
}

TEST(CasePrediction, IsMadeForV100sAlone) {
  DeviceInfo device{.name = "V100", .kind = DeviceKind::kEmulated, .sm = 70, .sm_count = 80};
  device.memory_bytes = 8 << 20;  // the host's
  EXPECT_EQ(predicted_card(device, "unfused-fp16")->memory_bytes, std::uint64_t{32} << 30);
  device.kind = DeviceKind::kGpu;
  device.name = "Tesla V100-SXM2-16GB";
  device.sm_count = 72;
  device.memory_bytes = std::uint64_t{16} << 30;
  const PredictedCard real = predicted_card(device, "cublas-fp16").value();
  EXPECT_EQ(real.sms, 72);
  EXPECT_EQ(real.memory_bytes, std::uint64_t{16} << 30);
  EXPECT_EQ(real.baseline, "cublas-fp16");
  device.sm = 75;
  EXPECT_FALSE(predicted_card(device, "cublas-fp16").has_value());
  device.sm = 70;
  device.name = "NVIDIA TITAN V";
  EXPECT_FALSE(predicted_card(device, "cublas-fp16").has_value());
}

TEST(CasePrediction, OfPackedSequencesWantsTheirInstances) {
  CaseRecord record = case_of("volta-fp32acc");
  const auto lengths = std::make_shared<const SequenceLengths>(
      std::vector<SequenceLength>{{100, 100}, {0, 0}, {7, 7}});
  static_cast<Problem&>(record.problem) = with_lengths(record.problem, lengths);
  record.flops = useful_flops(Pass::kForward, record.problem);
  EXPECT_EQ(predict(record).why_not->code, "P-NO-CYCLES");  // none in these cycles
  record.kernel = "unfused-fp16";
  EXPECT_GT(predict(record).predicted->tflops, 0);
}

TEST(CasePrediction, OfNothingIsNone) {
  CaseRecord record = case_of("volta-fp32acc");
  const auto lengths =
      std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{{0, 5}, {3, 0}});
  static_cast<Problem&>(record.problem) = with_lengths(record.problem, lengths);
  record.flops = useful_flops(Pass::kForward, record.problem);
  EXPECT_EQ(predict(record).why_not->code, "P-NO-WORK");
}

}  // namespace
}  // namespace sparkbench
