#include "results/study/accuracy_study.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "results/record/case_id.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

/// The study's cases, with the accuracy of only its output.
std::vector<CaseRecord> verified_cases(const RunRecord& run, const AccuracyStudy& study) {
  std::vector<CaseRecord> cases;
  for (const CaseRecord& record : run.cases) {
    const Accuracy* accuracy = find_accuracy(record, study.output);
    if (!is_of_study(study, record.problem) || accuracy == nullptr) continue;
    cases.push_back(record);
    cases.back().accuracy = *accuracy;
    cases.back().gradient_accuracy.reset();
  }
  return cases;
}

std::vector<StudiedKernel> group_by_kernel(const std::vector<CaseRecord>& cases) {
  std::vector<StudiedKernel> kernels;
  for (const Role role : {Role::kFused, Role::kReference}) {
    for (const std::string& name : kernels_of(cases, role)) {
      StudiedKernel kernel{name, name, role, {}};
      std::copy_if(cases.begin(), cases.end(), std::back_inserter(kernel.cases),
                   [&](const CaseRecord& record) { return record.kernel == name; });
      kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

/// Orders the cases by problem, so that the i-th cases of all kernels have the same problem.
void keep_shared_problems(std::vector<StudiedKernel>& kernels) {
  std::map<std::string, std::set<std::string>> verified_by;
  for (const StudiedKernel& kernel : kernels) {
    for (const CaseRecord& record : kernel.cases) {
      verified_by[make_problem_key(record.problem)].insert(kernel.name);
    }
  }
  for (StudiedKernel& kernel : kernels) {
    std::map<std::string, CaseRecord> shared;
    for (const CaseRecord& record : kernel.cases) {
      const std::string key = make_problem_key(record.problem);
      if (verified_by[key].size() == kernels.size()) shared.emplace(key, record);
    }
    kernel.cases.clear();
    for (auto& [key, record] : shared) kernel.cases.push_back(std::move(record));
  }
}

/// Order in the table: FP16-ACC, FP32-ACC, other fused kernels, the baselines, and last the
/// references that are only a check (they use no tensor cores, hence no accumulator).
int rank(const StudiedKernel& kernel) {
  const auto accumulator = kernel.cases.front().accumulator;
  if (kernel.role == Role::kReference) return accumulator ? 3 : 4;
  if (!accumulator) return 2;
  return *accumulator == Accumulator::kFp16 ? 0 : 1;
}

void set_titles(std::vector<StudiedKernel>& kernels) {
  for (StudiedKernel& kernel : kernels) {
    const int place = rank(kernel);
    const auto shares = [&](const StudiedKernel& other) { return rank(other) == place; };
    if (place > 1 || std::count_if(kernels.begin(), kernels.end(), shares) > 1) continue;
    kernel.title = place == 0 ? "FP16-ACC" : "FP32-ACC";
  }
}

std::vector<StudiedKernel> studied_kernels(const RunRecord& run, const AccuracyStudy& study) {
  std::vector<StudiedKernel> kernels = group_by_kernel(verified_cases(run, study));
  std::stable_sort(
      kernels.begin(), kernels.end(),
      [](const StudiedKernel& a, const StudiedKernel& b) { return rank(a) < rank(b); });
  set_titles(kernels);
  keep_shared_problems(kernels);
  return kernels;
}

/// Each with its smallest scale, in the order of their first case.
std::vector<std::pair<std::optional<std::string>, int>> inputs_of(const RunRecord& run) {
  std::vector<std::pair<std::optional<std::string>, int>> inputs;
  for (const CaseRecord& record : run.cases) {
    const int scale = record.problem.input_scale.value_or(1);
    const auto known = std::find_if(inputs.begin(), inputs.end(), [&](const auto& input) {
      return input.first == record.problem.input;
    });
    if (known == inputs.end()) {
      inputs.emplace_back(record.problem.input, scale);
    } else {
      known->second = std::min(known->second, scale);
    }
  }
  return inputs;
}

}  // namespace

bool is_of_study(const AccuracyStudy& study, const CaseProblem& problem) {
  return problem.pass == study.pass && problem.input == study.input &&
         problem.input_scale.value_or(1) == study.input_scale;
}

std::vector<AccuracyStudy> study_accuracy(const RunRecord& run) {
  std::vector<AccuracyStudy> studies;
  const auto add_study = [&](AccuracyStudy study) {
    study.kernels = studied_kernels(run, study);
    if (!study.kernels.empty()) studies.push_back(std::move(study));
  };
  const auto inputs = inputs_of(run);
  for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kForwardBackward}) {
    for (const char* output : {"o", "dq", "dk", "dv"}) {
      for (const auto& [input, scale] : inputs) add_study({pass, output, input, scale, {}});
    }
  }
  return studies;
}

}  // namespace sparkbench
