// Tests the handling of a layer on a GPU with a fake layer.
#include "harness/encoder/gpu_layer_runner.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>

#include "harness/candidates/known_candidates.h"
#include "harness/run/case_runner.h"
#include "kernels/machine/out_of_device_memory.h"

namespace sparkbench {
namespace {

constexpr double kUnfusedError = 4e-4;

/// The layer's scripted behaviour.
struct Script {
  double error = kUnfusedError;  // of every part, except for the unfused layer
  double unfused_error = kUnfusedError;
  std::string wrong_stage;  // has `error`, too
  bool has_room_for_oracle = true, has_room_for_unfused = true;
  bool has_graph = true;
  std::vector<float> judged, timed;  // dropout of the layers
  std::size_t tokens = 0;            // of the last loaded layer
};

ErrorMetrics metrics_of(double rel_l2) {
  ErrorMetrics error;
  error.checked_elements = 64;
  error.rel_l2 = error.max_abs = rel_l2;
  error.want_max_abs = 1;
  error.nonfinite = rel_l2 == rel_l2 ? 0 : 1;
  return error;
}

Timing timing_of(double ms) {
  return {std::vector<double>(3, ms), {{}, {}, {}}, "noise", true, 0.001};
}

class FakeLayer : public LoadedLayer {
 public:
  FakeLayer(const LayerWork& work, Script& script) : work_(work), script_(script) {
    script.tokens = work.tensors.x.size() / static_cast<std::size_t>(work.shape.hidden);
  }

  bool has_oracle(const RunOptions&) override { return script_.has_room_for_oracle; }
  std::vector<PartError> errors(const LayerVariant& variant, const RunOptions& options) override {
    script_.judged.push_back(work_.problem.dropout_p);
    const bool is_unfused =
        variant.rest == Rest::kUnfused && variant.attention.kind() == CandidateKind::kReference;
    if (is_unfused && !script_.has_room_for_unfused) throw OutOfDeviceMemory("no room");
    const ErrorMetrics error = metrics_of(is_unfused ? script_.unfused_error : script_.error);
    std::vector<PartError> all = {{"output", metrics_of(script_.unfused_error)},
                                  {"before_residual", metrics_of(script_.unfused_error)}};
    for (const Stage stage : stages_in_order(work_.shape.norm)) {
      all.push_back({std::string(name_of(stage)), name_of(stage) == script_.wrong_stage
                                                      ? error
                                                      : metrics_of(script_.unfused_error)});
    }
    if (options.pass != Pass::kForward) all.push_back({"dx", error});
    if (options.pass == Pass::kForward) all.front().error = error;
    return all;
  }
  LayerTimes time(const LayerVariant&, const LayerVariant* baseline, const RunOptions&) override {
    script_.timed.push_back(work_.problem.dropout_p);
    LayerTimes times;
    times.whole = timing_of(2.0);
    if (baseline != nullptr) times.baseline = timing_of(5.0);
    if (script_.has_graph) times.graph = timing_of(1.9);
    times.why_no_graph = "the attention waits for the stream";
    for (const Stage stage : kStages) {
      times.stage_ms.emplace_back(name_of(stage), stage == Stage::kMha ? 0.8 : 0.2);
    }
    return times;
  }
  LayerNeeds needs(const LayerVariant&, const RunOptions&) override { return {1000, 9}; }

 private:
  LayerWork work_;
  Script& script_;
};

class FakeCandidate : public Candidate {
 public:
  FakeCandidate(const CandidateInfo& info, bool has_own_mask)
      : Candidate(info), has_own_mask_(has_own_mask) {}
  Support supports(const Problem&, Pass) const override { return {}; }
  std::uint64_t workspace_bytes(const Problem&, Pass, bool) const override { return 0; }
  const ArithmeticProfile& arithmetic() const override { return arithmetic_profile("hopper"); }
  bool draws_own_dropout_mask() const override { return has_own_mask_; }

 private:
  bool has_own_mask_;
};

class FakeGpu : public Device {
 public:
  explicit FakeGpu(Script& script) : script_(script) {
    info_.kind = DeviceKind::kGpu;
    info_.sm = 90;
    info_.memory_bytes = std::uint64_t{1} << 34;
    candidates_.push_back(std::make_unique<FakeCandidate>(kCublasFp16, false));
    candidates_.push_back(std::make_unique<FakeCandidate>(kCudnn, true));
    candidates_.push_back(std::make_unique<FakeCandidate>(
        CandidateInfo{"half", "", CandidateKind::kKernel, Accumulator::kFp16}, false));
  }
  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  std::optional<DeviceState> read_state() const override {
    return DeviceState{.temperature_c = 41};
  }
  Candidates candidates() const override { return candidates_; }
  CheckBudget check_budget() const override {
    return {std::numeric_limits<double>::infinity(), 1 << 20};
  }
  std::unique_ptr<LoadedProblem> load(const ProblemData&, GradientData*) override {
    throw std::logic_error("no layer asks for an attention");
  }
  std::unique_ptr<LoadedLayer> load_layer(const LayerWork& work) override {
    return std::make_unique<FakeLayer>(work, script_);
  }

 private:
  Script& script_;
  std::string name_ = "cuda:0";
  DeviceInfo info_;
  OwnedCandidates candidates_;
};

CaseRecord run(const char* kernel, Script& script, Pass pass = Pass::kForward,
               Rest rest = Rest::kFused, float dropout_p = 0,
               std::shared_ptr<const SequenceLengths> lengths = nullptr) {
  FakeGpu device(script);
  CaseProblem problem;
  problem.pass = pass;
  problem.heads = 2;
  problem.seqlen_q = problem.seqlen_k = 16;
  problem.head_dim = 8;
  problem.dropout_p = dropout_p;
  problem.input = "normal";
  if (lengths) static_cast<Problem&>(problem) = with_lengths(problem, std::move(lengths));
  problem.layer = LayerShape{.hidden = 16, .ffn = 32, .rest = rest};
  return CaseRunner(device, {}).run({kernel, problem});
}

TEST(GpuLayerRunner, TellsTimesOfStagesAndOfTheGraph) {
  Script script;
  const CaseRecord record = run("cudnn", script, Pass::kForwardBackward);
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_EQ(record.time_ms->median, 2.0);
  EXPECT_EQ(record.device_state->temperature_c, 41);
  const LayerOutcome& layer = *record.layer;
  EXPECT_EQ(layer.launches, 9);
  EXPECT_EQ(layer.stages.at(1).time_ms, 0.8);
  EXPECT_EQ(layer.graph_ms, 1.9);
  EXPECT_NEAR(*layer.gap_ms, 0.0, 1e-12);
  EXPECT_NEAR(*layer.attention_share, 0.4, 1e-12);
  EXPECT_EQ(record.memory_bytes->peak, layer.weight_bytes + 1000);
  EXPECT_EQ(layer.errors.size(), 10u);
  EXPECT_EQ(layer.errors.at(3).of, "mha");
  EXPECT_EQ(layer.errors.back().of, "dx");
  EXPECT_EQ(record.speedup->over, "cublas-fp16, rest unfused");
  EXPECT_EQ(record.speedup->ratio, 2.5);
}

TEST(GpuLayerRunner, HoldsEveryPartToTheUnfusedLayer) {
  Script script;
  script.error = 3 * kUnfusedError + 1e-3;
  const CaseRecord record = run("cudnn", script);
  EXPECT_EQ(record.status, Status::kIncorrect);
  EXPECT_EQ(record.reason->code, "E-INCORRECT");
  EXPECT_EQ(record.reason->message.rfind("output: ", 0), 0u) << record.reason->message;
  EXPECT_FALSE(record.speedup);
  const CaseRecord of_gradients = run("cudnn", script, Pass::kForwardBackward);
  EXPECT_EQ(of_gradients.reason->message.rfind("dx: ", 0), 0u) << of_gradients.reason->message;
}

TEST(GpuLayerRunner, HoldsEachStageToTheUnfusedLayers) {
  Script script;
  script.wrong_stage = "ff1";
  script.error = 3 * kUnfusedError + 1e-3;
  const CaseRecord record = run("cudnn", script, Pass::kForwardBackward);
  EXPECT_EQ(record.status, Status::kIncorrect);
  EXPECT_EQ(record.reason->message.rfind("ff1: ", 0), 0u) << record.reason->message;
}

TEST(GpuLayerRunner, TakesPackedSequencesByTheirTokens) {
  Script script;
  const CaseRecord record =
      run("cudnn", script, Pass::kForward, Rest::kFused, 0,
          std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{{3, 3}, {9, 9}}));
  EXPECT_EQ(record.status, Status::kOk) << record.reason->message;
  EXPECT_EQ(script.tokens, 12u);
}

TEST(GpuLayerRunner, SaysWhenTheMeasureIsNone) {
  Script script;
  script.error = script.unfused_error = 1;
  for (const char* kernel : {"cudnn", "cublas-fp16"}) {
    EXPECT_NE(find_warning(run(kernel, script), "W-REFERENCE-INACCURATE"), nullptr) << kernel;
  }
}

TEST(GpuLayerRunner, TellsWhereAnAccumulatorInFp16ErrsMore) {
  Script script;
  script.error = 3 * kUnfusedError + 1e-3;
  const CaseRecord record = run("half", script);
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_NE(find_warning(record, kOverUnfusedWarning), nullptr);
  script.error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(run("half", script).status, Status::kIncorrect);
}

TEST(GpuLayerRunner, IsTheMeasureOfItself) {
  Script script;
  const CaseRecord record = run("cublas-fp16", script, Pass::kForward, Rest::kUnfused);
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_FALSE(record.speedup);
  EXPECT_EQ(script.judged.size(), 1u);
  EXPECT_EQ(record.layer->errors.front().over_unfused, 1.0);
}

TEST(GpuLayerRunner, SaysWhenTheOracleHasNoRoom) {
  Script script;
  script.has_room_for_oracle = false;
  const CaseRecord record = run("cublas-fp16", script);
  EXPECT_EQ(record.status, Status::kUnverified);
  EXPECT_NE(find_warning(record, "W-NOT-VERIFIED"), nullptr);
  EXPECT_TRUE(record.layer->errors.empty());
}

TEST(GpuLayerRunner, SaysWhenTheUnfusedLayerHasNoRoom) {
  Script script;
  script.has_room_for_unfused = false;
  const CaseRecord record = run("cudnn", script);
  EXPECT_EQ(record.status, Status::kUnverified);
  ASSERT_NE(find_warning(record, "W-NOT-VERIFIED"), nullptr);
  EXPECT_EQ(run("cublas-fp16", script, Pass::kForward, Rest::kUnfused).status, Status::kFailed);
}

TEST(GpuLayerRunner, SaysWhyThereIsNoGraph) {
  Script script;
  script.has_graph = false;
  const CaseRecord record = run("cublas-fp16", script);
  ASSERT_NE(find_warning(record, "W-NO-GRAPH"), nullptr);
  EXPECT_EQ(find_warning(record, "W-NO-GRAPH")->message, "the attention waits for the stream");
  EXPECT_FALSE(record.layer->graph_ms);
}

TEST(GpuLayerRunner, JudgesAnotherMaskWithoutDropoutAndTimesItWith) {
  Script script;
  const CaseRecord record = run("cudnn", script, Pass::kForward, Rest::kFused, 0.1f);
  EXPECT_EQ(record.status, Status::kOk);
  for (const float dropout_p : script.judged) EXPECT_EQ(dropout_p, 0.0f);
  EXPECT_EQ(script.timed, std::vector<float>{0.1f});
  EXPECT_EQ(record.layer->errors.size(), 9u);
  EXPECT_NE(find_warning(record, "W-OWN-DROPOUT-MASK"), nullptr);
}

}  // namespace
}  // namespace sparkbench
