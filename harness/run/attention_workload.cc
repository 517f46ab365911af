// Attention as a workload: a candidate on a problem, judged, then timed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/run/case_verdict.h"
#include "harness/run/case_workload.h"
#include "harness/run/outcome_record.h"
#include "harness/run/problems/input_warnings.h"
#include "harness/timing/timing_record.h"
#include "kernels/base/saturating.h"
#include "results/record/case_id.h"
#include "results/record/speedup.h"
#include "results/render/number_format.h"
#include "results/study/statistics.h"
#include "sweeps/memory.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

MemoryBytes predict_memory(const Candidate& candidate, const CaseProblem& problem,
                           bool is_deterministic) {
  const Pass pass = problem.pass;
  const std::uint64_t io = tensor_bytes(pass, problem);
  const std::uint64_t workspace = candidate.case_workspace_bytes(problem, is_deterministic);
  const std::uint64_t unfused = unfused_workspace_bytes(pass, problem, sizeof(Half));
  return {io, workspace, std::nullopt, saturating_sum({io, workspace}),
          saturating_sum({io, unfused})};
}

/// In addition to a kernel's tensors and workspace, the emulated machine stores who wrote each
/// byte, and the exact result: at most 1.63 times as much, over all passes with 16k rows of 16
/// heads; and copies of the tensors in another layout. The reference on the host stores no scores;
/// it was observed to need less than the tensors.
std::uint64_t host_bytes_needed(const CaseRecord& record) {
  if (record.role == Role::kReference) return record.memory_bytes->io;
  const double times = record.problem.layout == TensorLayout::kBshd ? 1.7 : 2.7;
  return static_cast<std::uint64_t>(times * static_cast<double>(record.memory_bytes->predicted));
}

double share_of(std::size_t rows, double all) {
  return std::min(1.0, static_cast<double>(rows) / std::max(1.0, all));
}

/// The share of all FLOPs for the check plan's rows: at least a minimum of rows, however long
/// sequences are. A backward pass computes O and LSE, 2 of its 5 products, for the rows that it
/// depends on.
double sampled_share(const CaseProblem& problem, const CheckBudget& budget) {
  const auto rows = static_cast<double>(problem.lse_elements());
  if (problem.pass == Pass::kForward) {
    return share_of(make_check_plan(problem, budget).rows.size(), rows);
  }
  constexpr double kForwardShare = 0.4;
  const GradientPlan plan = make_gradient_plan(problem, budget);
  return kForwardShare * share_of(plan.forward_rows.size(), rows) +
         (1 - kForwardShare) * share_of(plan.rows.dq.size(), rows);
}

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

/// Whether an exact result is finite, and over what the host keeps of a bf16 output.
bool exceeds_the_host(ProblemData& data, GradientData* gradients, Pass pass) {
  if (data.element() != ElementType::kBf16) return false;
  constexpr double kMost = 65520;  // rounds to infinity
  const auto is_over = [](const std::vector<double>& exact) {
    return std::ranges::any_of(
        exact, [](double value) { return std::isfinite(value) && std::abs(value) >= kMost; });
  };
  if (pass != Pass::kBackward && is_over(data.exact().o)) return true;
  if (gradients == nullptr) return false;
  const ExactGradients& exact = gradients->exact();
  return is_over(exact.dq) || is_over(exact.dk) || is_over(exact.dv);
}

class AttentionWorkload : public CaseWorkload {
 public:
  AttentionWorkload(Device& device, RunSettings settings);

  bool computes(const CaseProblem& problem) const override { return !problem.layer; }
  const char* command() const override { return input_.own != nullptr ? "run" : "sweep"; }
  void start(const Candidate& candidate, CaseRecord& record) const override;
  std::optional<Reason> why_not_run(const CaseRecord& record) const override;
  double host_flops(const CaseRecord& planned) const override;

  void run(const Candidate& candidate, bool is_verified, CaseRecord& record) override;
  void forget() override { problem_id_.clear(); }
  std::optional<PassOutputs> take_outputs() override {
    return std::exchange(outputs_, std::nullopt);
  }

 private:
  void prepare_problem(const CaseProblem& problem);
  bool inputs_overflow() const;
  RunOptions run_options(const CaseRecord& record) const;
  void measure(const Candidate& candidate, bool is_verified, CaseRecord& record);
  void verify(const Candidate& candidate, const RunOutcome& outcome, CaseRecord& record);
  void time(const Candidate& candidate, CaseRecord& record);
  void time_parts(const Candidate& candidate, CaseRecord& record);

  Device& device_;
  RunSettings settings_;
  InputSpec input_;
  std::string problem_id_;  // of data_
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<GradientData> gradients_;             // null for a forward pass
  std::optional<std::vector<Warning>> input_warnings_;  // none before they were looked for
  std::unique_ptr<LoadedProblem> loaded_;
  const Candidate* baseline_ = nullptr;  // of speed-ups: timed on this problem
  std::optional<PassOutputs> outputs_;
  mutable std::map<std::string, double> sampled_shares_;  // by problem
};

}  // namespace

AttentionWorkload::AttentionWorkload(Device& device, RunSettings settings)
    : device_(device), settings_(std::move(settings)), input_(settings_.input) {
  input_.own = std::dynamic_pointer_cast<const OwnTensors>(settings_.own);
}

void AttentionWorkload::start(const Candidate& candidate, CaseRecord& record) const {
  const CaseProblem& problem = record.problem;
  record.flops = useful_flops(problem.pass, problem);
  record.bytes = compulsory_bytes(problem.pass, problem);
  record.memory_bytes = predict_memory(candidate, problem, settings_.is_deterministic);
}

std::optional<Reason> AttentionWorkload::why_not_run(const CaseRecord& record) const {
  const DeviceInfo& info = device_.info();
  const std::uint64_t needed = info.kind == DeviceKind::kEmulated ? host_bytes_needed(record)
                                                                  : record.memory_bytes->predicted;
  const std::optional<std::uint64_t> there_is =
      info.memory_available_bytes ? info.memory_available_bytes : info.memory_bytes;
  if (there_is && needed > *there_is) {
    return Reason{"E-OOM-PREDICTED", fmt::format("needs {}, {} has {}", format_memory(needed),
                                                 device_.name(), format_memory(*there_is))};
  }
  return std::nullopt;
}

double AttentionWorkload::host_flops(const CaseRecord& planned) const {
  const auto flops = static_cast<double>(planned.flops);
  const CheckBudget budget = device_.check_budget();
  const bool is_gpu = device_.info().kind == DeviceKind::kGpu;
  if (flops <= (is_gpu ? budget.oracle_flops : budget.emulate_flops)) return flops;
  const bool is_whole = std::ranges::any_of(device_.candidates(), [&](const auto& candidate) {
    return candidate->name() == planned.kernel && !candidate->computes_samples();
  });
  if (!is_gpu && is_whole) return flops;
  // Once a problem: to choose the rows reads every pair of a mask that is an expression.
  const auto [share, is_new] = sampled_shares_.try_emplace(make_problem_key(planned.problem));
  if (is_new) share->second = sampled_share(planned.problem, budget);
  return flops * share->second;
}

void AttentionWorkload::run(const Candidate& candidate, bool is_verified, CaseRecord& record) {
  prepare_problem(record.problem);
  const bool is_rounded_again =
      input_.own != nullptr && record.problem.element == ElementType::kBf16;
  if ((record.problem.input_scale.value_or(1) != 1 || is_rounded_again) && inputs_overflow()) {
    record.status = Status::kSkipped;
    record.reason =
        Reason{"E-INPUT-OVERFLOW", "an input is over 65504, fp16's largest, at this scale or type"};
    return;
  }
  measure(candidate, is_verified, record);
}

void AttentionWorkload::prepare_problem(const CaseProblem& problem) {
  const std::string id = make_problem_key(problem);
  if (id == problem_id_) return;
  problem_id_.clear();
  input_warnings_.reset();
  baseline_ = nullptr;
  loaded_.reset();
  gradients_.reset();
  InputSpec input = input_;
  input.element = problem.element;
  input.layout = problem.layout;
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

RunOptions AttentionWorkload::run_options(const CaseRecord& record) const {
  return {record.problem.pass, settings_.is_deterministic, settings_.keeps_outputs,
          settings_.method};
}

bool AttentionWorkload::inputs_overflow() const {
  const ForwardInputs inputs = data_->inputs();
  return !(all_finite(inputs.q) && all_finite(inputs.k) && all_finite(inputs.v) &&
           (gradients_ == nullptr || all_finite(gradients_->d_o())));
}

void AttentionWorkload::measure(const Candidate& candidate, bool is_verified, CaseRecord& record) {
  if (!settings_.is_verified) {
    record.status = Status::kUnverified;
    record.reason = Reason{"E-UNVERIFIED", "its result was not checked"};
  }
  if (settings_.is_profiled) return loaded_->profile(candidate, run_options(record));
  candidate.add_mask_plan(record.problem, *record.mask_work);
  RunOutcome outcome = loaded_->run(candidate, run_options(record));
  if (outcome.outputs && !(candidate.writes_lse() && outcome.has_lse)) {
    std::ranges::fill(outcome.outputs->lse, std::numeric_limits<float>::quiet_NaN());
  }
  record_outcome(outcome, device_.info(), record);
  if (record.emulation) {
    record.emulation->tiles_total = count_tiles(data_->problem());
    record.emulation->tiles_run =
        data_->plan().tiles.empty() ? record.emulation->tiles_total : data_->plan().tiles.size();
  }
  if (is_verified) verify(candidate, outcome, record);
  if (outcome.emulation && outcome.emulation->findings_total > 0) {
    record.status = Status::kIncorrect;
    record.reason = Reason{"E-FINDING", describe(outcome.emulation->findings.front())};
  }
  const bool must_repeat = settings_.is_deterministic && is_verified &&
                           record.problem.pass != Pass::kForward &&
                           record.status != Status::kIncorrect;
  if (must_repeat && outcome.is_bitwise_repeatable == false) {
    record.status = Status::kIncorrect;
    record.reason = Reason{"E-NOT-DETERMINISTIC",
                           "two runs on the same inputs gave different bits, with --deterministic"};
  }
  if (!outcome.violation.empty()) {
    record.status = Status::kIncorrect;
    record.reason = Reason{"E-WRITES", "the kernel wrote " + outcome.violation};
  }
  if (is_timed(settings_.method) && record.status != Status::kIncorrect) {
    time(candidate, record);
    if (settings_.times_parts) time_parts(candidate, record);
  }
  outputs_ = std::move(outcome.outputs);
}

void AttentionWorkload::verify(const Candidate& candidate, const RunOutcome& outcome,
                               CaseRecord& record) {
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
  if (exceeds_the_host(*data_, gradients_.get(), record.problem.pass)) {
    record.status = Status::kUnverified;
    record.reason =
        Reason{"E-OUTPUT-OVERFLOW",
               "an exact result is over 65504, the largest bf16 output that is checked"};
    return;
  }
  const std::string why =
      judge_outputs({candidate, tolerance_in(data_->element(), settings_.tolerance())}, *data_,
                    gradients_.get(), outcome, record);
  if (why.empty()) return;
  record.status = Status::kIncorrect;
  record.reason = Reason{"E-INCORRECT", why};
}

void AttentionWorkload::time_parts(const Candidate& candidate, CaseRecord& record) {
  record.parts = loaded_->time_parts(candidate, run_options(record));
  const std::optional<double> peak_tflops = device_.info().peak_tflops;
  if (!record.parts || !peak_tflops || !record.accumulator) return;  // fp32 uses no tensor cores
  for (PassPart& part : record.parts->of) {
    if (part.flops == 0) continue;
    part.peak_fraction = static_cast<double>(part.flops) / part.ms * 1e-9 / *peak_tflops;
  }
}

void AttentionWorkload::time(const Candidate& candidate, CaseRecord& record) {
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

std::unique_ptr<CaseWorkload> make_attention_workload(Device& device, const RunSettings& settings) {
  return std::make_unique<AttentionWorkload>(device, settings);
}

}  // namespace sparkbench
