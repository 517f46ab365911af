#include "results/study/case_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/base/meant_names.h"
#include "results/record/enum_names.h"
#include "sweeps/layer_axes.h"
#include "sweeps/list_flag.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// "headdim" from "--headdim", the axis that records call head_dim.
std::string word_of_flag(const Axis& axis) { return std::string(axis.flag).substr(2); }

/// Names that select cases, in addition to the kernel and the problems' axes.
constexpr std::string_view kOther[] = {"model", "status", "device"};

struct Condition {
  std::string axis, values;
};

Condition parse_condition(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw UsageError(fmt::format("--where: '{}' is not AXIS=VALUE; allowed axes: {}", text,
                                 fmt::join(choosing_axes(), ", ")));
  }
  return {choosing_axis("--where", text.substr(0, equals)), text.substr(equals + 1)};
}

std::vector<std::string> values_on(std::string_view axis, const std::vector<CaseRecord>& cases) {
  std::vector<std::string> values;
  for (const CaseRecord& record : cases) {
    std::string value = value_on(axis, record);
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(std::move(value));
    }
  }
  return values;
}

/// The values that a condition names, including globs. A value may contain commas, as a mask with
/// per-head patterns does.
std::vector<std::string> values_wanted(const Condition& condition,
                                       const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), condition.values) != known.end()) {
    return {condition.values};
  }
  std::vector<std::string> wanted;
  for (const std::string_view glob : split_list("--where " + condition.axis, condition.values)) {
    const std::size_t before = wanted.size();
    std::copy_if(known.begin(), known.end(), std::back_inserter(wanted),
                 [&](const std::string& value) { return glob_matches(glob, value); });
    if (wanted.size() > before) continue;
    throw UsageError(fmt::format("--where: no case has {}={}{}; the run has {}", condition.axis,
                                 glob, did_you_mean(meant_names(glob, known)),
                                 fmt::join(known, ", ")));
  }
  return wanted;
}

}  // namespace

const Axis* find_choosing_axis(std::string_view name) {
  for (const Axis* axis : problem_axes_of(Workload::kLayer)) {
    if (name == axis->name || name == axis->heading || name == word_of_flag(*axis)) return axis;
  }
  return nullptr;
}

std::vector<std::string> choosing_axes() {
  std::vector<std::string> names = {"kernel"};
  for (const Axis* axis : problem_axes_of(Workload::kLayer)) names.emplace_back(axis->name);
  for (const std::string_view name : kOther) names.emplace_back(name);
  return names;
}

std::string choosing_axis(std::string_view flag, std::string_view typed) {
  if (typed == "kernel" || std::ranges::find(kOther, typed) != std::end(kOther)) {
    return std::string(typed);
  }
  if (const Axis* const axis = find_choosing_axis(typed)) return axis->heading;
  std::vector<std::string> spoken = choosing_axes();
  for (const Axis* axis : problem_axes_of(Workload::kLayer)) {
    for (std::string word : {word_of_flag(*axis), std::string(axis->heading)}) {
      const bool is_new = std::find(spoken.begin(), spoken.end(), word) == spoken.end();
      if (is_new) spoken.push_back(std::move(word));
    }
  }
  throw UsageError(unknown_name_message(flag, typed, spoken));
}

std::string value_on(std::string_view axis, const CaseRecord& record) {
  if (axis == "kernel") return record.kernel;
  if (axis == "status") return std::string(name_of(record.status));
  if (axis == "model") return record.problem.model.value_or("");
  if (axis == "device") {
    return record.provenance ? record.provenance->device_name : record.device.value_or("");
  }
  const Axis* const found = find_choosing_axis(axis);
  return found == nullptr ? "" : text_of_value(found->access.get(record.problem));
}

void check_conditions(const std::vector<std::string>& conditions) {
  for (const std::string& condition : conditions) parse_condition(condition);
}

std::vector<CaseRecord> cases_where(const std::vector<std::string>& conditions,
                                    const std::vector<CaseRecord>& cases) {
  std::vector<CaseRecord> chosen = cases;
  for (const std::string& text : conditions) {
    const Condition condition = parse_condition(text);
    const auto wanted = values_wanted(condition, values_on(condition.axis, cases));
    std::erase_if(chosen, [&](const CaseRecord& record) {
      return std::find(wanted.begin(), wanted.end(), value_on(condition.axis, record)) ==
             wanted.end();
    });
    if (chosen.empty()) {
      throw UsageError(fmt::format("--where: no case has all of {}", fmt::join(conditions, ", ")));
    }
  }
  return chosen;
}

std::vector<CaseGroup> groups_by(std::string_view axis, const std::vector<CaseRecord>& cases) {
  std::vector<CaseGroup> groups;
  for (const CaseRecord& record : cases) {
    const std::string value = value_on(axis, record);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const CaseGroup& each) { return each.value == value; });
    if (group == groups.end()) group = groups.insert(groups.end(), {value, {}});
    group->cases.push_back(record);
  }
  return groups;
}

}  // namespace sparkbench
