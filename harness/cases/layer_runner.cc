#include "harness/cases/layer_runner.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "harness/cases/layer_verdict.h"
#include "harness/cases/outcome_record.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/registry.h"
#include "reference/encoder/half_attention.h"
#include "results/record/case_id.h"

namespace sparkbench {
namespace {

/// Of each arithmetic's products, so that a layer takes some seconds on two cores.
constexpr double kMostCheckedFlops = 3e9;

Problem first_sequence(const CaseProblem& problem) {
  Problem first = problem;
  first.batch = 1;
  return first;
}

bool layer_has_backward(const CaseProblem& problem) { return problem.pass != Pass::kForward; }

/// Without what does not change the exact result.
std::string oracle_key_of(const CaseProblem& problem) {
  CaseProblem alike = problem;
  alike.layer->rest = Rest::kFused;
  return make_problem_key(alike);
}

void warn_of_sample(const CaseProblem& problem, const LayerRows& rows, CaseRecord& record) {
  const std::uint64_t tokens =
      static_cast<std::uint64_t>(problem.batch) * static_cast<std::uint64_t>(problem.seqlen_q);
  if (rows.count == tokens) return;
  record.warnings.push_back({"W-SAMPLED-ROWS",
                             "the oracle checked rows of the first sequence, the last of them",
                             static_cast<double>(rows.count)});
}

}  // namespace

struct LayerRunner::Checked {
  std::string key;
  Problem problem;
  LayerShape shape;
  LayerRows rows;
  LayerTensors tensors;
  std::optional<LayerCheck> check;
  std::map<std::pair<std::string_view, Accumulator>, std::vector<PartError>> unfused;
};

std::optional<LayerRows> rows_to_check(const CaseProblem& problem) {
  const Problem first = first_sequence(problem);
  const auto seqlen = static_cast<std::size_t>(problem.seqlen_q);
  const LayerRows all{0, seqlen};
  const auto flops = [&](const LayerRows& rows) {
    return layer_check_flops(*problem.layer, first, rows, layer_has_backward(problem));
  };
  if (flops(all) <= kMostCheckedFlops) return all;
  const std::size_t tile = (seqlen - 1) / kSampleRows * kSampleRows;
  const LayerRows last{tile, seqlen - tile};
  if (!layer_has_backward(problem) && flops(last) <= kMostCheckedFlops) return last;
  return std::nullopt;
}

void LayerRunner::prepare(const CaseProblem& problem, const OwnLayer* own) {
  const std::string key = oracle_key_of(problem);
  if (checked_ != nullptr && checked_->key == key) return;
  checked_ = nullptr;
  auto made = std::make_shared<Checked>();
  made->key = key;
  made->problem = first_sequence(problem);
  made->shape = *problem.layer;
  made->rows = rows_to_check(problem).value();
  made->tensors = own != nullptr ? own->tensors
                                 : make_layer_tensors(made->shape, problem.seqlen_q, problem.seed);
  made->check.emplace(made->shape, made->problem, made->tensors, made->rows,
                      layer_has_backward(problem));
  checked_ = std::move(made);
}

const std::vector<PartError>& LayerRunner::unfused_errors(const TensorCores& tensor_cores) {
  const std::pair key(tensor_cores.profile.name, tensor_cores.accumulator);
  const auto found = checked_->unfused.find(key);
  if (found != checked_->unfused.end()) return found->second;
  const TensorCores of_products{tensor_cores.profile};
  return checked_->unfused
      .emplace(key, checked_->check->errors(of_products, Rest::kUnfused,
                                            unfused_attention(checked_->problem, tensor_cores)))
      .first->second;
}

void LayerRunner::run(const Contender& contender, const RunSettings& settings, CaseRecord& record) {
  if (!settings.is_verified) return;
  prepare(record.problem, settings.own_layer.get());
  const ArithmeticProfile& profile = contender.arithmetic();
  const AttentionKernel* const kernel = find_attention_kernel(record.kernel);
  std::vector<Finding> findings;
  const auto note = [&](const EmulationReport& report) {
    findings.insert(findings.end(), report.findings.begin(), report.findings.end());
  };
  const AttentionFunctions<float> attention =
      kernel != nullptr ? emulated_attention(checked_->problem, *kernel, profile, note)
                        : unfused_attention(checked_->problem, {profile});
  const Rest rest = record.problem.layer->rest;
  const std::vector<PartError> errors = checked_->check->errors({profile}, rest, attention);
  const auto& same =
      unfused_errors({profile, contender.accumulator().value_or(Accumulator::kFp32)});
  const auto& fp32 = unfused_errors({profile, Accumulator::kFp32});
  warn_of_sample(record.problem, checked_->rows, record);
  const bool is_measure = kernel == nullptr && rest == Rest::kUnfused;
  judge_layer(errors, {fp32, &same}, is_measure, settings.tolerance, record);
  if (!findings.empty()) {
    record.status = Status::kIncorrect;
    record.reason = Reason{"E-FINDING", describe(findings.front())};
  }
}

}  // namespace sparkbench
