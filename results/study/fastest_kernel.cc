#include "results/study/fastest_kernel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "results/record/case_id.h"
#include "results/study/kernel_statistics.h"
#include "results/study/statistics.h"

namespace sparkbench {
namespace {

/// The same values as in the diff of two runs (time_diff.cc).
constexpr double kErrorsOfALead = 3;
constexpr double kFromRunToRun = 0.003;

/// The time of one case.
struct Taken {
  double low = 0, likely = 0, high = 0;  // ms
  std::optional<double> error;           // relative error of a measured median
};

/// By problem and device model.
using TakenByProblem = std::map<std::string, Taken>;

struct KernelTimes {
  std::string kernel;
  TakenByProblem taken;
};

std::optional<double> error_of_median(const CaseRecord& record, const Method& method) {
  const std::vector<double>& samples = record.time_ms->samples;
  if (samples.size() < 2) {
    return record.sampling ? std::optional(record.sampling->median_error) : std::nullopt;
  }
  const int block = method.block_samples.value_or(1);
  return block > 1 ? relative_median_error_of_blocks(samples, block)
                   : relative_median_error(samples);
}

bool has_time(const CaseRecord& record) {
  return record.valid && record.time_ms && record.time_ms->median > 0;
}
bool has_prediction(const CaseRecord& record) {
  return record.predicted && record.predicted->time_ms.likely > 0;
}

/// An unchecked case is not known to be correct.
bool is_measured_case(const CaseRecord& record) {
  return record.status == Status::kOk && has_time(record);
}
bool is_predicted_case(const CaseRecord& record) {
  const bool is_correct = record.status == Status::kOk || record.status == Status::kPredicted;
  return is_correct && has_prediction(record);
}

std::string key_of(const CaseRecord& record) {
  const std::string device = record.provenance ? record.provenance->device_name : "";
  return make_problem_key(record.problem) + " on " + device;
}

std::optional<Taken> taken_by(const CaseRecord& record, const Method& method, bool is_measured) {
  if (is_measured && is_measured_case(record)) {
    const double ms = record.time_ms->median;
    return Taken{ms, ms, ms, error_of_median(record, method)};
  }
  if (is_measured || !is_predicted_case(record)) return std::nullopt;
  const TimeBand& ms = record.predicted->time_ms;
  return Taken{ms.low, ms.likely, ms.high, std::nullopt};
}

/// Whether the cases have only predictions.
bool did_nothing_run(const std::vector<CaseRecord>& cases) {
  return std::ranges::all_of(cases, [](const CaseRecord& record) {
    return record.status == Status::kPredicted || record.status == Status::kSkipped;
  });
}

std::set<std::string> wrong_kernels(const std::vector<CaseRecord>& cases) {
  std::set<std::string> wrong;
  for (const CaseRecord& record : cases) {
    if (record.status == Status::kIncorrect || record.status == Status::kFailed) {
      wrong.insert(record.kernel);
    }
  }
  return wrong;
}

std::vector<KernelTimes> times_by_kernel(const std::vector<CaseRecord>& cases, const Method& method,
                                         bool is_measured) {
  const std::set<std::string> wrong = wrong_kernels(cases);
  std::vector<KernelTimes> kernels;
  const bool has_run = !did_nothing_run(cases);
  for (const CaseRecord& record : cases) {
    if (has_run && record.status == Status::kPredicted) continue;
    const auto taken = taken_by(record, method, is_measured);
    if (!taken || wrong.contains(record.kernel)) continue;
    auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const KernelTimes& each) {
      return each.kernel == record.kernel;
    });
    if (kernel == kernels.end()) {
      kernel = kernels.insert(kernels.end(), {record.kernel, {}});
    }
    kernel->taken.emplace(key_of(record), *taken);
  }
  return kernels;
}

double mean_log_ms(const KernelTimes& kernel) {
  double sum = 0;
  for (const auto& [key, taken] : kernel.taken) sum += std::log(taken.likely);
  return sum / static_cast<double>(kernel.taken.size());
}

/// Those on at least half as many problems as the candidate with the most. The names of the others
/// go to `left_out`.
std::vector<KernelTimes> with_many_problems(const std::vector<KernelTimes>& kernels,
                                            std::vector<std::string>& left_out) {
  std::size_t most = 0;
  for (const KernelTimes& each : kernels) most = std::max(most, each.taken.size());
  std::vector<KernelTimes> rivals;
  for (const KernelTimes& each : kernels) {
    if (2 * each.taken.size() >= most) {
      rivals.push_back(each);
    } else {
      left_out.push_back(each.kernel);
    }
  }
  return rivals;
}

/// Keeps the problems that all candidates share.
void keep_shared_problems(std::vector<KernelTimes>& rivals) {
  const std::vector<KernelTimes> all = rivals;
  for (KernelTimes& rival : rivals) {
    std::erase_if(rival.taken, [&](const auto& problem) {
      return !std::ranges::all_of(
          all, [&](const KernelTimes& each) { return each.taken.contains(problem.first); });
    });
  }
}

/// Both must have the same problems.
Lead lead_over(const KernelTimes& other, const KernelTimes& first, bool is_measured) {
  double low = 0, likely = 0, high = 0, variance = 0;
  bool has_errors = true;
  for (const auto& [key, ours] : first.taken) {
    const Taken& theirs = other.taken.at(key);
    low += std::log(theirs.low / ours.high);
    likely += std::log(theirs.likely / ours.likely);
    high += std::log(theirs.high / ours.low);
    has_errors = has_errors && ours.error && theirs.error;
    variance += std::pow(ours.error.value_or(0), 2) + std::pow(theirs.error.value_or(0), 2);
  }
  const auto count = static_cast<double>(first.taken.size());
  Lead lead{other.kernel, std::exp(likely / count), std::nullopt, std::nullopt};
  if (!is_measured) {
    lead.low = std::exp(low / count);
    lead.high = std::exp(high / count);
  } else if (has_errors) {
    const double doubt = kErrorsOfALead * std::hypot(std::sqrt(variance) / count, kFromRunToRun);
    lead.low = lead.likely / (1 + doubt);
    lead.high = lead.likely * (1 + doubt);
  }
  return lead;
}

/// The baseline of the kernel's speed-ups; "" if there are several, or none.
std::string base_of(const std::vector<CaseRecord>& cases, const std::string& kernel,
                    bool is_measured) {
  std::set<std::string> bases;
  for (const CaseRecord& record : cases) {
    if (record.kernel != kernel) continue;
    if (is_measured && record.speedup) bases.insert(record.speedup->over);
    if (!is_measured && record.predicted && record.predicted->speedup) {
      bases.insert(record.predicted->speedup->over);
    }
  }
  return bases.size() == 1 ? *bases.begin() : "";
}

/// From the model's own band, which accounts for errors that both times share.
std::optional<Lead> predicted_lead(const std::vector<CaseRecord>& cases, const KernelTimes& first,
                                   const std::string& base) {
  std::vector<double> low, likely, high;
  for (const CaseRecord& record : cases) {
    if (record.kernel != first.kernel || !is_predicted_case(record)) continue;
    if (!first.taken.contains(key_of(record))) continue;
    if (!record.predicted->speedup) return std::nullopt;
    low.push_back(record.predicted->speedup->low);
    likely.push_back(record.predicted->speedup->likely);
    high.push_back(record.predicted->speedup->high);
  }
  const auto mean = geometric_mean(likely);
  if (!mean) return std::nullopt;
  return Lead{base, *mean, geometric_mean(low), geometric_mean(high)};
}

void add_base(const std::vector<CaseRecord>& cases, const std::vector<KernelTimes>& rivals,
              const KernelTimes& first, FastestKernel& fastest) {
  const std::string base = base_of(cases, first.kernel, fastest.is_measured);
  if (base.empty() || fastest.is_baseline) return;
  if (!fastest.is_measured) fastest.over_base = predicted_lead(cases, first, base);
  for (const KernelTimes& each : rivals) {
    if (fastest.is_measured && each.kernel == base) {
      fastest.over_base = lead_over(each, first, true);
    }
  }
}

const CaseRecord& first_case_of(const std::vector<CaseRecord>& cases, const std::string& kernel) {
  return *std::ranges::find(cases, kernel, &CaseRecord::kernel);
}

void add_rivals(const std::vector<CaseRecord>& cases, const std::vector<KernelTimes>& rivals,
                FastestKernel& fastest) {
  const auto error = mean_error_over_unfused(cases, fastest.kernel);
  for (const KernelTimes& each : rivals) {
    if (each.kernel == fastest.kernel) continue;
    const CaseRecord& record = first_case_of(cases, each.kernel);
    Rival rival{lead_over(each, rivals.front(), fastest.is_measured), record.role,
                record.accumulator, std::nullopt};
    const auto own = mean_error_over_unfused(cases, each.kernel);
    if (error && own) rival.error_ratio = own->ratio / error->ratio;
    fastest.rivals.push_back(std::move(rival));
  }
}

/// Uses the problem whose unfused computation takes the most memory.
void add_memory(const std::vector<CaseRecord>& cases, const KernelTimes& first,
                FastestKernel& fastest) {
  for (const CaseRecord& record : cases) {
    if (record.kernel != first.kernel || !record.memory_bytes || !record.memory_bytes->unfused ||
        !first.taken.contains(key_of(record))) {
      continue;
    }
    const MemoryBytes& bytes = *record.memory_bytes;
    if (fastest.memory && fastest.memory->unfused >= *bytes.unfused) continue;
    fastest.memory = MemoryPair{bytes.peak.value_or(bytes.predicted), *bytes.unfused};
  }
}

void add_errors(const std::vector<CaseRecord>& cases, FastestKernel& fastest) {
  std::vector<double> errors;
  for (const CaseRecord& record : cases) {
    if (record.kernel != fastest.kernel || record.status != Status::kOk) continue;
    if (const auto error = worst_rel_l1(record)) errors.push_back(*error);
  }
  fastest.worst_rel_l1 = largest(errors);
  fastest.layer_error = mean_layer_error(cases, fastest.kernel);
  if (const auto mean = mean_error_over_unfused(cases, fastest.kernel)) {
    fastest.error_over_unfused = mean->ratio;
  }
}

std::string chip_of(const std::vector<CaseRecord>& cases, const std::string& kernel) {
  for (const CaseRecord& record : cases) {
    if (record.kernel == kernel && record.predicted) return record.predicted->chip;
  }
  return "";
}

/// Why no correct case has a time or a prediction; "" if no other case has one either.
std::string why_nobody_competes(const std::vector<CaseRecord>& cases) {
  const auto any_of = [&](Status status) {
    return std::ranges::any_of(cases, [status](const CaseRecord& record) {
      return record.status == status && (has_time(record) || has_prediction(record));
    });
  };
  return any_of(Status::kUnverified) ? "no result was checked" : "";
}

/// Why the rivals are not compared on their shared problems; "" if they are.
std::string why_not_compared(const std::vector<KernelTimes>& rivals, bool has_others,
                             bool is_complete) {
  if (rivals.front().taken.empty()) return "the kernels ran on no problem that all of them share";
  if (rivals.size() > 1) return "";
  if (has_others) return "the kernels ran on unlike problems";
  return is_complete ? "" : "the run was stopped before another kernel had a result";
}

std::optional<FastestKernel> fastest_of(const std::vector<CaseRecord>& cases, const RunRecord& run,
                                        bool is_measured) {
  if (cases.empty()) return std::nullopt;
  FastestKernel fastest{.pass = cases.front().problem.pass,
                        .element = cases.front().problem.element,
                        .layout = cases.front().problem.layout,
                        .is_measured = is_measured};
  const std::vector<KernelTimes> kernels = times_by_kernel(cases, run.method, is_measured);
  if (kernels.empty()) {
    fastest.why_none = why_nobody_competes(cases);
    return fastest.why_none.empty() ? std::nullopt : std::optional(fastest);
  }
  std::set<std::string> problems;
  for (const KernelTimes& each : kernels) {
    for (const auto& [key, taken] : each.taken) problems.insert(key);
  }
  std::vector<KernelTimes> rivals = with_many_problems(kernels, fastest.left_out);
  keep_shared_problems(rivals);
  fastest.why_none = why_not_compared(rivals, !fastest.left_out.empty(), run.run.complete);
  if (!fastest.why_none.empty()) return fastest;
  std::stable_sort(rivals.begin(), rivals.end(), [](const KernelTimes& a, const KernelTimes& b) {
    return mean_log_ms(a) < mean_log_ms(b);
  });
  const KernelTimes& first = rivals.front();
  fastest.kernel = first.kernel;
  if (!is_measured) fastest.chip = chip_of(cases, first.kernel);
  fastest.problems = static_cast<int>(first.taken.size());
  fastest.all_problems = static_cast<int>(problems.size());
  fastest.is_complete = run.run.complete;
  fastest.nothing_ran = did_nothing_run(cases);
  fastest.is_baseline = first_case_of(cases, first.kernel).role == Role::kReference;
  add_base(cases, rivals, first, fastest);
  add_rivals(cases, rivals, fastest);
  add_memory(cases, first, fastest);
  add_errors(cases, fastest);
  return fastest;
}

}  // namespace

std::vector<FastestKernel> find_fastest(const RunRecord& run) {
  std::map<std::tuple<TensorLayout, ElementType, Pass>, std::vector<CaseRecord>> groups;
  for (const CaseRecord& record : run.cases) {
    const CaseProblem& problem = record.problem;
    groups[{problem.layout, problem.element, problem.pass}].push_back(record);
  }
  std::vector<FastestKernel> found;
  for (const auto& [key, cases] : groups) {
    const bool is_measured = std::any_of(cases.begin(), cases.end(), is_measured_case);
    if (auto fastest = fastest_of(cases, run, is_measured)) found.push_back(*fastest);
  }
  return found;
}

}  // namespace sparkbench
