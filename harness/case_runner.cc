#include "harness/case_runner.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <limits>
#include <stdexcept>
#include <utility>

#include "harness/outcome_record.h"
#include "harness/shell_word.h"
#include "harness/statistics.h"
#include "harness/timing_record.h"
#include "kernels/machine/out_of_device_memory.h"
#include "kernels/unsupported_error.h"
#include "results/case_id.h"
#include "results/enum_names.h"
#include "results/speedup.h"
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
  const Pass pass = sweep_case.pass;
  const Problem& problem = sweep_case.problem;
  if (contender.role == Role::kFused) return predict_fused_memory(pass, problem, is_deterministic);
  MemoryPrediction memory =
      predict_unfused_memory(pass, problem, sweep_case.kernel == "cublas-fp32" ? 4 : 2);
  if (sweep_case.kernel.starts_with("cublas-")) memory.workspace_bytes += kCublasWorkspaceBytes;
  return memory;
}

std::string repro_line(const SweepCase& sweep_case, const Device& device,
                       const RunSettings& settings) {
  const Problem& problem = sweep_case.problem;
  const OwnTensors* own = settings.input.own.get();
  const std::string inputs =
      own != nullptr
          ? "--tensors " + shell_word(own->path)
          : fmt::format("--headdim {} --seqlen {} --seqlen-k {} --batch {} --heads {} --input {}{}",
                        problem.head_dim, problem.seqlen_q, problem.seqlen_k, problem.batch,
                        problem.heads, sweep_case.input,
                        sweep_case.input_scale == 1
                            ? ""
                            : fmt::format(" --input-scale {}", sweep_case.input_scale));
  return fmt::format(
      "sparkbench {} --device {} --kernel {} --pass {}{} --causal {} --dropout {} --seed {} {}",
      own != nullptr ? "run" : "sweep", device.name(), sweep_case.kernel, name_of(sweep_case.pass),
      settings.is_deterministic ? " --deterministic" : "", problem.causal, problem.dropout_p,
      problem.seed, inputs);
}

Distribution distribution_of(const std::string& input) {
  if (input == "normal") return Distribution::kNormal;
  if (input == "uniform") return Distribution::kUniform;
  if (input == "outliers") return Distribution::kOutliers;
  throw std::invalid_argument("no distribution of inputs is called " + input);
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

ProblemRecord problem_record(const SweepCase& sweep_case) {
  ProblemRecord record = make_problem_record(sweep_case.pass, sweep_case.problem);
  record.input = sweep_case.input;
  record.input_scale = sweep_case.input_scale;
  return record;
}

CaseRunner::CaseRunner(Device& device, RunSettings settings)
    : device_(device), settings_(std::move(settings)) {}

const Contender& CaseRunner::find_contender(const std::string& name) const {
  for (const Contender& contender : device_.contenders()) {
    if (contender.name == name) return contender;
  }
  throw std::invalid_argument("no contender is called " + name);
}

CaseRecord CaseRunner::run(const SweepCase& sweep_case) {
  const auto start = std::chrono::steady_clock::now();
  const Contender& contender = find_contender(sweep_case.kernel);
  CaseRecord record = begin(sweep_case);
  outputs_.reset();
  if (record.status == Status::kSkipped) return record;
  try {
    if (settings_.before_case) settings_.before_case(record.id);
    if (is_judged_without_dropout(contender, sweep_case.problem)) {
      judge_without_dropout(sweep_case, record);
      if (record.status != Status::kOk) return record;
    }
    prepare_problem(record.problem);
    if (record.problem.input_scale.value_or(1) != 1 && inputs_overflow()) {
      record.status = Status::kSkipped;
      record.reason = Reason{"E-INPUT-OVERFLOW", "an input is not finite in fp16 at this scale"};
      return record;
    }
    measure(contender, record);
  } catch (const UnsupportedError& error) {
    record.status = Status::kSkipped;
    record.reason = Reason{"E-UNSUPPORTED", error.what()};
  } catch (const OutOfDeviceMemory& error) {
    fail({"E-OUT-OF-MEMORY", error.what()}, record);
  } catch (const std::exception& error) {
    fail({"E-RUN", error.what()}, record);
  }
  record.elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return record;
}

void CaseRunner::fail(Reason reason, CaseRecord& record) {
  record.status = Status::kFailed;
  record.reason = std::move(reason);
  problem_id_.clear();  // a device in doubt gets its inputs anew
}

CaseRecord CaseRunner::begin(const SweepCase& sweep_case) const {
  const Contender& contender = find_contender(sweep_case.kernel);
  const Problem& problem = sweep_case.problem;
  CaseRecord record;
  record.problem = problem_record(sweep_case);
  Method method = settings_.method;
  if (settings_.input.own == nullptr) {
    method.input = sweep_case.input;
  } else {
    record.problem.input = method.input;
    record.problem.input_scale.reset();
  }
  record.id = make_case_id(sweep_case.kernel, record.problem);
  record.config_hash = make_config_hash(record.id, problem.seed, method);
  record.kernel = sweep_case.kernel;
  record.role = contender.role;
  record.accumulator = contender.accumulator;
  record.flops = useful_flops(sweep_case.pass, problem);
  record.bytes = compulsory_bytes(sweep_case.pass, problem);
  const MemoryPrediction memory =
      predict_memory(contender, sweep_case, settings_.method.deterministic.value_or(false));
  record.memory_bytes =
      MemoryBytes{memory.io_bytes, memory.workspace_bytes, std::nullopt, memory.peak_bytes(),
                  predict_unfused_memory(sweep_case.pass, problem, sizeof(Half)).peak_bytes()};
  record.repro = repro_line(sweep_case, device_, settings_);
  add_device_warnings(contender, device_.info(), record);
  if (settings_.input.own != nullptr) {
    const auto& warnings = settings_.input.own->warnings;
    record.warnings.insert(record.warnings.end(), warnings.begin(), warnings.end());
  }
  record.device = device_.name();
  if (auto reason = why_skipped(contender, record)) {
    record.status = Status::kSkipped;
    record.reason = std::move(reason);
  }
  return record;
}

std::optional<Reason> CaseRunner::why_skipped(const Contender& contender,
                                              const CaseRecord& record) const {
  const Problem problem = make_problem(record.problem);
  if (contender.kernel != nullptr) {
    if (const auto reason = contender.kernel->unsupported(problem)) {
      return Reason{"E-UNSUPPORTED", contender.name + " does not support " + *reason};
    }
    if (record.problem.pass != Pass::kForward && !contender.kernel->has_backward()) {
      return Reason{"E-UNSUPPORTED", contender.name + " has no backward pass"};
    }
  }
  const DeviceInfo& device = device_.info();
  // The emulated machine and the CPU reference keep no scores: they need the tensors only.
  const std::uint64_t needed = device.kind == DeviceKind::kEmulated
                                   ? record.memory_bytes->io
                                   : record.memory_bytes->predicted;
  const std::optional<std::uint64_t> there_is =
      device.memory_available_bytes ? device.memory_available_bytes : device.memory_bytes;
  if (there_is && needed > *there_is) {
    return Reason{
        "E-OOM-PREDICTED",
        fmt::format("needs {:.1f} GiB, {} has {:.1f} GiB", static_cast<double>(needed) / (1 << 30),
                    device_.name(), static_cast<double>(*there_is) / (1 << 30))};
  }
  return std::nullopt;
}

void CaseRunner::prepare_problem(const ProblemRecord& record) {
  const std::string id = make_problem_key(record);
  if (id == problem_id_) return;
  problem_id_.clear();
  rival_ = nullptr;
  loaded_.reset();
  gradients_.reset();
  const Problem problem = make_problem(record);
  InputSpec input = settings_.input;
  if (input.own == nullptr) {
    input.distribution = distribution_of(record.input.value());
    input.scale = static_cast<float>(record.input_scale.value());
  }
  CheckBudget budget = device_.check_budget();
  if (settings_.keeps_outputs) budget.emulate_flops = std::numeric_limits<double>::infinity();
  if (record.pass == Pass::kForward) {
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
          settings_.timing};
}

bool CaseRunner::inputs_overflow() const {
  const ForwardInputs inputs = data_->inputs();
  return !(all_finite(inputs.q) && all_finite(inputs.k) && all_finite(inputs.v));
}

void CaseRunner::measure(const Contender& contender, CaseRecord& record) {
  if (settings_.is_profiled) return loaded_->profile(contender, run_options(record));
  RunOutcome outcome = loaded_->run(contender, run_options(record));
  record_outcome(outcome, device_.info(), record);
  if (record.emulation) {
    record.emulation->tiles_total = count_tiles(data_->problem(), contender.kernel->rows_per_tile);
    record.emulation->tiles_run =
        data_->plan().tiles.empty() ? record.emulation->tiles_total : data_->plan().tiles.size();
  }
  if (settings_.is_verified && !is_judged_without_dropout(contender, data_->problem())) {
    verify(contender, outcome, record);
  }
  if (outcome.emulation && outcome.emulation->findings_total > 0) {
    record.status = Status::kIncorrect;
    record.reason = Reason{"E-FINDING", describe(outcome.emulation->findings.front())};
  }
  if (settings_.timing.is_wanted) time(contender, record);
  outputs_ = std::move(outcome.outputs);
}

bool CaseRunner::is_judged_without_dropout(const Contender& contender,
                                           const Problem& problem) const {
  return settings_.is_verified && contender.draws_own_dropout_mask &&
         problem.dropout().threshold != 0;
}

void CaseRunner::judge_without_dropout(const SweepCase& sweep_case, CaseRecord& record) {
  RunSettings settings = settings_;
  settings.timing.is_wanted = false;
  settings.keeps_outputs = false;
  settings.before_case = {};
  SweepCase without_dropout = sweep_case;
  without_dropout.problem.dropout_p = 0.0f;
  CaseRecord judged = CaseRunner(device_, std::move(settings)).run(without_dropout);
  record.status = judged.status;
  record.reason = std::move(judged.reason);
  record.accuracy = std::move(judged.accuracy);
  record.gradient_accuracy = std::move(judged.gradient_accuracy);
  record.warnings.push_back({"W-OWN-DROPOUT-MASK",
                             "the kernel draws a dropout mask of its own: its errors are those of "
                             "the same problem without dropout",
                             std::nullopt});
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

void CaseRunner::time(const Contender& contender, CaseRecord& record) {
  std::vector<const Contender*> contenders = {&contender};
  const bool is_reference = record.role == Role::kReference;
  if (!is_reference && record.valid && rival_ != nullptr) contenders.push_back(rival_);
  const std::vector<Timing> timings = loaded_->time(contenders, run_options(record));
  if (timings.empty()) return;
  record_timing(timings.front(), device_.info(), record);
  if (!record.valid || record.status != Status::kOk) return;
  // An fp32 computation is a check, not a rival: the baseline has the kernels' dtype.
  if (is_reference && record.accumulator) rival_ = &contender;
  if (timings.size() == 1 || rival_ == nullptr) return;
  record.speedup = speedup_over(rival_->name, summarize_samples(timings.back().samples_ms),
                                *record.time_ms, true);
}

}  // namespace sparkbench
