#include "results/record/case_record.h"

namespace sparkbench {

ProblemRecord make_problem_record(Pass pass, const Problem& problem) {
  ProblemRecord record;
  record.pass = pass;
  record.batch = problem.batch;
  record.heads = problem.heads;
  record.seqlen_q = problem.seqlen_q;
  record.seqlen_k = problem.seqlen_k;
  record.head_dim = problem.head_dim;
  record.causal = problem.mask == MaskSpec::causal();
  record.dropout_p = problem.dropout_p;
  record.dropout_p_applied = problem.dropout().applied_p();
  record.scale = problem.scale();
  record.seed = problem.seed;
  return record;
}

Problem make_problem(const ProblemRecord& record) {
  Problem problem;
  problem.batch = record.batch;
  problem.heads = record.heads;
  problem.seqlen_q = record.seqlen_q;
  problem.seqlen_k = record.seqlen_k;
  problem.head_dim = record.head_dim;
  problem.mask = MaskSpec::causal_if(record.causal);
  problem.dropout_p = record.dropout_p;
  problem.softmax_scale = record.scale;
  problem.seed = record.seed;
  return problem;
}

std::vector<const Accuracy*> accuracies_of(const CaseRecord& record) {
  if (record.accuracy) return {&*record.accuracy};
  if (!record.gradient_accuracy) return {};
  const GradientAccuracy& gradients = *record.gradient_accuracy;
  return {&gradients.dq, &gradients.dk, &gradients.dv};
}

const Accuracy* find_accuracy(const CaseRecord& record, std::string_view output) {
  for (const Accuracy* accuracy : accuracies_of(record)) {
    if (accuracy->output == output) return accuracy;
  }
  return nullptr;
}

}  // namespace sparkbench
