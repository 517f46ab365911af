#include "results/accuracy_study.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "results/case_id.h"
#include "results/kernel_statistics.h"

namespace sparkbench {
namespace {

StudiedKernel make_studied(const RunRecord& run, const std::string& name, Role role) {
  StudiedKernel kernel{name, name, role, {}};
  for (const CaseRecord& record : run.cases) {
    if (record.kernel == name && record.accuracy) kernel.cases.push_back(record);
  }
  return kernel;
}

std::vector<StudiedKernel> verified_kernels(const RunRecord& run) {
  std::vector<StudiedKernel> kernels;
  for (const Role role : {Role::kFused, Role::kReference}) {
    for (const std::string& name : kernels_of(run.cases, role)) {
      StudiedKernel kernel = make_studied(run, name, role);
      if (!kernel.cases.empty()) kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

/// Orders the cases by problem, so that the i-th of every kernel is of the same one.
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

/// Place in the table: FP16-ACC, FP32-ACC, other fused kernels, the references that kernels
/// replace, and last those that only check (they use no tensor cores, hence no accumulator).
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

}  // namespace

std::vector<StudiedKernel> study_accuracy(const RunRecord& run) {
  std::vector<StudiedKernel> kernels = verified_kernels(run);
  std::stable_sort(
      kernels.begin(), kernels.end(),
      [](const StudiedKernel& a, const StudiedKernel& b) { return rank(a) < rank(b); });
  set_titles(kernels);
  keep_shared_problems(kernels);
  return kernels;
}

}  // namespace sparkbench
