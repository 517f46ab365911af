#include "results/record/speedup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

#include "kernels/base/meant_names.h"
#include "results/record/case_id.h"

namespace sparkbench {
namespace {

constexpr std::string_view kNoSpeedup = "W-NO-SPEEDUP", kOtherCard = "W-OTHER-CARD";

/// Cases are comparable if these agree; times do not depend on the seed. Two machines both have a
/// cuda:0, so a GPU is identified by its UUID if known.
std::string comparison_key(const CaseRecord& record) {
  const std::string uuid = record.provenance ? record.provenance->device_uuid.value_or("") : "";
  return fmt::format("{} on {} {}", make_problem_key(record.problem), record.device.value_or(""),
                     uuid);
}

/// "" for a case with a usable time.
std::string why_not_timed(const CaseRecord& record) {
  if (record.status == Status::kFailed) return "failed";
  if (!is_attempted(record)) return "was skipped";
  if (record.status == Status::kIncorrect) return "is incorrect";
  if (!record.time_ms) return "was not timed";
  return record.valid ? "" : "has no valid time";
}

/// Equal for cases on two cards of one model; empty if the model is unknown.
std::string model_key(const CaseRecord& record) {
  if (!record.provenance || record.provenance->device_name.empty()) return {};
  return fmt::format("{} on {}", make_problem_key(record.problem), record.provenance->device_name);
}

/// The cases of one kernel, by problem and card.
class ReferenceCases {
 public:
  ReferenceCases(const std::string& kernel, const std::vector<CaseRecord>& cases) {
    for (const CaseRecord& record : cases) {
      if (record.kernel != kernel) continue;
      of_card_.insert_or_assign(comparison_key(record), &record);
      of_model_.insert_or_assign(model_key(record), &record);
    }
    of_model_.erase("");
  }

  bool empty() const { return of_card_.empty(); }

  /// On the same card, or else on one of the same model; null if there is none.
  const CaseRecord* find(const CaseRecord& record) const {
    if (const auto same = of_card_.find(comparison_key(record)); same != of_card_.end()) {
      return same->second;
    }
    const auto like = of_model_.find(model_key(record));
    return like != of_model_.end() ? like->second : nullptr;
  }

 private:
  std::map<std::string, const CaseRecord*> of_card_, of_model_;
};

[[noreturn]] void reject_unknown(const std::string& reference,
                                 const std::vector<CaseRecord>& cases) {
  std::set<std::string> names;
  for (const CaseRecord& record : cases) names.insert(record.kernel);
  throw std::invalid_argument(
      fmt::format("no case of '{}' in the run{}; it has {}", reference,
                  did_you_mean(meant_names(reference, names)),
                  names.empty() ? "no cases" : fmt::format("{}", fmt::join(names, ", "))));
}

/// Sets the speed-up of a timed case, or returns why it has none.
std::string compare(const std::string& reference, const CaseRecord* theirs, CaseRecord& record) {
  if (theirs == nullptr) return "has no case of this problem and device";
  if (std::string why = why_not_timed(*theirs); !why.empty()) return why + " on this problem";
  const bool is_measured_so =
      record.speedup && record.speedup->interleaved && record.speedup->over == reference;
  if (!is_measured_so) {
    record.speedup = speedup_over(reference, *theirs->time_ms, *record.time_ms, false);
  }
  return "";
}

}  // namespace

Speedup speedup_over(const std::string& over, const TimeMs& theirs, const TimeMs& ours,
                     bool is_interleaved) {
  const double ratio = theirs.median / ours.median;
  const double doubt = std::hypot(theirs.stdev / theirs.mean, ours.stdev / ours.mean);
  return {over, ratio, ratio * doubt, theirs.median, is_interleaved};
}

void compare_with_reference(const std::string& reference, RunRecord& run) {
  const ReferenceCases references(reference, run.cases);
  if (references.empty()) reject_unknown(reference, run.cases);
  int compared = 0;
  std::string why_none = "nothing else was timed";
  for (CaseRecord& record : run.cases) {
    std::erase_if(record.warnings, [](const Warning& each) {
      return each.code == kNoSpeedup || each.code == kOtherCard;
    });
    if (record.kernel == reference || !why_not_timed(record).empty()) {
      record.speedup.reset();
      continue;
    }
    const CaseRecord* const theirs = references.find(record);
    const std::string why = compare(reference, theirs, record);
    if (why.empty()) {
      ++compared;
      if (comparison_key(*theirs) != comparison_key(record)) {
        record.warnings.push_back({std::string(kOtherCard),
                                   reference + " was timed on another card of this model",
                                   std::nullopt});
      }
      continue;
    }
    record.speedup.reset();
    why_none = fmt::format("{} {}", reference, why);
    record.warnings.push_back({std::string(kNoSpeedup), why_none, std::nullopt});
  }
  if (compared == 0) {
    throw std::invalid_argument(
        fmt::format("'{}' can be compared with none of the run's {} cases: {}", reference,
                    run.cases.size(), why_none));
  }
}

void TimedReferences::compare(CaseRecord& record) {
  if (!record.time_ms || !record.valid || !is_usable(record)) return;
  const std::string key = comparison_key(record);
  if (record.role == Role::kReference) {
    if (record.accumulator) references_.insert_or_assign(key, record);
    return;
  }
  const auto reference = references_.find(key);
  if (reference == references_.end() || record.speedup) return;
  record.speedup =
      speedup_over(reference->second.kernel, *reference->second.time_ms, *record.time_ms, false);
}

}  // namespace sparkbench
