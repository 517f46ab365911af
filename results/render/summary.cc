#include "results/render/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "results/record/enum_names.h"
#include "results/record/safe_text.h"
#include "results/render/case_table.h"
#include "results/render/fastest_line.h"
#include "results/render/number_format.h"
#include "results/study/kernel_statistics.h"
#include "results/study/prediction_check.h"
#include "results/study/skip_reasons.h"

namespace sparkbench {
namespace {

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string speed_clause(const SpeedupMean& mean) {
  const bool is_faster = mean.ratio >= 1.0;
  const double times = is_faster ? mean.ratio : 1.0 / mean.ratio;
  // The reciprocal keeps the relative doubt.
  const std::string doubt =
      mean.stdev ? fmt::format(" +- {}", significant(*mean.stdev / mean.ratio * times, 1)) : "";
  return fmt::format("ran {}{} times {} than {} (geometric mean of {})", significant(times, 3),
                     doubt, is_faster ? "faster" : "slower", mean.over, plural(mean.count, "case"));
}

/// By the measure of the table's error_over_unfused; of layers, of their attention.
std::string error_clause(const std::vector<CaseRecord>& cases, const std::string& kernel) {
  const bool are_layers = std::any_of(cases.begin(), cases.end(), [](const CaseRecord& record) {
    return record.layer.has_value();
  });
  if (are_layers) {
    const auto layer = mean_layer_error(cases, kernel);
    if (!layer) return "";
    return fmt::format("attention error {}x of the unfused layer's, that of any part at most {}x",
                       significant(layer->attention, 2), significant(layer->most, 2));
  }
  const auto error = mean_error_over_unfused(cases, kernel);
  if (!error) return "";
  const std::string doubt =
      error->without == 0 ? "" : fmt::format(", unknown in {}", plural(error->without, "case"));
  return fmt::format("error {}x of the unfused computation's{}", significant(error->ratio, 2),
                     doubt);
}

/// What cases say of one kernel, called `name`; "" when it has neither speed nor error. Of a
/// reference the speed alone: errors are measured by it.
std::string kernel_sentence(const std::vector<CaseRecord>& cases, const std::string& kernel,
                            Role role, const std::string& name) {
  const auto speedup = mean_speedup(cases, kernel);
  const std::string error = role == Role::kFused ? error_clause(cases, kernel) : "";
  if (!speedup) return error.empty() ? "" : fmt::format("{}: {};\n", name, error);
  return fmt::format("{} {}{}{};\n", name, speed_clause(*speedup), error.empty() ? "" : ", ",
                     error);
}

/// "" of a kernel that nothing is predicted of, or no speed-up.
std::string predicted_sentence(const std::vector<CaseRecord>& cases, const std::string& kernel,
                               Role role, const std::string& name) {
  const auto mean = mean_predicted_speedup(cases, kernel);
  if (!mean) return "";
  const PredictedSpeedup& speedup = mean->speedup;
  // The baseline's kernel also has cases that are no baseline: those with its rest fused.
  const char* const rest = speedup.over == kernel + ", rest unfused" ? ", rest fused," : "";
  return fmt::format(
      "by {} {}{} is predicted {}x as fast as {} on a {} ({}x to {}x, geometric mean of {});\n",
      role == Role::kFused ? "the cycle model" : "published rates", name, rest,
      significant(speedup.likely, 2), speedup.over, mean->chip, significant(speedup.low, 2),
      significant(speedup.high, 2), plural(mean->count, "case"));
}

/// In the order of the passes' first cases.
std::vector<std::vector<CaseRecord>> group_by_pass(const std::vector<CaseRecord>& cases) {
  std::vector<std::vector<CaseRecord>> groups;
  for (const CaseRecord& record : cases) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& members) {
      return members.front().problem.pass == record.problem.pass;
    });
    if (group == groups.end()) {
      groups.push_back({record});
    } else {
      group->push_back(record);
    }
  }
  return groups;
}

/// A code, its first message, and how many cases have it.
struct Note {
  std::string code;
  std::string message;
  int count = 0;
};

void add_note(std::vector<Note>& notes, const std::string& code, const std::string& message) {
  const auto same_code = [&](const Note& note) { return note.code == code; };
  auto note = std::find_if(notes.begin(), notes.end(), same_code);
  if (note == notes.end()) note = notes.insert(notes.end(), {code, message, 0});
  ++note->count;
}

std::vector<Note> collect_warnings(const std::vector<CaseRecord>& cases) {
  std::vector<Note> notes;
  for (const CaseRecord& record : cases) {
    for (const Warning& warning : record.warnings) add_note(notes, warning.code, warning.message);
  }
  return notes;
}

std::vector<Note> collect_unpredicted(const std::vector<CaseRecord>& cases) {
  std::vector<Note> notes;
  for (const CaseRecord& record : cases) {
    if (record.predicted_reason)
      add_note(notes, record.predicted_reason->code, record.predicted_reason->message);
  }
  return notes;
}

std::string_view bullet_of(const TableView& view) {
  return view.style == TableStyle::kMarkdown ? "- " : "";
}

std::string format_notes(std::string_view title, const std::vector<Note>& notes,
                         const TableView& view) {
  std::string text;
  for (const Note& note : notes) {
    text += fmt::format("{}{} {} ({}): {}\n", bullet_of(view), title,
                        in_style(one_line(note.code), view), plural(note.count, "case"),
                        in_style(one_line(note.message), view));
  }
  return text;
}

constexpr int kMostReasons = 3;  // of a code, each in a line of its own

/// A line for each reason; of a code with many, those of the most cases.
std::string format_skips(const std::vector<CaseRecord>& cases, const TableView& view) {
  std::vector<const CaseRecord*> all;
  all.reserve(cases.size());
  for (const CaseRecord& record : cases) all.push_back(&record);
  std::vector<Note> notes;
  std::map<std::string, Note> rest;  // by code, what is not in a line of its own
  std::map<std::string, int> lines;
  for (const SkipReason& reason : skip_reasons(all)) {
    if (lines[reason.code]++ < kMostReasons) {
      notes.push_back({reason.code, reason.message, reason.count});
    } else {
      Note& others = rest.try_emplace(reason.code, Note{reason.code, "", 0}).first->second;
      others.count += reason.count;
    }
  }
  for (auto& [code, others] : rest) {
    others.message =
        fmt::format("for {}, which --json has", plural(lines[code] - kMostReasons, "other reason"));
    notes.push_back(others);
  }
  return format_notes("skipped", notes, view);
}

/// What repeats the case. The record may be another's: what is no plain command, which a reader
/// might paste into a shell, is not shown.
std::string repeat_line(const CaseRecord& record, bool is_markdown) {
  const bool ends_code = is_markdown && record.repro.find('`') != std::string::npos;
  if (!is_plain_command(record.repro) || ends_code) {
    return "  repeat: not shown, since the record's line is no plain command\n";
  }
  const char* const quote = is_markdown ? "`" : "";
  return fmt::format("  repeat: {}{}{}\n", quote, record.repro, quote);
}

/// All of them in a file; on a terminal the first few.
std::string format_failures(const std::vector<CaseRecord>& cases, const TableView& view) {
  constexpr int kMostOnATerminal = 10;
  const bool is_markdown = view.style == TableStyle::kMarkdown;
  std::string text;
  int count = 0;
  for (const CaseRecord& record : cases) {
    if (record.status != Status::kIncorrect && record.status != Status::kFailed) continue;
    if (++count > kMostOnATerminal && !is_markdown) continue;
    const std::string why =
        record.reason ? fmt::format("{}: {}", record.reason->code, record.reason->message) : "";
    text += fmt::format("{}{} {}  {}\n", bullet_of(view), name_of(record.status),
                        in_style(one_line(record.id), view), in_style(one_line(why), view));
    text += repeat_line(record, is_markdown);
  }
  if (count > kMostOnATerminal && !is_markdown) {
    text += fmt::format("and {} more; --md and --json name all\n", count - kMostOnATerminal);
  }
  return text;
}

}  // namespace

std::string format_counts(const std::vector<CaseRecord>& cases) {
  const auto count = [&](Status status) {
    return std::count_if(cases.begin(), cases.end(),
                         [status](const CaseRecord& record) { return record.status == status; });
  };
  std::string text =
      fmt::format("{} ok, {} incorrect, {} skipped, {} failed", count(Status::kOk),
                  count(Status::kIncorrect), count(Status::kSkipped), count(Status::kFailed));
  for (const Status status : {Status::kUnverified, Status::kPredicted}) {
    if (count(status) > 0) text += fmt::format(", {} {}", count(status), name_of(status));
  }
  return text;
}

std::string format_closing_sentence(const RunRecord& run) {
  std::string text;
  const std::vector<std::vector<CaseRecord>> groups = group_by_pass(run.cases);
  for (const std::vector<CaseRecord>& cases : groups) {
    const std::string_view pass = name_of(cases.front().problem.pass);
    for (const Role role : {Role::kFused, Role::kReference}) {
      for (const std::string& kernel : kernels_of(cases, role)) {
        const std::string name = groups.size() > 1 ? fmt::format("{} {}", kernel, pass) : kernel;
        text += kernel_sentence(cases, kernel, role, name);
        text += predicted_sentence(cases, kernel, role, name);
      }
    }
  }
  for (const PredictionSummary& summary : summarize_predictions(run.cases)) {
    text += describe(summary) + ";\n";
  }
  return text + format_counts(run.cases);
}

std::string format_summary(const RunRecord& run, const TableView& view) {
  const std::string notes = format_notes("warning", collect_warnings(run.cases), view) +
                            format_skips(run.cases, view) +
                            format_notes("not predicted", collect_unpredicted(run.cases), view) +
                            format_failures(run.cases, view);
  const std::string end = run.run.complete ? "" : "Not complete: cases of the sweep are missing.\n";
  return wrapped(printable(in_style(format_closing_sentence(run), view) + ".\n" + end +
                           (notes.empty() ? "" : "\n") + notes),
                 view);
}

std::string format_end(const RunRecord& run, const TableView& view) {
  const std::string fastest = wrapped(in_style(printable(format_fastest(run)), view), view);
  return format_summary(run, view) + "\n" +
         inked(fastest.substr(0, fastest.size() - 1), Ink::kStrong, view) + "\n";
}

std::string format_summary_markdown(const RunRecord& run) {
  const TableView view{.style = TableStyle::kMarkdown};
  return fmt::format("# sparkbench {}\n\n{}\n{}", in_style(one_line(run.run.started_at), view),
                     format_case_table(run, view), format_end(run, view));
}

}  // namespace sparkbench
