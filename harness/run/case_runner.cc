#include "harness/run/case_runner.h"

#include <chrono>
#include <exception>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "harness/candidates/known_candidates.h"
#include "harness/plan/case_start.h"
#include "harness/run/case_verdict.h"
#include "harness/run/outcome_record.h"
#include "harness/run/problems/telling_inputs.h"
#include "harness/timing/timing_record.h"
#include "kernels/machine/out_of_device_memory.h"
#include "kernels/unsupported_error.h"
#include "results/record/case_id.h"
#include "results/record/record_fields.h"
#include "results/record/speedup.h"
#include "results/study/statistics.h"

namespace sparkbench {
namespace {

std::uint64_t count_tiles(const Problem& problem) {
  std::uint64_t of_head = 0;
  for (int i = 0; i < problem.batch; ++i) {
    of_head += static_cast<std::uint64_t>(sample_tiles_of(problem.seqlen_q_of(i)));
  }
  return of_head * static_cast<std::uint64_t>(problem.heads);
}

Distribution distribution_of(const std::string& input) {
  if (input == "normal") return Distribution::kNormal;
  if (input == "uniform") return Distribution::kUniform;
  if (input == "outliers") return Distribution::kOutliers;
  throw std::invalid_argument("no distribution of inputs is called " + input);
}

}  // namespace

CaseRunner::CaseRunner(Device& device, RunSettings settings)
    : device_(device), settings_(std::move(settings)) {}

const Candidate& CaseRunner::find_candidate(const std::string& name) const {
  for (const auto& candidate : device_.candidates()) {
    if (candidate->name() == name) return *candidate;
  }
  throw std::invalid_argument("no candidate is called " + name);
}

CaseRecord CaseRunner::begin(const SweepCase& sweep_case) const {
  return start_record(sweep_case, find_candidate(sweep_case.kernel), device_, settings_);
}

CaseRecord CaseRunner::finish(CaseRecord record) {
  const auto start = std::chrono::steady_clock::now();
  outputs_.reset();
  if (!is_attempted(record)) return record;
  const Candidate& candidate = find_candidate(record.kernel);
  try {
    if (settings_.before_case) settings_.before_case(record.id);
    if (record.layer) {
      run_layer(candidate, record);
    } else {
      run_attention(candidate, record);
    }
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

void CaseRunner::run_attention(const Candidate& candidate, CaseRecord& record) {
  if (is_judged_without_dropout(candidate, record.problem)) {
    judge_without_dropout(record);
    if (record.status != Status::kOk) return;
  }
  prepare_problem(record.problem);
  if (record.problem.input_scale.value_or(1) != 1 && inputs_overflow()) {
    record.status = Status::kSkipped;
    record.reason = Reason{"E-INPUT-OVERFLOW", "an input is not finite in fp16 at this scale"};
    return;
  }
  measure(candidate, record);
}

void CaseRunner::run_layer(const Candidate& candidate, CaseRecord& record) {
  candidate.add_mask_plan(record.problem, *record.mask_work);
  if (device_.info().kind == DeviceKind::kEmulated) {
    return emulated_layers_.run(candidate, settings_, record);
  }
  const bool has_other_mask = is_judged_without_dropout(candidate, record.problem);
  if (has_other_mask) {
    judge_without_dropout(record);
    if (record.status != Status::kOk) return;
  }
  gpu_layers_.run(candidate, find_candidate(std::string(kCublasFp16.name)), device_, settings_,
                  settings_.is_verified && !has_other_mask, record);
}

void CaseRunner::fail(Reason reason, CaseRecord& record) {
  record.status = Status::kFailed;
  record.reason = std::move(reason);
  problem_id_.clear();  // after a failure the device gets new inputs
  gpu_layers_.forget();
}

void CaseRunner::prepare_problem(const CaseProblem& problem) {
  const std::string id = make_problem_key(problem);
  if (id == problem_id_) return;
  problem_id_.clear();
  input_warnings_.reset();
  baseline_ = nullptr;
  loaded_.reset();
  gradients_.reset();
  InputSpec input = settings_.input;
  if (input.own == nullptr) {
    input.distribution = distribution_of(problem.input.value());
    input.scale = static_cast<float>(problem.input_scale.value());
  }
  CheckBudget budget = device_.check_budget();
  if (input.own != nullptr) budget = budget_for_own_inputs(budget);
  if (settings_.keeps_outputs) budget.emulate_flops = std::numeric_limits<double>::infinity();
  if (problem.pass == Pass::kForward) {
    data_ = std::make_unique<ProblemData>(problem, input, make_check_plan(problem, budget));
  } else {
    GradientPlan plan = make_gradient_plan(problem, budget);
    data_ = std::make_unique<ProblemData>(problem, input, plan.forward());
    gradients_ = std::make_unique<GradientData>(*data_, input, std::move(plan));
  }
  loaded_ = device_.load(*data_, gradients_.get());
  problem_id_ = id;
}

RunOptions CaseRunner::run_options(const CaseRecord& record) const {
  return {record.problem.pass, settings_.is_deterministic, settings_.keeps_outputs,
          settings_.method};
}

bool CaseRunner::inputs_overflow() const {
  const ForwardInputs inputs = data_->inputs();
  return !(all_finite(inputs.q) && all_finite(inputs.k) && all_finite(inputs.v));
}

void CaseRunner::measure(const Candidate& candidate, CaseRecord& record) {
  if (!settings_.is_verified) {
    record.status = Status::kUnverified;
    record.reason = Reason{"E-UNVERIFIED", "its result was not checked"};
  }
  if (settings_.is_profiled) return loaded_->profile(candidate, run_options(record));
  candidate.add_mask_plan(record.problem, *record.mask_work);
  RunOutcome outcome = loaded_->run(candidate, run_options(record));
  record_outcome(outcome, device_.info(), record);
  if (record.emulation) {
    record.emulation->tiles_total = count_tiles(data_->problem());
    record.emulation->tiles_run =
        data_->plan().tiles.empty() ? record.emulation->tiles_total : data_->plan().tiles.size();
  }
  if (settings_.is_verified && !is_judged_without_dropout(candidate, data_->problem())) {
    verify(candidate, outcome, record);
  }
  if (outcome.emulation && outcome.emulation->findings_total > 0) {
    record.status = Status::kIncorrect;
    record.reason = Reason{"E-FINDING", describe(outcome.emulation->findings.front())};
  }
  if (is_timed(settings_.method)) time(candidate, record);
  if (is_timed(settings_.method) && settings_.times_parts) time_parts(candidate, record);
  outputs_ = std::move(outcome.outputs);
}

bool CaseRunner::is_judged_without_dropout(const Candidate& candidate,
                                           const Problem& problem) const {
  return settings_.is_verified && candidate.draws_own_dropout_mask() &&
         problem.dropout().threshold != 0;
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
  record.accuracy = std::move(judged.accuracy);
  record.gradient_accuracy = std::move(judged.gradient_accuracy);
  if (record.layer && judged.layer) record.layer->errors = std::move(judged.layer->errors);
  for (Warning& warning : judged.warnings) {
    if (find_warning(record, warning.code) == nullptr)
      record.warnings.push_back(std::move(warning));
  }
  record.warnings.push_back({"W-OWN-DROPOUT-MASK",
                             "the kernel draws a dropout mask of its own: its errors are those of "
                             "the same problem without dropout",
                             std::nullopt});
}

void CaseRunner::verify(const Candidate& candidate, const RunOutcome& outcome, CaseRecord& record) {
  const bool is_sampled = gradients_ == nullptr ? data_->plan().is_sampled(data_->problem())
                                                : gradients_->plan().is_sampled(data_->problem());
  if (is_sampled) {
    record.warnings.push_back(
        {"W-SAMPLED-ROWS",
         "the oracle checked some rows of each kind, told apart by how many keys they see: errors "
         "are weighted by the rows that each stands for, the largest ones are of the rows checked",
         static_cast<double>(data_->plan().rows.size())});
  }
  if (record.problem.pass == Pass::kForwardBackward && !data_->plan().tiles.empty()) {
    record.warnings.push_back({"W-EXACT-FORWARD-ROWS",
                               "the backward pass needs O and LSE of every row of a head: those of "
                               "rows that were not emulated are the oracle's",
                               std::nullopt});
  }
  if (gradients_ != nullptr && gradients_->plan().leaves_out_longest) {
    record.warnings.push_back({"W-LONGEST-UNCHECKED",
                               "gradients of the longest sequences were not checked: those of "
                               "shorter ones stand for them",
                               std::nullopt});
  }
  if (!input_warnings_) input_warnings_ = warn_of_telling_nothing(*data_, gradients_.get());
  record.warnings.insert(record.warnings.end(), input_warnings_->begin(), input_warnings_->end());
  const std::string why =
      judge_outputs({candidate, settings_.tolerance()}, *data_, gradients_.get(), outcome, record);
  if (why.empty()) return;
  record.status = Status::kIncorrect;
  record.reason = Reason{"E-INCORRECT", why};
}

void CaseRunner::time_parts(const Candidate& candidate, CaseRecord& record) {
  record.parts = loaded_->time_parts(candidate, run_options(record));
  const std::optional<double> peak_tflops = device_.info().peak_tflops;
  if (!record.parts || !peak_tflops || !record.accumulator) return;  // fp32 uses no tensor cores
  for (PassPart& part : record.parts->of) {
    if (part.flops == 0) continue;
    part.peak_fraction = static_cast<double>(part.flops) / part.ms * 1e-9 / *peak_tflops;
  }
}

void CaseRunner::time(const Candidate& candidate, CaseRecord& record) {
  std::vector<const Candidate*> candidates = {&candidate};
  const bool is_reference = record.role == Role::kReference;
  if (!is_reference && record.valid && baseline_ != nullptr) candidates.push_back(baseline_);
  const std::vector<Timing> timings = loaded_->time(candidates, run_options(record));
  if (timings.empty()) return;
  record.device_state = device_.read_state();
  record_timing(timings.front(), device_.info(), record);
  if (!record.valid || !is_usable(record)) return;
  // An fp32 computation is only a check: a baseline has the kernels' dtype.
  if (is_reference && record.accumulator) baseline_ = &candidate;
  if (timings.size() == 1 || baseline_ == nullptr) return;
  record.speedup = speedup_over(baseline_->name(), summarize_samples(timings.back().samples_ms),
                                *record.time_ms, true);
}

}  // namespace sparkbench
