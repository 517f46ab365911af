#include "harness/encoder/gpu_layer_runner.h"

#include <algorithm>
#include <utility>

#include "harness/encoder/layer_verdict.h"
#include "harness/encoder/own_layer.h"
#include "harness/timing/timing_record.h"
#include "kernels/machine/out_of_device_memory.h"
#include "results/record/case_id.h"
#include "results/record/speedup.h"
#include "results/study/statistics.h"

namespace sparkbench {
namespace {

/// Drops the fields that do not affect weights, inputs and oracle.
std::string key_of(const CaseProblem& problem) {
  CaseProblem alike = problem;
  alike.layer->rest = Rest::kFused;
  if (alike.pass != Pass::kForward) alike.pass = Pass::kForwardBackward;
  return make_problem_key(alike);
}

/// If the user brings tensors of one sequence, all sequences use them.
LayerTensors repeated(const LayerTensors& first, int batch) {
  LayerTensors all = first;
  for (std::vector<Half>* rows : {&all.x, &all.d_y}) {
    const std::vector<Half> one = *rows;
    for (int i = 1; i < batch; ++i) rows->insert(rows->end(), one.begin(), one.end());
  }
  return all;
}

void record_stages(const LayerTimes& times, CaseRecord& record) {
  LayerOutcome& layer = record.layer.value();
  if (layer.stages.empty()) return;  // a plug-in's, which is timed as a whole
  double sum = 0, attention = 0;
  for (StageOutcome& stage : layer.stages) {
    const auto found = std::find_if(times.stage_ms.begin(), times.stage_ms.end(),
                                    [&](const auto& each) { return each.first == stage.name; });
    if (found == times.stage_ms.end()) continue;
    stage.time_ms = found->second;
    sum += found->second;
    if (stage.name == name_of(Stage::kMha)) attention = found->second;
  }
  if (!record.time_ms) return;
  layer.gap_ms = record.time_ms->median - sum;
  if (sum > 0) layer.attention_share = attention / sum;
}

}  // namespace

struct GpuLayerRunner::Loaded {
  std::string key;
  LayerTensors tensors;
  std::unique_ptr<LoadedLayer> layer;
  std::optional<std::vector<PartError>> unfused;
  bool unfused_has_gradients = false;
};

void GpuLayerRunner::prepare(Device& device, const RunSettings& settings,
                             const CaseProblem& problem) {
  const std::string key = key_of(problem);
  if (loaded_ != nullptr && loaded_->key == key) return;
  loaded_ = nullptr;
  auto made = std::make_shared<Loaded>();
  const LayerShape& shape = problem.layer.value();
  const auto* own = dynamic_cast<const OwnLayer*>(settings.own.get());
  made->key = key;
  made->tensors =
      own != nullptr
          ? repeated(own->tensors, problem.batch)
          : make_layer_tensors(shape, static_cast<int>(problem.Problem::total_q()), problem.seed);
  made->layer = device.load_layer({shape, problem, made->tensors});
  loaded_ = std::move(made);
}

const std::vector<PartError>& GpuLayerRunner::unfused_errors(const Candidate& unfused,
                                                             const RunOptions& options) {
  const bool asks_for_gradients = options.pass != Pass::kForward;
  if (!loaded_->unfused || (asks_for_gradients && !loaded_->unfused_has_gradients)) {
    loaded_->unfused = loaded_->layer->errors({unfused, Rest::kUnfused}, options);
    loaded_->unfused_has_gradients = asks_for_gradients;
  }
  return *loaded_->unfused;
}

void GpuLayerRunner::verify(const LayerVariant& variant, const Candidate& unfused,
                            const RunSettings& settings, const RunOptions& options,
                            CaseRecord& record) {
  const auto leave_unverified = [&](const char* why) {
    record.warnings.push_back({"W-NOT-VERIFIED", why, std::nullopt});
    record.status = Status::kUnverified;
    record.reason = Reason{"E-UNVERIFIED", why};
  };
  if (!loaded_->layer->has_oracle(options)) {
    return leave_unverified("the layer in fp64 does not fit into the GPU's memory");
  }
  const bool is_measure = variant.is_same_as({unfused, Rest::kUnfused});
  const std::vector<PartError>* fp32 = nullptr;
  try {
    fp32 = &unfused_errors(unfused, options);
  } catch (const OutOfDeviceMemory&) {
    if (is_measure) throw;
    return leave_unverified(
        "the unfused layer that it is judged by does not fit into the GPU's memory");
  }
  const bool is_fp32 = variant.attention.accumulator() != Accumulator::kFp16;
  judge_layer(is_measure ? *fp32 : loaded_->layer->errors(variant, options),
              {*fp32, is_fp32 ? fp32 : nullptr}, is_measure, settings.tolerance(), record);
}

void GpuLayerRunner::time(const LayerVariant& variant, const Candidate& unfused,
                          const Device& device, const RunOptions& options, CaseRecord& record) {
  const LayerVariant baseline{unfused, Rest::kUnfused};
  const bool is_baseline = variant.is_same_as(baseline);
  const LayerTimes times =
      loaded_->layer->time(variant, is_baseline || !record.valid ? nullptr : &baseline, options);
  record.device_state = device.read_state();
  record_timing(times.whole, device.info(), record);
  record_stages(times, record);
  if (times.graph) {
    record.layer->graph_ms = summarize_samples(times.graph->samples_ms).median;
  } else {
    record.warnings.push_back({"W-NO-GRAPH", times.why_no_graph, std::nullopt});
  }
  if (!times.baseline || !is_usable(record)) return;
  record.speedup =
      speedup_over(unfused.name() + ", rest unfused", summarize_samples(times.baseline->samples_ms),
                   *record.time_ms, true);
}

void GpuLayerRunner::run(const Candidate& candidate, const Candidate& unfused, Device& device,
                         const RunSettings& settings, bool is_verified, CaseRecord& record) {
  prepare(device, settings, record.problem);
  if (settings.own != nullptr && record.problem.batch > 1) {
    record.warnings.push_back({"W-REPEATED-SEQUENCE",
                               "the file's first sequence stands for all of the batch",
                               static_cast<double>(record.problem.batch)});
  }
  const RunOptions options{record.problem.pass, settings.is_deterministic, false, settings.method};
  const LayerVariant variant{candidate, record.problem.layer->rest};
  if (is_verified) verify(variant, unfused, settings, options, record);
  if (!settings.is_verified) {
    record.status = Status::kUnverified;
    record.reason = Reason{"E-UNVERIFIED", "its result was not checked"};
  }
  const LayerNeeds needs = loaded_->layer->needs(variant, options);
  record.memory_bytes->peak = record.layer->weight_bytes + needs.bytes_over_weights;
  if (needs.launches) record.layer->launches = *needs.launches;
  if (is_timed(settings.method)) time(variant, unfused, device, options, record);
}

}  // namespace sparkbench
