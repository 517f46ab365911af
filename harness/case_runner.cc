#include "harness/case_runner.h"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <stdexcept>
#include <utility>

#include "harness/outcome_record.h"
#include "results/case_id.h"
#include "sweeps/memory.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

/// A reference is measured by itself: three roundings to fp16 of values up to the largest |want|.
constexpr Tolerance kReferenceTolerance{.ratio = 0.0, .floor = 0x1p-8};

MemoryPrediction predict_memory(const Contender& contender, const Problem& problem) {
  if (contender.role == Role::kFused) return predict_fused_memory(problem);
  return predict_unfused_memory(problem, contender.name == "cublas-fp32" ? 4 : 2);
}

std::string repro_line(const SweepCase& sweep_case, const Device& device,
                       const RunSettings& settings) {
  const Problem& problem = sweep_case.problem;
  return fmt::format(
      "sparkbench sweep --device {} --kernel {} --pass fwd --headdim {} --seqlen {} --seqlen-k {} "
      "--causal {} --dropout {} --batch {} --heads {} --seed {} --input {}",
      device.name(), sweep_case.kernel, problem.head_dim, problem.seqlen_q, problem.seqlen_k,
      problem.causal, problem.dropout_p, problem.batch, problem.heads, problem.seed,
      settings.method.input);
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
  const MemoryPrediction memory = predict_memory(contender, problem);
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
  data_ =
      std::make_unique<ProblemData>(sweep_case.problem, settings_.input,
                                    make_check_plan(sweep_case.problem, device_.check_budget()));
  loaded_ = device_.load(*data_);
  problem_id_ = id;
}

void CaseRunner::measure(const Contender& contender, CaseRecord& record) {
  const RunOutcome outcome = loaded_->run(contender, settings_.timing);
  record_outcome(outcome, device_.info(), record);
  if (record.emulation) {
    const auto tiles = static_cast<std::uint64_t>(
        (data_->problem().seqlen_q + contender.kernel->query_rows_per_tile - 1) /
        contender.kernel->query_rows_per_tile);
    record.emulation->tiles_total = tiles * static_cast<std::uint64_t>(data_->problem().heads) *
                                    static_cast<std::uint64_t>(data_->problem().batch);
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
  const ErrorMetrics error = error_metrics(outcome.rows, data_->exact());
  const ErrorMetrics& unfused = data_->unfused_error(
      device_.tensor_cores(), contender.accumulator.value_or(Accumulator::kFp32));
  record.accuracy = make_accuracy(error, data_->problem(), data_->plan().rows);
  record.accuracy->error_ratio = error_ratio(error, unfused);
  record.accuracy->bitwise_repeatable = outcome.is_bitwise_repeatable;
  const DropoutMaskSummary& mask = data_->dropout_mask();
  record.accuracy->dropout_kept_fraction = mask.kept_fraction;
  record.accuracy->mask_hash = to_hex(mask.hash);
  if (data_->plan().is_sampled(data_->problem())) {
    record.warnings.push_back(
        {"W-SAMPLED-ROWS",
         "the oracle checked a sample of the query rows, spread over heads and positions",
         static_cast<double>(data_->plan().rows.size())});
  }
  const std::string why = contender.role == Role::kReference
                              ? why_incorrect(error, ErrorMetrics{}, kReferenceTolerance)
                              : why_incorrect(error, unfused, settings_.tolerance);
  if (why.empty()) return;
  record.status = Status::kIncorrect;
  record.reason = Reason{"E-INCORRECT", why};
  record.tflops.reset();
  record.peak_fraction.reset();
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
