#include "harness/run/nothing_ran.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "results/study/skip_reasons.h"
#include "sweeps/list_flag.h"
#include "sweeps/names.h"

namespace sparkbench {
namespace {

constexpr std::size_t kMostReasons = 3;  // per line

/// Whether a case ran, would have with more memory or time, or was only to be predicted.
bool could_run(const CaseRecord& record) {
  return is_attempted(record) || record.status == Status::kPredicted ||
         (record.reason &&
          (record.reason->code == "E-OOM-PREDICTED" || record.reason->code == "E-ONLY-PREDICTED"));
}

/// "volta-x has no backward pass (4 cases); ...", the most frequent first.
std::string reasons_of(const std::vector<const CaseRecord*>& cases) {
  const std::vector<SkipReason> reasons = skip_reasons(cases);
  if (reasons.empty()) return "without a reason on record";
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    const int count = reasons[i].count;
    text += (i == 0 ? "" : "; ") + reasons[i].message;
    if (reasons.size() > 1) text += fmt::format(" ({} case{})", count, count == 1 ? "" : "s");
  }
  if (reasons.size() > kMostReasons) {
    const std::size_t others = reasons.size() - kMostReasons;
    text += fmt::format("; and {} other reason{}", others, others == 1 ? "" : "s");
  }
  return text;
}

std::optional<std::string> find_resolved(const RunRecord& run, const std::string& option) {
  const auto found = run.run.resolved.find(option);
  return found == run.run.resolved.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::vector<std::string> why_nothing_ran(const RunRecord& run) {
  const auto globs = find_resolved(run, "kernel");
  if (!globs || !run.run.complete || find_resolved(run, "shard")) return {};
  std::vector<std::string> whys;
  for (const std::string_view glob : split_list("--kernel", *globs)) {
    std::vector<const CaseRecord*> cases;
    for (const CaseRecord& record : run.cases) {
      if (glob_matches(glob, record.kernel)) cases.push_back(&record);
    }
    const bool any_could = std::any_of(cases.begin(), cases.end(),
                                       [](const CaseRecord* record) { return could_run(*record); });
    if (any_could || cases.empty()) continue;
    whys.push_back(fmt::format("--kernel: '{}': {}: {}", glob,
                               cases.size() == 1
                                   ? std::string("its one case did not run")
                                   : fmt::format("none of its {} cases ran", cases.size()),
                               reasons_of(cases)));
  }
  return whys;
}

}  // namespace sparkbench
