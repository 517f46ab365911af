#include "harness/model/predict/case_prediction.h"

#include <gtest/gtest.h>

#include "harness/model/predict/problem_time.h"
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

TEST(CasePrediction, OfAKernelIsTheTimeOfItsLaunches) {
  const CaseRecord record = case_of("volta-fp32acc");
  const Prediction predicted = predict(record).predicted.value();
  EXPECT_EQ(predicted.chip, "V100-SXM2");
  EXPECT_EQ(predicted.basis, "cycle model");
  EXPECT_LT(predicted.time_ms.low, predicted.time_ms.likely);
  EXPECT_LT(predicted.time_ms.likely, predicted.time_ms.high);
  EXPECT_DOUBLE_EQ(predicted.tflops,
                   static_cast<double>(record.flops) / predicted.time_ms.likely * 1e-9);
  EXPECT_EQ(predicted.clock_mhz, 1380);
  EXPECT_EQ(predicted.low_clock_mhz, 1530);
  EXPECT_EQ(predicted.binding, "issue");
}

TEST(CasePrediction, SpeedupTakesOppositeEnds) {
  const Prediction kernel = predict(case_of("volta-fp32acc")).predicted.value();
  const Prediction baseline = predict(case_of("unfused-fp16")).predicted.value();
  const PredictedSpeedup speedup = kernel.speedup.value();
  EXPECT_EQ(speedup.over, "unfused-fp16");
  EXPECT_DOUBLE_EQ(speedup.low, baseline.time_ms.low / kernel.time_ms.high);
  EXPECT_DOUBLE_EQ(speedup.likely, baseline.time_ms.likely / kernel.time_ms.likely);
  EXPECT_DOUBLE_EQ(speedup.high, baseline.time_ms.high / kernel.time_ms.low);
}

TEST(CasePrediction, OfSharedKeysIsThatOfTheirHeads) {
  const CaseRecord apart = case_of("volta-fp32acc", 1024, Pass::kBackward);
  CaseRecord shared = apart;
  shared.problem.heads_k = 4;
  const Prediction predicted = predict(shared).predicted.value();
  const auto launches = launches_of_pass(*find_attention_kernel("volta-fp32acc"), shared.problem,
                                         Pass::kBackward, false);
  EXPECT_DOUBLE_EQ(predicted.time_ms.likely, time_of_launches(launches, test_cycles()).ms.likely);
  EXPECT_NE(predicted.time_ms.likely, predict(apart).predicted->time_ms.likely);
  EXPECT_DOUBLE_EQ(
      predicted.speedup->likely,
      time_of_unfused(shared.problem, Pass::kBackward).ms.likely / predicted.time_ms.likely);
}

TEST(CasePrediction, OfTheBaselineGoesByPublishedRates) {
  const CaseRecord record = case_of("unfused-fp16", 1024, Pass::kForwardBackward);
  const Prediction predicted = predict(record).predicted.value();
  const ThreeWays ms = time_of_unfused(record.problem, Pass::kForwardBackward).ms;
  EXPECT_EQ(predicted.basis, "published rates");
  EXPECT_DOUBLE_EQ(predicted.time_ms.low, ms.fast);
  EXPECT_DOUBLE_EQ(predicted.time_ms.high, ms.slow);
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
