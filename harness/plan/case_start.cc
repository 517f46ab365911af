#include "harness/plan/case_start.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "harness/candidates/known_candidates.h"
#include "harness/encoder/layer_start.h"
#include "harness/model/predict/case_prediction.h"
#include "harness/model/predict/layer_prediction.h"
#include "kernels/saturating.h"
#include "results/record/case_id.h"
#include "results/render/number_format.h"
#include "sweeps/memory.h"
#include "sweeps/shell_word.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

constexpr std::string_view kUnsupported = "E-UNSUPPORTED";

MemoryBytes predict_memory(const Candidate& candidate, const SweepCase& sweep_case,
                           bool is_deterministic) {
  const CaseProblem& problem = sweep_case.problem;
  const Pass pass = problem.pass;
  const std::uint64_t io = tensor_bytes(pass, problem);
  const std::uint64_t workspace = candidate.workspace_bytes(problem, pass, is_deterministic);
  const std::uint64_t unfused = unfused_workspace_bytes(pass, problem, sizeof(Half));
  return {io, workspace, std::nullopt, saturating_sum({io, workspace}),
          saturating_sum({io, unfused})};
}

/// The tile plan is made and reported when the case runs.
MaskWork mask_work_of(const Candidate& candidate, const Problem& problem) {
  const PairCounts pairs = pairs_of(problem);
  MaskWork work;
  work.pairs_visible = pairs.visible;
  if (pairs.all > 0) {
    work.density = static_cast<double>(pairs.visible) / static_cast<double>(pairs.all);
  }
  if (candidate.role() == Role::kReference) {
    work.pairs_executed = pairs.all;
    work.why_no_plan = "an unfused computation has no tiles: it computes all pairs";
  } else {
    work.why_no_plan = problem.sparse
                           ? "a pattern's plan is made when the case is run"
                           : fmt::format("{} makes no plan of this mask", candidate.name());
  }
  return work;
}

std::string repro_line(const SweepCase& sweep_case, const Device& device,
                       const RunSettings& settings) {
  const OwnTensors* own = settings.input.own.get();
  const OwnLayer* own_layer = settings.own_layer.get();
  const std::string file = own != nullptr ? own->path : own_layer != nullptr ? own_layer->path : "";
  const char* const command = sweep_case.problem.layer ? "encoder"
                              : own != nullptr         ? "run"
                                                       : "sweep";
  return fmt::format("sparkbench {} --device {} --kernel {}{} {} --seed {}{}", command,
                     device.name(), sweep_case.kernel,
                     settings.is_deterministic ? " --deterministic" : "",
                     flags_of_problem(sweep_case.problem, !file.empty()), sweep_case.problem.seed,
                     file.empty() ? "" : " --tensors " + shell_word(file));
}

void add_device_warnings(const Candidate& candidate, const DeviceInfo& device, CaseRecord& record) {
  if (device.kind == DeviceKind::kEmulated) {
    record.warnings.push_back({std::string(kNoTimeWarning),
                               "an emulated device computes errors and counts; it has no clock",
                               std::nullopt});
  } else if (auto warning = candidate.why_time_is_invalid()) {
    record.valid = false;
    record.warnings.push_back(std::move(*warning));
  }
}

/// In addition to a kernel's tensors and workspace, the emulated machine stores who wrote each
/// byte, and the exact result: at most 1.63 times as much, over all passes with 16k rows of 16
/// heads. The reference on the host stores no scores; it was observed to need less than the
/// tensors.
std::uint64_t host_bytes_needed(const CaseRecord& record) {
  if (record.role == Role::kReference) return record.memory_bytes->io;
  return static_cast<std::uint64_t>(1.7 * static_cast<double>(record.memory_bytes->predicted));
}

std::optional<Reason> why_skipped(const Candidate& candidate, const SweepCase& sweep_case,
                                  const Device& device, const CaseRecord& record) {
  if (const Support support = candidate.supports(sweep_case.problem, sweep_case.problem.pass);
      !support) {
    return Reason{std::string(kUnsupported), support.why_not};
  }
  const DeviceInfo& info = device.info();
  if (sweep_case.problem.layer) return why_layer_is_not_computed(sweep_case.problem, info, record);
  const std::uint64_t needed = info.kind == DeviceKind::kEmulated ? host_bytes_needed(record)
                                                                  : record.memory_bytes->predicted;
  const std::optional<std::uint64_t> there_is =
      info.memory_available_bytes ? info.memory_available_bytes : info.memory_bytes;
  if (there_is && needed > *there_is) {
    return Reason{"E-OOM-PREDICTED", fmt::format("needs {}, {} has {}", format_memory(needed),
                                                 device.name(), format_memory(*there_is))};
  }
  return std::nullopt;
}

/// For supported cases, even if this machine is too small to run them.
void add_prediction(const Device& device, const RunSettings& settings, CaseRecord& record) {
  if (settings.cycles == nullptr) return;
  if (record.reason && record.reason->code == kUnsupported) return;
  const bool is_emulated = device.info().kind == DeviceKind::kEmulated;
  const CandidateInfo& baseline = is_emulated ? kUnfusedFp16 : kCublasFp16;
  const auto card = predicted_card(device.info(), std::string(baseline.name));
  if (!card) return;
  CasePrediction prediction =
      record.layer ? predict_layer(record, settings.is_deterministic, *card, *settings.cycles)
                   : predict_case(record, settings.is_deterministic, *card, *settings.cycles);
  record.predicted = std::move(prediction.predicted);
  record.predicted_reason = std::move(prediction.why_not);
}

}  // namespace

CaseRecord start_record(const SweepCase& sweep_case, const Candidate& candidate,
                        const Device& device, const RunSettings& settings) {
  const CaseProblem& problem = sweep_case.problem;
  CaseRecord record;
  record.problem = problem;
  Method method = settings.method;
  if (settings.input.own == nullptr && settings.own_layer == nullptr) {
    method.input = problem.input.value();
  } else {
    record.problem.input = method.input;
    record.problem.input_scale.reset();
  }
  record.id = make_case_id(sweep_case.kernel, record.problem);
  record.config_hash = make_config_hash(record.id, problem.seed, method);
  record.kernel = sweep_case.kernel;
  record.role = candidate.role();
  record.accumulator = candidate.accumulator();
  record.libraries = candidate.libraries();
  record.flops = useful_flops(problem.pass, problem);
  record.bytes = compulsory_bytes(problem.pass, problem);
  record.mask_work = mask_work_of(candidate, problem);
  record.memory_bytes =
      predict_memory(candidate, sweep_case, settings.method.deterministic.value_or(false));
  if (problem.layer) start_layer(candidate, settings.is_deterministic, record);
  record.repro = repro_line(sweep_case, device, settings);
  add_device_warnings(candidate, device.info(), record);
  if (settings.input.own != nullptr) {
    const auto& warnings = settings.input.own->warnings;
    record.warnings.insert(record.warnings.end(), warnings.begin(), warnings.end());
  }
  if (settings.own_layer != nullptr) {
    const auto& warnings = settings.own_layer->warnings;
    record.warnings.insert(record.warnings.end(), warnings.begin(), warnings.end());
  }
  record.device = device.name();
  if (auto reason = why_skipped(candidate, sweep_case, device, record)) {
    record.status = Status::kSkipped;
    record.reason = std::move(reason);
  }
  add_prediction(device, settings, record);
  const bool is_emulated = device.info().kind == DeviceKind::kEmulated;
  const bool lacks_room_alone = record.reason && record.reason->code != kUnsupported;
  if (is_emulated && record.predicted && lacks_room_alone) record.status = Status::kPredicted;
  return record;
}

}  // namespace sparkbench
