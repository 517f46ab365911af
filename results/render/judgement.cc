#include "results/render/judgement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "results/record/case_id.h"
#include "results/study/kernel_statistics.h"
#include "sweeps/axes.h"
#include "sweeps/preset.h"

namespace sparkbench {
namespace {

using Cases = std::vector<const CaseRecord*>;

constexpr std::size_t kMostRivals = 3;
constexpr double kLarge = 1e300;  // above any error

Cases cases_of(const RunRecord& run, const std::string& kernel) {
  Cases cases;
  for (const CaseRecord& record : run.cases) {
    if (record.kernel == kernel) cases.push_back(&record);
  }
  return cases;
}

int count(const Cases& cases, Status status) {
  return static_cast<int>(std::ranges::count_if(
      cases, [&](const CaseRecord* record) { return record->status == status; }));
}

std::vector<Judgement::Part> parts_of(const Cases& cases) {
  std::vector<Judgement::Part> parts;
  for (const CaseRecord* record : cases) {
    const std::string name = record->problem.model.value_or("all");
    if (parts.empty() || parts.back().name != name) parts.push_back({name});
    const bool is_right = record->status == Status::kOk;
    const bool is_wrong = record->status == Status::kIncorrect || record->status == Status::kFailed;
    parts.back().right += is_right ? 1 : 0;
    parts.back().tried += is_right || is_wrong ? 1 : 0;
  }
  return parts;
}

/// The pairs of a row and a key, of all heads.
double size_of(const CaseProblem& problem) {
  return static_cast<double>(problem.batch) * problem.heads * problem.seqlen_q * problem.seqlen_k *
         problem.head_dim;
}

/// The worst element of the output that the reason names ("dq: rmse ..."), or of the worst output.
std::optional<Judgement::Element> worst_element(const CaseRecord& record) {
  const Accuracy* worst = nullptr;
  for (const Accuracy* accuracy : accuracies_of(record)) {
    const auto badness = [&](const Accuracy& of) {
      if (record.reason && record.reason->message.starts_with(of.output + ": ")) return 2 * kLarge;
      return of.nonfinite > 0 ? kLarge : of.error_over_unfused.value_or(0.0);
    };
    if (worst == nullptr || badness(*accuracy) > badness(*worst)) worst = accuracy;
  }
  if (worst == nullptr || worst->worst_index.empty()) return std::nullopt;
  return Judgement::Element{worst->output,
                            {worst->worst_index.begin(), worst->worst_index.end()},
                            worst->worst_got,
                            worst->worst_want};
}

std::optional<Judgement::WrongCase> smallest_wrong_of(const Cases& cases) {
  const CaseRecord* smallest = nullptr;
  for (const CaseRecord* record : cases) {
    if (record->status != Status::kIncorrect && record->status != Status::kFailed) continue;
    if (smallest == nullptr || size_of(record->problem) < size_of(smallest->problem)) {
      smallest = record;
    }
  }
  if (smallest == nullptr) return std::nullopt;
  return Judgement::WrongCase{smallest->id, smallest->reason->code, smallest->reason->message,
                              smallest->repro, worst_element(*smallest)};
}

Judgement::Error error_of(const Cases& cases) {
  std::vector<double> over, rel_l1;
  for (const CaseRecord* record : cases) {
    if (record->status != Status::kOk) continue;
    // Without a finite one: all is exact, or 0 is.
    const auto ratio = worst_error_over_unfused(*record), error = worst_rel_l1(*record);
    if (ratio && *ratio > 0) over.push_back(*ratio);
    if (error && std::isfinite(*error)) rel_l1.push_back(*error);
  }
  return {largest(rel_l1), geometric_mean(over), largest(over)};
}

Judgement::Bits bits_of(const Cases& cases) {
  Judgement::Bits bits;
  for (const CaseRecord* record : cases) {
    if (record->sampling) bits.checked_launches += record->sampling->checked.value_or(0);
    bool is_compared = false;
    for (const Accuracy* accuracy : accuracies_of(*record)) {
      if (!accuracy->bitwise_repeatable) continue;
      is_compared = true;
      if (!*accuracy->bitwise_repeatable) ++bits.differ[accuracy->output];
    }
    bits.compared += is_compared ? 1 : 0;
  }
  return bits;
}

/// The other fused kernels on the same problem that are right, the fastest first.
std::vector<Judgement::Rival> rivals_of(const RunRecord& run, const CaseRecord& record) {
  const std::string key = make_problem_key(record.problem);
  std::vector<Judgement::Rival> rivals;
  for (const CaseRecord& other : run.cases) {
    if (other.kernel == record.kernel || !other.time_ms || !is_usable(other) || !other.valid)
      continue;
    if (make_problem_key(other.problem) == key)
      rivals.push_back({other.kernel, other.time_ms->median});
  }
  std::ranges::sort(rivals, {}, &Judgement::Rival::time_ms);
  if (rivals.size() > kMostRivals) rivals.resize(kMostRivals);
  return rivals;
}

/// Cases that compare times: those that verify, where another judged kernel has a time, too, are
/// too small to say which is faster.
std::vector<Judgement::Speed> speeds_of(const RunRecord& run, const Cases& cases) {
  std::vector<Judgement::Speed> speeds;
  for (const CaseRecord* record : cases) {
    if (!compares_times(*record) || !record->time_ms || !is_usable(*record)) continue;
    std::vector<Judgement::Rival> rivals = rivals_of(run, *record);
    if (rivals.empty()) continue;
    const CaseProblem& problem = record->problem;
    speeds.push_back(
        {std::string(name_of(problem.pass)), std::string(name_of(problem.element)),
         std::string(name_of(problem.layout)), text_of_value(find_axis("mask").access.get(problem)),
         problem.head_dim, problem.seqlen_q, record->time_ms->median, record->tflops,
         record->memory_bytes->peak.value_or(record->memory_bytes->predicted), std::move(rivals)});
  }
  return speeds;
}

}  // namespace

bool compares_times(const CaseRecord& record) {
  return std::ranges::any_of(find_preset("judge").models, [&](const ModelShape& part) {
    return part.compares && part.name == record.problem.model;
  });
}

std::string Judgement::verdict() const {
  if (tried() == 0) return "not judged";
  return incorrect + failed == 0 ? "right" : "wrong";
}

Judgement judgement_of(const RunRecord& run, const std::string& kernel) {
  const Cases cases = cases_of(run, kernel);
  Judgement judgement;
  judgement.kernel = kernel;
  judgement.ok = count(cases, Status::kOk);
  judgement.incorrect = count(cases, Status::kIncorrect);
  judgement.failed = count(cases, Status::kFailed);
  judgement.parts = parts_of(cases);
  judgement.traits = common_traits(run, kernel);
  judgement.smallest_wrong = smallest_wrong_of(cases);
  judgement.error = error_of(cases);
  judgement.bits = bits_of(cases);
  judgement.skipped = skip_reasons(cases);
  judgement.speeds = speeds_of(run, cases);
  return judgement;
}

}  // namespace sparkbench
