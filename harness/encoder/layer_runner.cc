#include "harness/encoder/layer_runner.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "harness/encoder/layer_verdict.h"
#include "harness/encoder/own_layer.h"
#include "harness/plugin/plugin_layer.h"
#include "harness/run/outcome_record.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/registry.h"
#include "reference/encoder/half_attention.h"
#include "results/record/case_id.h"

namespace sparkbench {
namespace {

/// For each arithmetic's products, so that a layer takes some seconds on two cores.
constexpr double kMostCheckedFlops = 3e9;

bool layer_has_backward(const CaseProblem& problem) { return problem.pass != Pass::kForward; }

/// Drops the fields that do not affect the exact result.
std::string oracle_key_of(const CaseProblem& problem) {
  CaseProblem alike = problem;
  alike.layer->rest = Rest::kFused;
  return make_problem_key(alike);
}

double flops_of(const CaseProblem& problem, const Problem& sequence, const LayerRows& rows) {
  return layer_check_flops(*problem.layer, sequence, rows, layer_has_backward(problem));
}

LayerRows all_rows_of_layer(const Problem& problem) { return {0, problem.total_q()}; }

Problem first_sequence(const Problem& problem) {
  Problem first = problem;
  first.batch = 1;
  return first;
}

/// The first `count`, as varlen; each keeps its batch index.
Problem first_sequences(const Problem& problem, int count) {
  std::vector<SequenceLength> lengths;
  lengths.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    lengths.push_back({problem.lengths->q(i), problem.lengths->k(i)});
  }
  return with_lengths(problem, std::make_shared<const SequenceLengths>(lengths));
}

/// How many leading sequences are affordable; at least up to the first that is not empty.
int affordable_sequences(const CaseProblem& problem) {
  double flops = 0;
  bool has_tokens = false;
  for (int i = 0; i < problem.batch; ++i) {
    const Problem alone = problem.alone(i);
    flops += flops_of(problem, alone, all_rows_of_layer(alone));
    if (has_tokens && flops > kMostCheckedFlops) return i;
    has_tokens = has_tokens || alone.seqlen_q > 0;
  }
  return problem.batch;
}

/// For sequences of which at most the last has too many rows to check all.
std::optional<LayerRows> rows_to_check(const CaseProblem& problem, const Problem& sequences) {
  const Problem last = sequences.lengths ? sequences.alone(sequences.batch - 1) : sequences;
  const auto seqlen = static_cast<std::size_t>(last.seqlen_q);
  const bool is_alone = sequences.total_q() == seqlen;
  if (!is_alone || flops_of(problem, last, {0, seqlen}) <= kMostCheckedFlops) {
    return all_rows_of_layer(sequences);
  }
  const std::size_t tile = (seqlen - 1) / kSampleRows * kSampleRows;
  const LayerRows rows{tile, seqlen - tile};
  if (!layer_has_backward(problem) && flops_of(problem, last, rows) <= kMostCheckedFlops) {
    return rows;
  }
  return std::nullopt;
}

LayerShape shape_with(LayerShape shape, const CaseRecord& record) {
  shape.rest = record.problem.layer->rest;
  return shape;
}

void warn_of_sample(const CaseProblem& problem, const LayerPart& part, CaseRecord& record) {
  if (part.is_everything) return;
  const bool are_all_of_some = part.rows.count == part.problem.total_q();
  record.warnings.push_back(
      {"W-SAMPLED-ROWS",
       problem.lengths && are_all_of_some
           ? "the oracle checked the first of the sequences"
           : "the oracle checked rows of the first sequence, the last of them",
       static_cast<double>(part.rows.count)});
}

}  // namespace

struct LayerRunner::Checked {
  std::string key;
  LayerPart part;
  LayerShape shape;
  LayerTensors tensors;
  std::optional<LayerCheck> check;
  std::map<std::pair<std::string_view, Accumulator>, std::vector<PartError>> unfused;
};

std::optional<LayerPart> part_to_check(const CaseProblem& problem) {
  LayerPart part{problem.lengths ? first_sequences(problem, affordable_sequences(problem))
                                 : first_sequence(problem),
                 {}};
  const std::optional<LayerRows> rows = rows_to_check(problem, part.problem);
  if (!rows) return std::nullopt;
  part.rows = *rows;
  part.is_everything = rows->count == problem.Problem::total_q();
  return part;
}

void LayerRunner::prepare(const CaseProblem& problem, const OwnLayer* own) {
  const std::string key = oracle_key_of(problem);
  if (checked_ != nullptr && checked_->key == key) return;
  checked_ = nullptr;
  auto made = std::make_shared<Checked>();
  made->key = key;
  made->part = part_to_check(problem).value();
  made->shape = *problem.layer;
  const Problem& checked = made->part.problem;
  made->tensors =
      own != nullptr
          ? own->tensors
          : make_layer_tensors(made->shape, static_cast<int>(checked.total_q()), problem.seed);
  made->check.emplace(made->shape, checked, made->tensors, made->part.rows,
                      layer_has_backward(problem));
  checked_ = std::move(made);
}

const std::vector<PartError>& LayerRunner::unfused_errors(const TensorCores& tensor_cores) {
  const std::pair key(tensor_cores.profile.name, tensor_cores.accumulator);
  const auto found = checked_->unfused.find(key);
  if (found != checked_->unfused.end()) return found->second;
  const TensorCores of_products{tensor_cores.profile};
  return checked_->unfused
      .emplace(key,
               checked_->check->errors(of_products, Rest::kUnfused,
                                       unfused_attention(checked_->part.problem, tensor_cores)))
      .first->second;
}

void LayerRunner::run(const Candidate& candidate, const RunSettings& settings, CaseRecord& record) {
  if (!settings.is_verified) {
    record.status = record.predicted ? Status::kPredicted : Status::kSkipped;
    record.reason =
        Reason{"E-ONLY-PREDICTED", "of a layer an emulated device does nothing but check it"};
    return;
  }
  prepare(record.problem, dynamic_cast<const OwnLayer*>(settings.own.get()));
  const ArithmeticProfile& profile = candidate.arithmetic();
  if (const PluginLayer* const whole = whole_layer(candidate)) {
    const RunOptions options{record.problem.pass, settings.is_deterministic, false,
                             settings.method};
    const LayerOutputs outputs = whole->run_on_host(
        shape_with(checked_->shape, record), checked_->part.problem, checked_->tensors, options);
    const auto& unfused = unfused_errors({profile, Accumulator::kFp32});
    warn_of_sample(record.problem, checked_->part, record);
    return judge_layer(checked_->check->errors(outputs), {unfused, &unfused}, false,
                       settings.tolerance(), record);
  }
  const AttentionKernel* const kernel = find_attention_kernel(record.kernel);
  std::vector<Finding> findings;
  const auto note = [&](const EmulationReport& report) {
    findings.insert(findings.end(), report.findings.begin(), report.findings.end());
  };
  const AttentionFunctions<float> attention =
      kernel != nullptr
          ? emulated_attention(checked_->part.problem, *kernel, candidate.emulation_options(), note)
          : unfused_attention(checked_->part.problem, {profile});
  const Rest rest = record.problem.layer->rest;
  const std::vector<PartError> errors = checked_->check->errors({profile}, rest, attention);
  const auto& same =
      unfused_errors({profile, candidate.accumulator().value_or(Accumulator::kFp32)});
  const auto& fp32 = unfused_errors({profile, Accumulator::kFp32});
  warn_of_sample(record.problem, checked_->part, record);
  const bool is_measure = kernel == nullptr && rest == Rest::kUnfused;
  judge_layer(errors, {fp32, &same}, is_measure, settings.tolerance(), record);
  if (!findings.empty()) {
    record.status = Status::kIncorrect;
    record.reason = Reason{"E-FINDING", describe(findings.front())};
  }
}

}  // namespace sparkbench
