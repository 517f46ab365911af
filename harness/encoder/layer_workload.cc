// An encoder layer as a workload, on an emulated device or on a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/candidates/known_candidates.h"
#include "harness/encoder/gpu_layer_runner.h"
#include "harness/encoder/layer_runner.h"
#include "harness/model/predictor.h"
#include "harness/plugin/plugin_layer.h"
#include "harness/run/case_workload.h"
#include "kernels/base/half.h"
#include "kernels/base/saturating.h"
#include "reference/encoder/eager_steps.h"
#include "reference/encoder/layer_memory.h"
#include "results/render/number_format.h"
#include "sweeps/memory.h"

namespace sparkbench {
namespace {

/// An unfused computation stores P for its backward pass, and dropout(P) if that differs; a fused
/// kernel recomputes it.
AttentionMemory memory_of(std::uint64_t forward, std::uint64_t backward, bool keeps_p,
                          const CaseProblem& problem) {
  if (!keeps_p || problem.pass == Pass::kForward) return {forward, backward, 0};
  const std::uint64_t kept = problem.dropout().threshold != 0 ? 2 * forward : forward;
  return {0, backward - std::min(backward, kept), kept};
}

bool is_eager(const CaseProblem& problem) { return problem.layer->rest == Rest::kEager; }

/// The unfused attention's memory; in an eager layer that is eager PyTorch's.
AttentionMemory unfused_memory(const CaseProblem& problem) {
  if (is_eager(problem)) return eager_attention_memory(problem, problem.pass);
  const auto of = [&](Pass pass) { return unfused_workspace_bytes(pass, problem, sizeof(Half)); };
  return memory_of(of(Pass::kForward), of(Pass::kBackward), true, problem);
}

AttentionMemory memory_by(const Candidate& candidate, bool is_deterministic,
                          const CaseProblem& problem) {
  const auto of = [&](Pass pass) {
    return candidate.workspace_bytes(problem, pass, is_deterministic);
  };
  if (is_eager(problem) && candidate.role() == Role::kReference) return unfused_memory(problem);
  const std::uint64_t backward = problem.pass == Pass::kForward ? 0 : of(Pass::kBackward);
  return memory_of(of(Pass::kForward), backward, candidate.role() == Role::kReference, problem);
}

/// Input and output; for a backward pass also their gradients and those of weights; varlen offsets.
std::uint64_t io_bytes(const LayerShape& shape, const CaseProblem& problem) {
  const std::uint64_t rows = problem.q_elements() * sizeof(Half), weights = weight_bytes(shape);
  const std::uint64_t offsets = offset_bytes(problem);
  if (problem.pass == Pass::kForward) return saturating_sum({weights, 2 * rows, offsets});
  if (problem.pass == Pass::kBackward) return saturating_sum({2 * weights, 3 * rows, offsets});
  return saturating_sum({2 * weights, 4 * rows, offsets});
}

std::vector<StageOutcome> stages_of(const std::vector<LayerStep>& steps) {
  std::vector<StageOutcome> stages;
  stages.reserve(kStages.size());
  for (const Stage stage : kStages) stages.push_back({.name = std::string(name_of(stage))});
  for (const LayerStep& step : steps) {
    StageOutcome& stage = stages.at(static_cast<std::size_t>(step.stage));
    stage.flops = saturating_sum({stage.flops, step.flops});
    stage.bytes = saturating_sum({stage.bytes, step.bytes()});
    ++stage.launches;
  }
  return stages;
}

std::optional<Reason> why_no_room(std::uint64_t needed, const DeviceInfo& device) {
  const std::optional<std::uint64_t> there_is =
      device.memory_available_bytes ? device.memory_available_bytes : device.memory_bytes;
  if (!there_is || needed <= *there_is) return std::nullopt;
  return Reason{"E-OOM-PREDICTED", fmt::format("needs {}, {} has {}", format_memory(needed),
                                               device.name, format_memory(*there_is))};
}

class LayerWorkload : public CaseWorkload {
 public:
  LayerWorkload(Device& device, RunSettings settings);

  bool computes(const CaseProblem& problem) const override { return problem.layer.has_value(); }
  const char* command() const override { return "encoder"; }
  Support supports(const Candidate& candidate, const CaseProblem& problem) const override;
  /// Bytes: weights, input and output, backward their gradients too. Also sets the stages, and what
  /// a layer holds at most besides its weights.
  void start(const Candidate& candidate, CaseRecord& record) const override;
  /// E-UNSUPPORTED: there are no tokens. E-OOM-PREDICTED: too large for the device, or for the one
  /// that it stands for. E-ONLY-PREDICTED: the layer is an eager one, or would take minutes to
  /// emulate.
  std::optional<Reason> why_not_run(const CaseRecord& record) const override;
  double host_flops(const CaseRecord& planned) const override;

  void run(const Candidate& candidate, bool is_verified, CaseRecord& record) override;
  void forget() override { gpu_.forget(); }
  void take_errors(CaseRecord& judged, CaseRecord& record) const override;

 private:
  Device& device_;
  RunSettings settings_;
  LayerRunner emulated_;
  GpuLayerRunner gpu_;
};

}  // namespace

LayerWorkload::LayerWorkload(Device& device, RunSettings settings)
    : device_(device), settings_(std::move(settings)) {}

Support LayerWorkload::supports(const Candidate& candidate, const CaseProblem& problem) const {
  if (const PluginLayer* const whole = whole_layer(candidate)) {
    if (is_eager(problem))
      return {fmt::format("{} runs with --rest unfused or fused", candidate.name())};
    return whole->supports_layer(problem.layer.value(), problem, problem.pass);
  }
  return CaseWorkload::supports(candidate, problem);
}

void LayerWorkload::start(const Candidate& candidate, CaseRecord& record) const {
  const CaseProblem& problem = record.problem;
  const LayerShape& shape = problem.layer.value();
  const std::vector<LayerStep> steps = layer_steps(shape, problem, problem.pass);
  LayerOutcome layer;
  layer.weight_bytes = weight_bytes(shape);
  layer.peak_bytes = saturating_sum(
      {peak_bytes_over_weights(steps, memory_by(candidate, settings_.is_deterministic, problem)),
       offset_bytes(problem)});
  layer.stages = stages_of(steps);
  record.flops = 0;
  for (const StageOutcome& stage : layer.stages) {
    record.flops = saturating_sum({record.flops, stage.flops});
    layer.launches += stage.launches;
  }
  if (whole_layer(candidate) != nullptr) {  // whose stages and launches nobody knows
    layer.stages.clear();
    layer.launches = 0;
  }
  LayerShape unfused_shape = shape;
  if (!is_eager(problem)) unfused_shape.rest = Rest::kUnfused;
  const std::uint64_t unfused_peak =
      saturating_sum({peak_bytes_over_weights(layer_steps(unfused_shape, problem, problem.pass),
                                              unfused_memory(problem)),
                      offset_bytes(problem)});
  const std::uint64_t io = io_bytes(shape, problem);
  const std::uint64_t predicted =
      std::max(io, saturating_sum({layer.weight_bytes, layer.peak_bytes}));
  record.bytes = io;
  record.memory_bytes = {io, predicted - io, std::nullopt, predicted,
                         saturating_sum({layer.weight_bytes, unfused_peak})};
  record.layer = std::move(layer);
}

std::optional<Reason> LayerWorkload::why_not_run(const CaseRecord& record) const {
  const CaseProblem& problem = record.problem;
  const DeviceInfo& device = device_.info();
  if (problem.q_elements() == 0) {
    return Reason{"E-UNSUPPORTED", "there are no tokens, and so no layer to compute"};
  }
  const std::uint64_t needed = record.memory_bytes->predicted;
  if (std::string why = why_too_large_for_v100(device, needed); !why.empty()) {
    return Reason{"E-OOM-PREDICTED", std::move(why)};
  }
  if (device.kind != DeviceKind::kEmulated) return why_no_room(needed, device);
  if (is_eager(problem)) {
    return Reason{"E-ONLY-PREDICTED", "what eager PyTorch computes is predicted, not emulated"};
  }
  if (!part_to_check(problem)) {
    return Reason{"E-ONLY-PREDICTED",
                  "a layer this large takes minutes to emulate, and is predicted alone"};
  }
  return std::nullopt;
}

double LayerWorkload::host_flops(const CaseRecord& planned) const {
  const CheckBudget budget = device_.check_budget();
  const bool is_gpu = device_.info().kind == DeviceKind::kGpu;
  return std::min(static_cast<double>(planned.flops),
                  is_gpu ? budget.oracle_flops : budget.emulate_flops);
}

void LayerWorkload::run(const Candidate& candidate, bool is_verified, CaseRecord& record) {
  candidate.add_mask_plan(record.problem, *record.mask_work);
  if (device_.info().kind == DeviceKind::kEmulated) {
    const bool is_judged = settings_.is_verified && !is_verified;  // without dropout, before
    if (!is_judged) emulated_.run(candidate, settings_, record);
    return;
  }
  gpu_.run(candidate, find_candidate(device_, kCublasFp16.name), device_, settings_, is_verified,
           record);
}

void LayerWorkload::take_errors(CaseRecord& judged, CaseRecord& record) const {
  CaseWorkload::take_errors(judged, record);
  record.layer->errors = std::move(judged.layer->errors);
}

std::unique_ptr<CaseWorkload> make_layer_workload(Device& device, const RunSettings& settings) {
  return std::make_unique<LayerWorkload>(device, settings);
}

}  // namespace sparkbench
