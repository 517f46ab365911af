#include "harness/case_runner.h"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <stdexcept>
#include <utility>

#include "harness/outcome_record.h"
#include "results/case_id.h"
#include "results/enum_names.h"
#include "sweeps/memory.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

/// A reference is measured by itself: three roundings to fp16 of values up to the largest |want|.
constexpr Tolerance kReferenceTolerance{.ratio = 0.0, .floor = 0x1p-8};

/// A chain of three more products and a softmax gradient, each rounded to fp16.
constexpr Tolerance kReferenceGradientTolerance{.ratio = 0.0, .floor = 0x1p-7};

std::uint64_t count_tiles(const Problem& problem, int rows_per_tile) {
  const auto tiles =
      static_cast<std::uint64_t>((problem.seqlen_q + rows_per_tile - 1) / rows_per_tile);
  return tiles * static_cast<std::uint64_t>(problem.heads) *
         static_cast<std::uint64_t>(problem.batch);
}

MemoryPrediction predict_memory(const Contender& contender, const SweepCase& sweep_case,
                                bool is_deterministic) {
  const auto& [kernel, pass, problem] = sweep_case;
  if (contender.role == Role::kFused) return predict_fused_memory(pass, problem, is_deterministic);
  return predict_unfused_memory(pass, problem, kernel == "cublas-fp32" ? 4 : 2);
}

std::string repro_line(const SweepCase& sweep_case, const Device& device,
                       const RunSettings& settings) {
  const Problem& problem = sweep_case.problem;
  return fmt::format(
      "sparkbench sweep --device {} --kernel {} --pass {}{} --headdim {} --seqlen {} --seqlen-k {} "
      "--causal {} --dropout {} --batch {} --heads {} --seed {} --input {}",
      device.name(), sweep_case.kernel, name_of(sweep_case.pass),
      settings.is_deterministic ? " --deterministic" : "", problem.head_dim, problem.seqlen_q,
      problem.seqlen_k, problem.causal, problem.dropout_p, problem.batch, problem.heads,
      problem.seed, settings.method.input);
}

void add_device_warnings(const Contender& contender, const DeviceInfo& device, CaseRecord& record) {
  if (device.kind == DeviceKind::kEmulated) {
    record.warnings.push_back({"W-EMULATED-NO-TIME",
                               "an emulated device computes errors and counts; it has no clock",
                               std::nullopt});
  } else if (contender.kernel != nullptr && !contender.kernel->is_native(*device.sm)) {
    record.valid = false;
    record.warnings.push_back(
        {"W-MMA884-EMULATED",
         "m8n8k4 runs on the CUDA cores from compute capability 8.0 on: this time says nothing "
         "about the kernel",
         std::nullopt});
  }
}

}  // namespace

CaseRunner::CaseRunner(Device& device, RunSettings settings)
    : device_(device), settings_(std::move(settings)) {}

const Contender& CaseRunner::find_contender(const std::string& name) const {
  for (const Contender& contender : device_.contenders()) {
    if (contender.name == name) return contender;
  }
  throw std::invalid_argument("no contender is called " + name);
}

CaseRecord CaseRunner::run(const SweepCase& sweep_case) {
  const Contender& contender = find_contender(sweep_case.kernel);
  CaseRecord record = begin_record(sweep_case, contender);
  if (auto reason = why_skipped(contender, record)) {
    record.status = Status::kSkipped;
    record.reason = std::move(reason);
    return record;
  }
  try {
    prepare_problem(sweep_case);
    measure(contender, record);
  } catch (const std::exception& error) {
    record.status = Status::kFailed;
    record.reason = Reason{"E-RUN", error.what()};
    problem_id_.clear();  // a device in doubt gets its inputs anew
  }
  add_speedup(record);
  return record;
}

CaseRecord CaseRunner::begin_record(const SweepCase& sweep_case, const Contender& contender) const {
  const Problem& problem = sweep_case.problem;
  CaseRecord record;
  record.id = make_case_id(sweep_case.kernel, sweep_case.pass, problem);
  record.config_hash = make_config_hash(record.id, problem.seed, settings_.method);
  record.kernel = sweep_case.kernel;
  record.role = contender.role;
  record.accumulator = contender.accumulator;
  record.problem = make_problem_record(sweep_case.pass, problem);
  record.flops = useful_flops(sweep_case.pass, problem);
  record.bytes = compulsory_bytes(sweep_case.pass, problem);
  const MemoryPrediction memory =
      predict_memory(contender, sweep_case, settings_.method.deterministic.value_or(false));
  record.memory_bytes =
      MemoryBytes{memory.io_bytes, memory.workspace_bytes, std::nullopt, memory.peak_bytes()};
  record.repro = repro_line(sweep_case, device_, settings_);
  add_device_warnings(contender, device_.info(), record);
  return record;
}

std::optional<Reason> CaseRunner::why_skipped(const Contender& contender,
                                              const CaseRecord& record) const {
  const Problem problem = make_problem(record.problem);
  if (contender.kernel != nullptr) {
    if (const auto reason = contender.kernel->unsupported(problem)) {
      return Reason{"E-UNSUPPORTED", contender.name + " does not support " + *reason};
    }
  }
  const DeviceInfo& device = device_.info();
  // The emulated machine and the CPU reference keep no scores: they need the tensors only.
  const std::uint64_t needed = device.kind == DeviceKind::kEmulated
                                   ? record.memory_bytes->io
                                   : record.memory_bytes->predicted;
  if (device.memory_bytes && needed > *device.memory_bytes) {
    return Reason{
        "E-OOM-PREDICTED",
        fmt::format("needs {:.1f} GiB, {} has {:.1f} GiB", static_cast<double>(needed) / (1 << 30),
                    device_.name(), static_cast<double>(*device.memory_bytes) / (1 << 30))};
  }
  return std::nullopt;
}

void CaseRunner::prepare_problem(const SweepCase& sweep_case) {
  const std::string id = make_case_id("", sweep_case.pass, sweep_case.problem);
  if (id == problem_id_) return;
  problem_id_.clear();
  timed_reference_.reset();
  loaded_.reset();
  gradients_.reset();
  const Problem& problem = sweep_case.problem;
  const CheckBudget budget = device_.check_budget();
  if (sweep_case.pass == Pass::kForward) {
    data_ =
        std::make_unique<ProblemData>(problem, settings_.input, make_check_plan(problem, budget));
  } else {
    GradientPlan plan = make_gradient_plan(problem, budget);
    data_ = std::make_unique<ProblemData>(problem, settings_.input, plan.forward());
    gradients_ = std::make_unique<GradientData>(*data_, settings_.input, std::move(plan));
  }
  loaded_ = device_.load(*data_, gradients_.get());
  problem_id_ = id;
}

void CaseRunner::measure(const Contender& contender, CaseRecord& record) {
  const RunOutcome outcome =
      loaded_->run(contender, {record.problem.pass, settings_.is_deterministic, settings_.timing});
  record_outcome(outcome, device_.info(), record);
  if (record.emulation) {
    record.emulation->tiles_total = count_tiles(data_->problem(), contender.kernel->rows_per_tile);
    record.emulation->tiles_run =
        data_->plan().tiles.empty() ? record.emulation->tiles_total : data_->plan().tiles.size();
  }
  if (settings_.is_verified) verify(contender, outcome, record);
  if (outcome.emulation && outcome.emulation->findings_total > 0) {
    record.status = Status::kIncorrect;
    record.reason = Reason{"E-FINDING", describe(outcome.emulation->findings.front())};
  }
}

void CaseRunner::verify(const Contender& contender, const RunOutcome& outcome, CaseRecord& record) {
  if (data_->plan().is_sampled(data_->problem())) {
    record.warnings.push_back(
        {"W-SAMPLED-ROWS",
         "the oracle checked a sample of the rows, spread over heads and positions",
         static_cast<double>(data_->plan().rows.size())});
  }
  const std::string why = gradients_ == nullptr ? judge_forward(contender, outcome, record)
                                                : judge_backward(contender, outcome, record);
  if (why.empty()) return;
  record.status = Status::kIncorrect;
  record.reason = Reason{"E-INCORRECT", why};
  record.tflops.reset();
  record.peak_fraction.reset();
}

std::string CaseRunner::judge_forward(const Contender& contender, const RunOutcome& outcome,
                                      CaseRecord& record) {
  const ErrorMetrics error = error_metrics(outcome.rows, data_->exact());
  const ErrorMetrics& unfused = data_->unfused_error(
      device_.arithmetic_of(contender), contender.accumulator.value_or(Accumulator::kFp32));
  record.accuracy = make_accuracy("o", error, unfused, outcome.rows.o);
  record.accuracy->lse_max_abs = error.lse_max_abs;
  record.accuracy->worst_index = worst_position(data_->plan().rows, error, data_->problem());
  add_mask_and_repeatability(data_->dropout_mask(), outcome, *record.accuracy);
  return contender.role == Role::kReference
             ? why_incorrect(error, ErrorMetrics{}, kReferenceTolerance)
             : why_incorrect(error, unfused, settings_.tolerance);
}

std::string CaseRunner::judge_backward(const Contender& contender, const RunOutcome& outcome,
                                       CaseRecord& record) {
  const GradientErrors error = gradient_errors(outcome.gradients, gradients_->exact());
  const GradientErrors& unfused = gradients_->unfused_errors(
      device_.arithmetic_of(contender), contender.accumulator.value_or(Accumulator::kFp32));
  GradientAccuracy accuracy{make_accuracy("dq", error.dq, unfused.dq, outcome.gradients.dq),
                            make_accuracy("dk", error.dk, unfused.dk, outcome.gradients.dk),
                            make_accuracy("dv", error.dv, unfused.dv, outcome.gradients.dv)};
  const GradientRows& rows = gradients_->plan().rows;
  accuracy.dq.worst_index = worst_position(rows.dq, error.dq, data_->problem());
  accuracy.dk.worst_index = worst_position(rows.dkv, error.dk, data_->problem());
  accuracy.dv.worst_index = worst_position(rows.dkv, error.dv, data_->problem());
  for (Accuracy* gradient : {&accuracy.dq, &accuracy.dk, &accuracy.dv}) {
    add_mask_and_repeatability(data_->dropout_mask(), outcome, *gradient);
  }
  record.gradient_accuracy = std::move(accuracy);
  return contender.role == Role::kReference
             ? why_incorrect(error, GradientErrors{}, kReferenceGradientTolerance)
             : why_incorrect(error, unfused, settings_.tolerance);
}

void CaseRunner::add_speedup(CaseRecord& record) {
  if (!record.time_ms || !record.valid || record.status != Status::kOk) return;
  if (record.role == Role::kReference) {
    // The timed baseline has the kernels' dtype; an fp32 computation is a check, not a rival.
    if (record.accumulator) timed_reference_ = record;
  } else if (timed_reference_) {
    const TimeMs& reference = *timed_reference_->time_ms;
    const double ratio = reference.median / record.time_ms->median;
    const double doubt =
        std::hypot(reference.stdev / reference.mean, record.time_ms->stdev / record.time_ms->mean);
    record.speedup = Speedup{timed_reference_->kernel, ratio, ratio * doubt};
  }
}

}  // namespace sparkbench
