#include "results/render/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record/case_id.h"
#include "results/render/number_format.h"
#include "results/study/kernel_statistics.h"
#include "results/study/skip_reasons.h"
#include "sweeps/axes.h"

namespace sparkbench {
namespace {

using Cases = std::vector<const CaseRecord*>;

constexpr std::size_t kMostTraits = 3, kMostSkipReasons = 4, kMostRivals = 3;

Cases cases_of(const RunRecord& run, const std::string& kernel) {
  Cases cases;
  for (const CaseRecord& record : run.cases) {
    if (record.kernel == kernel) cases.push_back(&record);
  }
  return cases;
}

bool is_wrong(const CaseRecord& record) {
  return record.status == Status::kIncorrect || record.status == Status::kFailed;
}

int count(const Cases& cases, Status status) {
  return static_cast<int>(std::ranges::count_if(
      cases, [&](const CaseRecord* record) { return record->status == status; }));
}

std::string mask_of(const CaseRecord& record) {
  return text_of_value(find_axis("mask").access.get(record.problem));
}
bool has_mask(const CaseRecord& record, std::string_view kind) {
  return mask_of(record).starts_with(kind);
}

struct Trait {
  std::string_view what;
  bool (*has)(const CaseRecord&);
};

constexpr Trait kTraits[] = {
    {"a backward pass", [](const CaseRecord& r) { return r.problem.pass != Pass::kForward; }},
    {"a forward pass", [](const CaseRecord& r) { return r.problem.pass != Pass::kBackward; }},
    {"a forward and a backward pass",
     [](const CaseRecord& r) { return r.problem.pass == Pass::kForwardBackward; }},
    {"a mask", [](const CaseRecord& r) { return !has_mask(r, "full"); }},
    {"no mask", [](const CaseRecord& r) { return has_mask(r, "full"); }},
    {"the causal mask", [](const CaseRecord& r) { return mask_of(r) == "causal"; }},
    {"a window", [](const CaseRecord& r) { return has_mask(r, "window"); }},
    {"a band", [](const CaseRecord& r) { return has_mask(r, "band"); }},
    {"a prefix", [](const CaseRecord& r) { return has_mask(r, "prefix"); }},
    {"a mask that is a pattern",
     [](const CaseRecord& r) { return r.problem.pattern_spec.has_value(); }},
    {"a mask that differs from head to head",
     [](const CaseRecord& r) { return mask_of(r).find('/') != std::string::npos; }},
    {"seqlen_q != seqlen_k",
     [](const CaseRecord& r) { return r.problem.seqlen_q != r.problem.seqlen_k; }},
    {"seqlen_q > seqlen_k",
     [](const CaseRecord& r) { return r.problem.seqlen_q > r.problem.seqlen_k; }},
    {"rows that see no key",
     [](const CaseRecord& r) {
       return r.problem.seqlen_q > r.problem.seqlen_k && !has_mask(r, "full");
     }},
    {"a seqlen_q that is no multiple of 16",
     [](const CaseRecord& r) { return r.problem.seqlen_q % 16 != 0; }},
    {"a seqlen_k that is no multiple of 16",
     [](const CaseRecord& r) { return r.problem.seqlen_k % 16 != 0; }},
    {"a seqlen_k that is no multiple of 64",
     [](const CaseRecord& r) { return r.problem.seqlen_k % 64 != 0; }},
    {"more than 16 keys", [](const CaseRecord& r) { return r.problem.seqlen_k > 16; }},
    {"more than 64 keys", [](const CaseRecord& r) { return r.problem.seqlen_k > 64; }},
    {"more than 64 rows", [](const CaseRecord& r) { return r.problem.seqlen_q > 64; }},
    {"grouped heads", [](const CaseRecord& r) { return r.problem.group_size() > 1; }},
    {"grouped heads and several key heads",
     [](const CaseRecord& r) { return r.problem.group_size() > 1 && r.problem.key_heads() > 1; }},
    {"several sequences", [](const CaseRecord& r) { return r.problem.batch > 1; }},
    {"several heads", [](const CaseRecord& r) { return r.problem.heads > 1; }},
    {"a head_dim that is no multiple of 64",
     [](const CaseRecord& r) { return r.problem.head_dim % 64 != 0; }},
    {"a head_dim above 64", [](const CaseRecord& r) { return r.problem.head_dim > 64; }},
    {"dropout", [](const CaseRecord& r) { return r.problem.dropout_p > 0.0f; }},
    {"large scores", [](const CaseRecord& r) { return r.problem.input_scale.value_or(1) > 1; }},
    {"varlen", [](const CaseRecord& r) { return r.problem.lengths_spec.has_value(); }},
};

/// The pairs of a row and a key, of all heads.
double size_of(const CaseProblem& problem) {
  return static_cast<double>(problem.batch) * problem.heads * problem.seqlen_q * problem.seqlen_k *
         problem.head_dim;
}

std::string verdict_text(const Cases& cases) {
  const int ok = count(cases, Status::kOk), incorrect = count(cases, Status::kIncorrect);
  const int failed = count(cases, Status::kFailed), tried = ok + incorrect + failed;
  if (tried == 0) return "not judged: none of its cases was verified";
  if (incorrect + failed == 0) return fmt::format("right in all of {} cases", tried);
  std::string text = fmt::format("wrong in {} of {} cases", incorrect + failed, tried);
  if (failed > 0) text += fmt::format(", of which {} failed to run", failed);
  return text;
}

/// "tails 46 of 48, masks 12, ...": by part of the preset, what is right of what was tried.
std::string parts_text(const Cases& cases) {
  std::vector<std::pair<std::string, Cases>> parts;
  for (const CaseRecord* record : cases) {
    const std::string name = record->problem.model.value_or("all");
    if (parts.empty() || parts.back().first != name) parts.emplace_back(name, Cases());
    parts.back().second.push_back(record);
  }
  std::string text;
  for (const auto& [name, of] : parts) {
    const int ok = count(of, Status::kOk);
    const int tried = ok + count(of, Status::kIncorrect) + count(of, Status::kFailed);
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name,
                        tried == 0    ? "-"
                        : ok == tried ? std::to_string(ok)
                                      : fmt::format("{} of {}", ok, tried));
  }
  return text;
}

std::string traits_text(const std::vector<CommonTrait>& traits) {
  if (traits.empty()) return "the wrong cases have nothing in common that the right ones lack";
  std::string text;
  for (const CommonTrait& trait : traits) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ",
                        trait.is_exact ? "exactly the cases with" : "only cases with", trait.what);
  }
  return text;
}

/// The wrong case with the least work.
const CaseRecord* smallest_wrong(const Cases& cases) {
  const CaseRecord* smallest = nullptr;
  for (const CaseRecord* record : cases) {
    if (!is_wrong(*record)) continue;
    if (smallest == nullptr || size_of(record->problem) < size_of(smallest->problem)) {
      smallest = record;
    }
  }
  return smallest;
}

/// "dq(0, 33, 1, 5) is 0.31, and should be 0.12"; "" if nothing was compared.
std::string worst_element(const CaseRecord& record) {
  const Accuracy* worst = nullptr;
  for (const Accuracy* accuracy : accuracies_of(record)) {
    const auto badness = [](const Accuracy& of) {
      return of.nonfinite > 0 ? INFINITY : of.error_over_unfused.value_or(0.0);
    };
    if (worst == nullptr || badness(*accuracy) > badness(*worst)) worst = accuracy;
  }
  if (worst == nullptr || worst->worst_index.empty()) return "";
  return fmt::format("{}[{}] is {}, exact is {}", worst->output,
                     fmt::join(worst->worst_index, ", "), significant(worst->worst_got, 4),
                     significant(worst->worst_want, 4));
}

std::string error_text(const Cases& cases) {
  std::vector<double> over, rel_l1;
  for (const CaseRecord* record : cases) {
    if (record->status != Status::kOk) continue;
    // Without a finite one: all is exact, or 0 is.
    const auto ratio = worst_error_over_unfused(*record), error = worst_rel_l1(*record);
    if (ratio && *ratio > 0) over.push_back(*ratio);
    if (error && std::isfinite(*error)) rel_l1.push_back(*error);
  }
  const auto mean = geometric_mean(over), most = largest(over), worst = largest(rel_l1);
  if (!worst) return "no correct case has one";
  std::string text = fmt::format("rel_l1 at most {} %", significant(100 * *worst, 3));
  if (mean && most) {
    text += fmt::format("; {}x the unfused computation's in the mean, {}x at most",
                        significant(*mean, 2), significant(*most, 2));
  }
  return text;
}

std::string bits_text(const Cases& cases) {
  std::map<std::string, int> differ;  // by output
  int compared = 0, launches = 0;
  for (const CaseRecord* record : cases) {
    if (record->sampling) launches += record->sampling->checked.value_or(0);
    bool is_compared = false;
    for (const Accuracy* accuracy : accuracies_of(*record)) {
      if (!accuracy->bitwise_repeatable) continue;
      is_compared = true;
      if (!*accuracy->bitwise_repeatable) ++differ[accuracy->output];
    }
    compared += is_compared ? 1 : 0;
  }
  std::string text;
  if (compared == 0) {
    text = "not compared";
  } else if (differ.empty()) {
    text = fmt::format("a second run gives the same in all of {}", plural(compared, "case"));
  } else {
    text = fmt::format("a second run gives others in cases of {}:", compared);
    for (const auto& [output, cases_with] : differ)
      text += fmt::format(" {} {}", output, cases_with);
  }
  if (launches > 0) {
    text += fmt::format("; {} timed launches, each with other inputs, were compared", launches);
  }
  return text;
}

std::string skipped_text(const Cases& cases) {
  const std::vector<SkipReason> reasons = skip_reasons(cases);
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostSkipReasons); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : "; ", reasons[i].message,
                        plural(reasons[i].count, "case"));
  }
  if (reasons.size() > kMostSkipReasons) {
    text += fmt::format("; {} more reasons", reasons.size() - kMostSkipReasons);
  }
  return text;
}

/// The other fused kernels on the same problem that are right, the fastest first.
Cases rivals_of(const RunRecord& run, const CaseRecord& record) {
  const std::string key = make_problem_key(record.problem);
  Cases rivals;
  for (const CaseRecord& other : run.cases) {
    if (other.kernel == record.kernel || !other.time_ms || !is_usable(other) || !other.valid)
      continue;
    if (make_problem_key(other.problem) == key) rivals.push_back(&other);
  }
  std::ranges::sort(rivals, {}, [](const CaseRecord* of) { return of->time_ms->median; });
  if (rivals.size() > kMostRivals) rivals.resize(kMostRivals);
  return rivals;
}

std::string speed_table(const RunRecord& run, const Cases& cases, const TableView& view) {
  std::vector<TextColumn> columns = {{"pass", {}, false}, {"head\ndim", {}},    {"seqlen", {}},
                                     {"mask", {}},        {"ms", {}},           {"TFLOP/s", {}},
                                     {"memory", {}},      {"beside", {}, false}};
  for (const CaseRecord* record : cases) {
    if (!record->time_ms || !is_usable(*record)) continue;
    const Cases rivals = rivals_of(run, *record);
    if (rivals.empty()) continue;
    std::string beside;
    for (const CaseRecord* rival : rivals) {
      beside += fmt::format("{}{} {}", beside.empty() ? "" : ", ", rival->kernel,
                            significant(rival->time_ms->median, 3));
    }
    const std::uint64_t memory =
        record->memory_bytes->peak.value_or(record->memory_bytes->predicted);
    const std::string cells[] = {std::string(name_of(record->problem.pass)),
                                 std::to_string(record->problem.head_dim),
                                 std::to_string(record->problem.seqlen_q),
                                 mask_of(*record),
                                 significant(record->time_ms->median, 3),
                                 record->tflops ? significant(*record->tflops, 3) : "-",
                                 format_memory(memory),
                                 beside};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  if (columns.front().cells.empty()) return "";
  return "\n" + format_columns(columns, view, 4);
}

}  // namespace

std::vector<CommonTrait> common_traits(const RunRecord& run, const std::string& kernel) {
  Cases wrong, right;
  for (const CaseRecord* record : cases_of(run, kernel)) {
    if (is_wrong(*record)) wrong.push_back(record);
    if (record->status == Status::kOk) right.push_back(record);
  }
  if (wrong.empty()) return {};
  std::vector<std::pair<std::ptrdiff_t, CommonTrait>> found;  // by the right cases that have it
  for (const Trait& trait : kTraits) {
    const auto has = [&](const CaseRecord* record) { return trait.has(*record); };
    if (!std::ranges::all_of(wrong, has)) continue;
    const std::ptrdiff_t too = std::ranges::count_if(right, has);
    if (too == std::ssize(right) && !right.empty()) continue;
    found.push_back({too, {std::string(trait.what), too == 0 && !right.empty()}});
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<CommonTrait> traits;
  for (const auto& [too, trait] : found) {
    if (traits.size() < kMostTraits) traits.push_back(trait);
  }
  return traits;
}

std::string format_judgement(const RunRecord& run, const std::string& kernel,
                             const TableView& view) {
  const Cases cases = cases_of(run, kernel);
  const DeviceInfo& device = run.environment.device;
  std::string heading =
      fmt::format("{} on {}{}: {}", kernel, device.name,
                  device.kind == DeviceKind::kEmulated ? " (emulated)" : "", verdict_text(cases));
  std::vector<Fact> facts = {{"right", parts_text(cases)}};
  if (const CaseRecord* wrong = smallest_wrong(cases)) {
    facts.push_back({"wrong", traits_text(common_traits(run, kernel))});
    std::string first = fmt::format("{}: {}", wrong->reason->code, wrong->reason->message);
    if (const std::string element = worst_element(*wrong); !element.empty())
      first += "; " + element;
    facts.push_back({"smallest", std::move(first)});
    facts.push_back({"repeat", wrong->repro});
  }
  facts.push_back({"error", error_text(cases)});
  facts.push_back({"bits", bits_text(cases)});
  if (std::string skipped = skipped_text(cases); !skipped.empty()) {
    facts.push_back({"not for", std::move(skipped)});
  }
  return wrapped(heading, view) + "\n" + format_facts(facts, view) + speed_table(run, cases, view);
}

}  // namespace sparkbench
