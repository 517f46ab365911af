#include "results/record/case_record.h"

namespace sparkbench {

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
