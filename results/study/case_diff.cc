#include "results/study/case_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "results/record/enum_names.h"

namespace sparkbench {
namespace {

struct NamedVerdict {
  Verdict verdict;
  std::string_view name;
};

constexpr std::array<NamedVerdict, 12> kVerdicts = {{{Verdict::kFailed, "failed"},
                                                     {Verdict::kIncorrect, "incorrect"},
                                                     {Verdict::kMissing, "missing"},
                                                     {Verdict::kWorse, "worse"},
                                                     {Verdict::kMemory, "memory"},
                                                     {Verdict::kSlow, "slow"},
                                                     {Verdict::kClock, "clock"},
                                                     {Verdict::kAmbiguous, "ambiguous"},
                                                     {Verdict::kBits, "bits"},
                                                     {Verdict::kNew, "new"},
                                                     {Verdict::kFast, "fast"},
                                                     {Verdict::kSame, "same"}}};

bool has_result(const CaseRecord* record) {
  return record != nullptr && (is_usable(*record) || record->status == Status::kIncorrect);
}

std::string reason_of(const CaseRecord& record) {
  return record.reason ? fmt::format("{}: {}", record.reason->code, record.reason->message)
                       : "no reason is given";
}

/// For a case without two correct results to compare.
std::optional<CaseFinding> compare_states(const CaseRecord* first, const CaseRecord* second) {
  if (second == nullptr) {
    if (has_result(first)) return CaseFinding{Verdict::kMissing, "there is no such case"};
    return CaseFinding{Verdict::kMissing, "there is no such case; the first run has no result"};
  }
  if (second->status == Status::kFailed) {
    const bool is_new = first == nullptr || first->status != Status::kFailed;
    return CaseFinding{Verdict::kFailed, (is_new ? "" : "as before, ") + reason_of(*second)};
  }
  if (second->status == Status::kIncorrect) {
    return CaseFinding{Verdict::kIncorrect, reason_of(*second)};
  }
  if (!is_attempted(*second)) {
    if (has_result(first)) {
      return CaseFinding{Verdict::kMissing,
                         fmt::format("{}, {}", name_of(second->status), reason_of(*second))};
    }
    return CaseFinding{Verdict::kSame, "no result in either run"};
  }
  if (first == nullptr) return CaseFinding{Verdict::kNew, "the first run has no such case"};
  if (is_usable(*first)) return std::nullopt;
  return CaseFinding{Verdict::kNew,
                     fmt::format("the first run's is no correct result, {}", reason_of(*first))};
}

void compare_results(const CaseSide& first, const CaseSide& second, const DiffRules& rules,
                     CaseDiff& diff) {
  diff.findings.push_back(compare_times(first, second, rules, diff));
  compare_errors(*first.record, *second.record, diff);
  compare_memory(*first.record, *second.record, diff);
  compare_bits(*first.record, *second.record, diff);
  const bool was_verified = first.record->status == Status::kOk;
  if (was_verified && second.record->status == Status::kUnverified && !rules.by_time_alone) {
    diff.findings.push_back(
        {Verdict::kMissing, "the first run's result was checked, this was not"});
  }
  if (diff.findings.size() > 1) {
    std::erase_if(diff.findings, [](const CaseFinding& f) { return f.verdict == Verdict::kSame; });
  }
  std::stable_sort(
      diff.findings.begin(), diff.findings.end(),
      [](const CaseFinding& a, const CaseFinding& b) { return a.verdict < b.verdict; });
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict)).name;
}

std::vector<Verdict> all_verdicts() {
  std::vector<Verdict> verdicts;
  verdicts.reserve(kVerdicts.size());
  for (const NamedVerdict& each : kVerdicts) verdicts.push_back(each.verdict);
  return verdicts;
}

bool CaseDiff::has(Verdict verdict) const {
  return std::any_of(findings.begin(), findings.end(),
                     [verdict](const CaseFinding& finding) { return finding.verdict == verdict; });
}

CaseDiff diff_case(const CaseSide& first, const CaseSide& second, const DiffRules& rules) {
  const CaseRecord& shown = second.record != nullptr ? *second.record : *first.record;
  CaseDiff diff{.id = shown.id, .repro = shown.repro};
  if (first.record != nullptr && first.record->time_ms) {
    diff.first_ms = first.record->time_ms->median;
  }
  if (second.record != nullptr && second.record->time_ms) {
    diff.second_ms = second.record->time_ms->median;
  }
  if (auto finding = compare_states(first.record, second.record)) {
    diff.findings.push_back(std::move(*finding));
  } else {
    compare_results(first, second, rules, diff);
  }
  return diff;
}

}  // namespace sparkbench
