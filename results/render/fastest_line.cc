#include "results/render/fastest_line.h"

#include <fmt/format.h>

#include <string_view>

#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/study/fastest_kernel.h"

namespace sparkbench {
namespace {

std::string times_text(double ratio) { return significant(ratio, 3) + "x"; }

std::string interval_of(const Lead& lead) {
  if (!lead.low || !lead.high) return "doubt unknown";
  return fmt::format("{} to {}", times_text(*lead.low), times_text(*lead.high));
}

std::string how_known(const FastestKernel& fastest) {
  return fmt::format("{}, {} problem{}",
                     fastest.is_measured ? "measured" : "by a model of a " + fastest.chip,
                     fastest.problems, fastest.problems == 1 ? "" : "s");
}

/// What the doubt leaves of a lead over the next.
std::string next_clause(const FastestKernel& fastest) {
  if (!fastest.over_next) {
    return fmt::format(", the only one on its problems ({})", how_known(fastest));
  }
  const Lead& lead = *fastest.over_next;
  const bool is_sure = lead.low && *lead.low > 1.0;
  return fmt::format(", {} as fast as {}, the next ({}, {}){}", times_text(lead.likely), lead.over,
                     interval_of(lead), how_known(fastest),
                     is_sure ? "" : ", which the doubt does not tell apart");
}

std::string base_clause(const Lead& lead) {
  return fmt::format(", {} as fast as {} ({})", times_text(lead.likely), lead.over,
                     interval_of(lead));
}

/// What is said of the largest error.
std::string_view bound_word(const FastestKernel& fastest) {
  return fastest.has_all_rows ? "at most" : "up to about";
}

/// Of whole layers.
std::string layer_error_clause(const FastestKernel& fastest) {
  std::string text = fmt::format("; rel_l2 {} {} % in every part", bound_word(fastest),
                                 significant(100 * *fastest.worst_layer_rel_l2, 3));
  if (fastest.worst_layer_over_unfused) {
    text += fmt::format(", error {} {}x of the unfused layer's", bound_word(fastest),
                        significant(*fastest.worst_layer_over_unfused, 2));
  }
  return text;
}

std::string error_clause_of(const FastestKernel& fastest) {
  if (fastest.worst_layer_rel_l2) return layer_error_clause(fastest);
  if (!fastest.worst_rel_l1) return "; its error was not checked";
  std::string text = fmt::format("; rel_l1 {} {} %", bound_word(fastest),
                                 significant(100 * *fastest.worst_rel_l1, 3));
  if (fastest.error_over_unfused) {
    text += fmt::format(", error {}x of the unfused computation's",
                        significant(*fastest.error_over_unfused, 2));
  }
  return text;
}

std::string line_of(const FastestKernel& fastest, bool names_pass) {
  const std::string pass = names_pass ? fmt::format(", {}", name_of(fastest.pass)) : "";
  if (!fastest.why_none.empty()) {
    return fmt::format("Fastest correct kernel{}: none is named, since {}.\n", pass,
                       fastest.why_none);
  }
  const bool is_checked = fastest.worst_rel_l1 || fastest.worst_layer_rel_l2;
  const std::string_view correct = is_checked ? " correct" : "";
  std::string text = fmt::format("Fastest{} kernel{}: {}", correct, pass, fastest.kernel);
  text += next_clause(fastest);
  if (fastest.over_base) text += base_clause(*fastest.over_base);
  if (fastest.problems < fastest.all_problems) {
    text += fmt::format("; compared on the {} of {} problems that these kernels share",
                        fastest.problems, fastest.all_problems);
  }
  if (!fastest.left_out.empty()) {
    text +=
        fmt::format("; {} ran on fewer than half as many problems and {} not compared",
                    fmt::join(fastest.left_out, ", "), fastest.left_out.size() == 1 ? "is" : "are");
  }
  if (!fastest.is_complete) text += "; the run was stopped, so others may be faster";
  return text + error_clause_of(fastest) + ".\n";
}

}  // namespace

std::string format_fastest(const RunRecord& run) {
  const std::vector<FastestKernel> found = find_fastest(run);
  if (found.empty()) {
    return "Fastest correct kernel: none is named, since no correct case has a time or a "
           "prediction.\n";
  }
  std::string text;
  for (const FastestKernel& fastest : found) text += line_of(fastest, found.size() > 1);
  return text;
}

}  // namespace sparkbench
