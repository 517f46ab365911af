// A judgement in words, for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "results/render/judgement.h"
#include "results/render/number_format.h"

namespace sparkbench {
namespace {

constexpr std::size_t kMostSkipReasons = 4;

/// "tails 46 of 48; masks 12; ...": by part of the preset, what is right of what was tried.
std::string parts_text(const std::vector<Judgement::Part>& parts) {
  std::string text;
  for (const auto& [name, right, tried] : parts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name,
                        tried == 0       ? "-"
                        : right == tried ? std::to_string(right)
                                         : fmt::format("{} of {}", right, tried));
  }
  return text;
}

std::string traits_text(const std::vector<CommonTrait>& traits, bool all_are_wrong) {
  if (all_are_wrong) return "every case that was tried";
  if (traits.empty()) return "the wrong cases have nothing in common that the right ones lack";
  std::string text;
  for (const CommonTrait& trait : traits) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ",
                        trait.is_exact ? "exactly the cases with" : "only cases with", trait.what);
  }
  return text;
}

/// An element of a tensor, "nan" and "inf" too.
std::string element_text(double value) {
  return std::isfinite(value) ? significant(value, 4) : fmt::format("{}", value);
}

/// "E-INCORRECT: dq errs; dq[0, 33, 1, 5] is 0.31, exact is 0.12"
std::string wrong_text(const Judgement::WrongCase& wrong) {
  std::string text = fmt::format("{}: {}", wrong.code, wrong.message);
  if (!wrong.worst || wrong.code != "E-INCORRECT") return text;
  const auto& [output, index, got, exact] = *wrong.worst;
  return text + fmt::format("; {}[{}] is {}, exact is {}", output, fmt::join(index, ", "),
                            element_text(got), element_text(exact));
}

std::string error_text(const Judgement& judgement) {
  const Judgement::Error& error = judgement.error;
  if (!error.rel_l1) return "no correct case has one";
  const bool some_are_wrong = judgement.incorrect + judgement.failed > 0;
  std::string text = fmt::format("{}rel_l1 at most {} %", some_are_wrong ? "of right cases, " : "",
                                 significant(100 * *error.rel_l1, 3));
  if (error.mean_over_unfused && error.most_over_unfused) {
    text += fmt::format("; {}x the unfused computation's in the mean, {}x at most",
                        significant(*error.mean_over_unfused, 2),
                        significant(*error.most_over_unfused, 2));
  }
  return text;
}

std::string bits_text(const Judgement::Bits& bits) {
  std::string text;
  if (bits.compared == 0) {
    text = "not compared";
  } else if (bits.differ.empty()) {
    text = fmt::format("a second run gives the same in all of {}", plural(bits.compared, "case"));
  } else {
    text = fmt::format("a second run gives others in cases of {}:", bits.compared);
    for (const auto& [output, cases_with] : bits.differ)
      text += fmt::format(" {} {}", output, cases_with);
  }
  if (bits.checked_launches > 0) {
    text += fmt::format("; {} timed launches, each with other inputs, were compared",
                        bits.checked_launches);
  }
  return text;
}

std::string skipped_text(const std::vector<SkipReason>& reasons) {
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

std::string speed_table(const std::vector<Judgement::Speed>& speeds, const TableView& view) {
  if (speeds.empty()) return "";
  std::vector<TextColumn> columns = {
      {"pass", {}, false},  {"dtype", {}, false}, {"layout", {}, false},
      {"head\ndim", {}},    {"seqlen", {}},       {"mask", {}},
      {"ms", {}},           {"TFLOP/s", {}},      {"memory", {}},
      {"beside", {}, false}};
  for (const Judgement::Speed& speed : speeds) {
    std::string beside;
    for (const auto& [kernel, time_ms] : speed.beside) {
      beside += fmt::format("{}{} {}", beside.empty() ? "" : ", ", kernel, significant(time_ms, 3));
    }
    const std::string cells[] = {speed.pass,
                                 speed.dtype,
                                 speed.layout,
                                 std::to_string(speed.head_dim),
                                 std::to_string(speed.seqlen),
                                 speed.mask,
                                 significant(speed.time_ms, 3),
                                 speed.tflops ? significant(*speed.tflops, 3) : "-",
                                 format_memory(speed.memory_bytes),
                                 beside};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  return "\n" + format_columns(columns, view, 4);
}

}  // namespace

std::string verdict_text(const Judgement& judgement) {
  const int tried = judgement.tried(), wrong = judgement.incorrect + judgement.failed;
  if (tried == 0) return "not judged: none of its cases was verified";
  if (wrong == 0) return fmt::format("right in all of {} cases", tried);
  std::string text = fmt::format("wrong in {} of {} cases", wrong, tried);
  if (judgement.failed > 0) text += fmt::format(", of which {} failed to run", judgement.failed);
  return text;
}

std::vector<Fact> facts_of(const Judgement& judgement) {
  std::vector<Fact> facts = {{"right", parts_text(judgement.parts)}};
  if (const auto& wrong = judgement.smallest_wrong) {
    facts.push_back({"wrong", traits_text(judgement.traits, judgement.ok == 0)});
    facts.push_back({"smallest", wrong_text(*wrong)});
    facts.push_back({"repeat", wrong->repro});
  }
  facts.push_back({"error", error_text(judgement)});
  facts.push_back({"bits", bits_text(judgement.bits)});
  if (std::string skipped = skipped_text(judgement.skipped); !skipped.empty()) {
    facts.push_back({"not for", std::move(skipped)});
  }
  return facts;
}

std::string format_judgement(const RunRecord& run, const std::string& kernel,
                             const TableView& view) {
  const Judgement judgement = judgement_of(run, kernel);
  const DeviceInfo& device = run.environment.device;
  const char* const emulated = device.kind == DeviceKind::kEmulated ? " (emulated)" : "";
  const std::string heading =
      fmt::format("{} on {}{}: {}", kernel, device.name, emulated, verdict_text(judgement));
  return wrapped(heading, view) + "\n" + format_facts(facts_of(judgement), view) +
         speed_table(judgement.speeds, view);
}

}  // namespace sparkbench
