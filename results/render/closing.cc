#include "results/render/closing.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/study/fastest_kernel.h"
#include "results/study/prediction_check.h"
#include "sweeps/axes.h"

namespace sparkbench {

std::string times_text(double ratio) { return significant(ratio, 3) + "x"; }

std::string interval_of(const Lead& lead) {
  if (!lead.low || !lead.high) return "";
  return fmt::format(" ({} to {})", times_text(*lead.low), times_text(*lead.high));
}

namespace {

std::string speed_clause(const FastestKernel& fastest) {
  if (fastest.rivals.empty() && !fastest.over_base) {
    return fmt::format("no other kernel here has a {}",
                       fastest.is_measured ? "time" : "prediction");
  }
  if (fastest.is_baseline) return "no fused kernel is faster on these problems";
  if (!fastest.over_base) return "the fastest";
  return fmt::format("{} as fast as {}{}", times_text(fastest.over_base->likely),
                     fastest.over_base->over, interval_of(*fastest.over_base));
}

std::string memory_clause(const FastestKernel& fastest) {
  if (!fastest.memory || fastest.is_baseline) return "";
  return fmt::format(", {} instead of {}", format_memory(fastest.memory->kernel),
                     format_memory(fastest.memory->unfused));
}

std::string error_clause(const FastestKernel& fastest) {
  if (fastest.is_baseline) return "";
  if (const auto& layer = fastest.layer_error) {
    return fmt::format(", {}x the error of the unfused layer's attention",
                       significant(layer->attention, 2));
  }
  if (fastest.error_over_unfused) {
    const bool names_base = fastest.over_base.has_value();
    return fmt::format(", {}x {} error", significant(*fastest.error_over_unfused, 2),
                       names_base ? "its" : "the unfused computation's");
  }
  return fastest.worst_rel_l1
             ? fmt::format(", rel_l1 up to {} %", significant(100 * *fastest.worst_rel_l1, 2))
             : "";
}

std::string pass_suffix(const FastestKernel& fastest, bool names_pass) {
  std::string type = fastest.element == ElementType::kBf16 ? " in bf16" : "";
  if (fastest.layout != TensorLayout::kBshd) {
    type += fmt::format("{} {}", type.empty() ? " in" : ",", name_of(fastest.layout));
  }
  return (names_pass ? fmt::format(" for {}", name_of(fastest.pass)) : "") + type;
}

std::string recommendation(const FastestKernel& fastest, bool names_pass) {
  const std::string pass = pass_suffix(fastest, names_pass);
  if (!fastest.why_none.empty()) {
    return fmt::format("No kernel is recommended{}: {}.\n", pass, fastest.why_none);
  }
  const auto& base = fastest.over_base;
  const std::string verb =
      fastest.nothing_ran ? "Fastest by prediction"
      : base && base->high.value_or(base->likely) < 1.0
          ? fmt::format("No kernel here is as fast as {}; the next is", base->over)
          : "Use";
  return fmt::format("{} {}{}: {}{}{}{}.\n", verb, fastest.kernel, pass, speed_clause(fastest),
                     memory_clause(fastest), error_clause(fastest),
                     fastest.is_complete ? "" : "; the run was stopped, so others may be faster");
}

std::string_view accumulator_text(const Rival& rival) {
  if (rival.role != Role::kFused || !rival.accumulator) return "";
  return *rival.accumulator == Accumulator::kFp16 ? " (FP16-ACC)" : "";
}

/// "takes 1.14x as long", or "is 1.02x as fast".
std::string rival_line(const FastestKernel& fastest, const Rival& rival) {
  const Lead& lead = rival.lead;
  const bool is_sure = lead.low && *lead.low > 1.0;
  std::string text =
      fmt::format("{}{} takes {} as long as {}{}", lead.over, accumulator_text(rival),
                  times_text(lead.likely), fastest.kernel, interval_of(lead));
  if (!is_sure && lead.low) text += ", which the doubt does not tell apart";
  if (rival.error_ratio)
    text += fmt::format(", with {}x its error", significant(*rival.error_ratio, 2));
  return text + ".\n";
}

/// A line for the runner-up, one for the other accumulator, and one for all others. The
/// recommendation already covers the baseline.
std::string rival_lines(const FastestKernel& fastest) {
  std::string text;
  std::vector<std::string> others;
  bool has_next = false, has_fp16 = false;
  for (const Rival& rival : fastest.rivals) {
    if (fastest.over_base && rival.lead.over == fastest.over_base->over) continue;
    const bool is_fp16 = !accumulator_text(rival).empty();
    if (has_next && (!is_fp16 || has_fp16)) {
      others.push_back(fmt::format("{} {}", rival.lead.over, times_text(rival.lead.likely)));
      continue;
    }
    text += rival_line(fastest, rival);
    has_next = true;
    has_fp16 = has_fp16 || is_fp16;
  }
  if (others.empty()) return text;
  return text + fmt::format("Times as long as {}: {}.\n", fastest.kernel, fmt::join(others, ", "));
}

/// Which part of the run the comparison covers.
std::string scope_of(const FastestKernel& fastest) {
  std::string text = plural(fastest.problems, "problem");
  if (fastest.problems < fastest.all_problems) {
    text += fmt::format(" of {}, which these kernels share", fastest.all_problems);
  }
  if (!fastest.left_out.empty()) {
    text += fmt::format("; not compared, on fewer than half as many: {}",
                        fmt::join(fastest.left_out, ", "));
  }
  return text;
}

/// Which problems the comparison covers, and how times are known.
std::string evidence_of(const FastestKernel& fastest, const std::string& device, bool names_pass) {
  const std::string pass = pass_suffix(fastest, names_pass);
  if (fastest.is_measured) {
    return fmt::format("Measured on {}{}, {}; in brackets three standard errors.", device, pass,
                       scope_of(fastest));
  }
  return fmt::format("Predicted for a {}{}, not timed{}: {}, in brackets the model's band.",
                     fastest.chip, pass, fastest.nothing_ran ? ", and nothing was checked" : "",
                     scope_of(fastest));
}

/// `sparkbench advise` on the run's last problem.
std::string next_command(const RunRecord& run) {
  if (run.cases.empty() || run.cases.back().problem.layer) return "";
  const CaseProblem& problem = run.cases.back().problem;
  // advise compares kernels in fp16 and in the default layout.
  if (problem.element != ElementType::kFp16 || problem.layout != TensorLayout::kBshd) return "";
  return fmt::format("Your own shape: sparkbench advise {}{}\n", shape_flags(problem),
                     problem.pass == Pass::kForward ? "" : " --train");
}

}  // namespace

std::string format_evidence(const RunRecord& run) {
  std::vector<FastestKernel> named = find_fastest(run);
  std::erase_if(named, [](const FastestKernel& each) { return !each.why_none.empty(); });
  std::string text;
  bool is_predicted = false;
  for (const FastestKernel& fastest : named) {
    text += text.empty() ? "" : "\n";
    text += evidence_of(fastest, run.environment.device.name, named.size() > 1);
    is_predicted = is_predicted || !fastest.is_measured;
  }
  if (is_predicted) {
    const bool are_layers = run.cases.front().problem.layer.has_value();
    text += " " + (are_layers ? model_on_published_layers() : model_on_published_times());
  }
  return text.empty() ? "" : text + "\n";
}

std::string format_closing(const RunRecord& run) {
  const std::vector<FastestKernel> found = find_fastest(run);
  if (found.empty()) {
    return "No kernel is recommended: no correct case has a time or a prediction.\n";
  }
  std::string text;
  for (const FastestKernel& fastest : found) {
    text += recommendation(fastest, found.size() > 1);
    if (fastest.why_none.empty()) text += rival_lines(fastest);
  }
  return text + format_evidence(run) + next_command(run);
}

}  // namespace sparkbench
