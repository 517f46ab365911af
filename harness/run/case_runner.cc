#include "harness/run/case_runner.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "harness/candidates/known_candidates.h"
#include "harness/model/predictor.h"
#include "kernels/base/unsupported_error.h"
#include "kernels/machine/out_of_device_memory.h"
#include "results/record/case_id.h"
#include "results/record/record_fields.h"
#include "results/render/number_format.h"
#include "sweeps/shell_word.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

constexpr std::string_view kUnsupported = "E-UNSUPPORTED";

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

std::string repro_line(const SweepCase& sweep_case, const Candidate& candidate, const char* command,
                       const Device& device, const RunSettings& settings) {
  const OwnInputs* const own = settings.own.get();
  const auto& layer = sweep_case.problem.layer;
  const bool is_eager = layer && layer->rest == Rest::kEager;
  return fmt::format(
      "{} {} --device {} --kernel {}{} {} --seed {}{}{}", candidate.program(), command,
      device.name(), plain_or_shell_word(candidate.flag_item()),
      settings.is_deterministic ? " --deterministic" : "",
      flags_of_problem(sweep_case.problem, own != nullptr), sweep_case.problem.seed,
      own == nullptr ? "" : " --tensors " + shell_word(own->path),
      settings.software && is_eager ? " --software-factor " + text_of(*settings.software) : "");
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

/// For supported cases, even if this machine is too small to run them.
void add_prediction(const Device& device, const RunSettings& settings, CaseRecord& record) {
  if (settings.predictor == nullptr) return;
  if (record.reason && record.reason->code == kUnsupported) return;
  const bool is_emulated = device.info().kind == DeviceKind::kEmulated;
  const CandidateInfo& baseline = is_emulated ? kUnfusedFp16 : kCublasFp16;
  settings.predictor->predict(device.info(), baseline.name, settings.is_deterministic,
                              settings.software, record);
}

}  // namespace

CaseRunner::CaseRunner(Device& device, RunSettings settings)
    : device_(device), settings_(std::move(settings)), workloads_(device, settings_) {}

CaseRecord CaseRunner::begin(const SweepCase& sweep_case) const {
  const CaseWorkload& workload = workloads_.of(sweep_case.problem);
  const CaseProblem& problem = sweep_case.problem;
  const Candidate& candidate = find_candidate(device_, sweep_case.kernel);
  CaseRecord record;
  record.problem = problem;
  Method method = settings_.method;
  if (settings_.own == nullptr) {
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
  record.mask_work = mask_work_of(candidate, problem);
  workload.start(candidate, record);
  record.repro = repro_line(sweep_case, candidate, workload.command(), device_, settings_);
  add_device_warnings(candidate, device_.info(), record);
  if (settings_.own != nullptr) {
    const auto& warnings = settings_.own->warnings;
    record.warnings.insert(record.warnings.end(), warnings.begin(), warnings.end());
  }
  record.device = device_.name();
  const Support support = workload.supports(candidate, problem);
  auto reason =
      support ? workload.why_not_run(record) : Reason{std::string(kUnsupported), support.why_not};
  if (reason) {
    record.status = Status::kSkipped;
    record.reason = std::move(reason);
  }
  add_prediction(device_, settings_, record);
  const bool is_emulated = device_.info().kind == DeviceKind::kEmulated;
  const bool lacks_room_alone = record.reason && record.reason->code != kUnsupported;
  if (is_emulated && record.predicted && lacks_room_alone) record.status = Status::kPredicted;
  return record;
}

CaseRecord CaseRunner::finish(CaseRecord record) {
  const auto start = std::chrono::steady_clock::now();
  outputs_.reset();
  if (!is_attempted(record)) return record;
  try {
    if (settings_.before_case) settings_.before_case(record.id);
    run(record);
  } catch (const UnsupportedError& error) {
    record.status = Status::kSkipped;
    record.reason = Reason{"E-UNSUPPORTED", error.what()};
  } catch (const OutOfDeviceMemory& error) {
    fail({"E-OUT-OF-MEMORY", error.what()}, record);
  } catch (const std::bad_alloc&) {
    fail({"E-OUT-OF-MEMORY", "this machine's memory is too small for the case"}, record);
  } catch (const std::exception& error) {
    fail({"E-RUN", error.what()}, record);
  }
  record.elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return record;
}

void CaseRunner::run(CaseRecord& record) {
  const Candidate& candidate = find_candidate(device_, record.kernel);
  const bool has_other_mask = settings_.is_verified && candidate.draws_own_dropout_mask() &&
                              record.problem.dropout().threshold != 0;
  if (has_other_mask) {
    judge_without_dropout(record);
    if (record.status != Status::kOk) return;
  }
  CaseWorkload& workload = workloads_.of(record.problem);
  workload.run(candidate, settings_.is_verified && !has_other_mask, record);
  outputs_ = workload.take_outputs();
}

void CaseRunner::fail(Reason reason, CaseRecord& record) {
  record.status = Status::kFailed;
  record.reason = std::move(reason);
  workloads_.of(record.problem).forget();
}

void CaseRunner::judge_without_dropout(CaseRecord& record) {
  RunSettings settings = settings_;
  leave_untimed(settings.method);
  settings.keeps_outputs = false;
  settings.before_case = {};
  SweepCase without_dropout{record.kernel, record.problem};
  without_dropout.problem.dropout_p = 0.0f;
  CaseRecord judged = CaseRunner(device_, std::move(settings)).run(without_dropout);
  record.status = judged.status;
  record.reason = std::move(judged.reason);
  workloads_.of(record.problem).take_errors(judged, record);
  for (Warning& warning : judged.warnings) {
    if (find_warning(record, warning.code) == nullptr)
      record.warnings.push_back(std::move(warning));
  }
  record.warnings.push_back({"W-OWN-DROPOUT-MASK",
                             "the kernel draws a dropout mask of its own: its errors are those of "
                             "the same problem without dropout",
                             std::nullopt});
}

}  // namespace sparkbench
