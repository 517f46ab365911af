#include "results/render/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "results/record/enum_names.h"
#include "results/record/safe_text.h"
#include "results/render/case_table.h"
#include "results/render/closing.h"
#include "results/render/number_format.h"
#include "results/study/prediction_check.h"
#include "results/study/skip_reasons.h"

namespace sparkbench {
namespace {

/// A code, its first message, and the number of cases with it.
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
    for (const Warning& warning : record.warnings) {
      if (warning.code != kNoTimeWarning) add_note(notes, warning.code, warning.message);
    }
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

constexpr int kMostReasons = 3;  // lines for the reasons of one code

/// One line per reason; for a code with many reasons, the most frequent ones.
std::string format_skips(const std::vector<CaseRecord>& cases, const TableView& view) {
  std::vector<const CaseRecord*> all;
  all.reserve(cases.size());
  for (const CaseRecord& record : cases) all.push_back(&record);
  std::vector<Note> notes;
  std::map<std::string, Note> rest;  // by code: cases without a line of their own
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

/// The command that repeats the case. The record may come from outside, so only a plain command is
/// shown: a reader might paste it into a shell.
std::string repeat_line(const CaseRecord& record, bool is_markdown) {
  const bool ends_code = is_markdown && record.repro.find('`') != std::string::npos;
  if (!is_plain_command(record.repro) || ends_code) {
    return "  repeat: not shown, since the record's line is no plain command\n";
  }
  const char* const quote = is_markdown ? "`" : "";
  return fmt::format("  repeat: {}{}{}\n", quote, record.repro, quote);
}

/// All of them in a file; the first few on a terminal.
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

std::string format_summary(const RunRecord& run, const TableView& view) {
  std::string checks;
  for (const PredictionSummary& summary : summarize_predictions(run.cases)) {
    checks += describe(summary) + ".\n";
  }
  if (!checks.empty()) {
    checks +=
        "No V100 run of these kernels has tested the model yet: please send this record (--json "
        "FILE) "
        "with an issue.\n";
  }
  const std::string notes = format_notes("warning", collect_warnings(run.cases), view) +
                            format_skips(run.cases, view) +
                            format_notes("not predicted", collect_unpredicted(run.cases), view) +
                            format_failures(run.cases, view);
  const std::string end = run.run.complete ? "" : "Not complete: cases of the sweep are missing.\n";
  return wrapped(printable(in_style(format_counts(run.cases) + ".\n" + checks, view) + end + notes),
                 view);
}

std::string format_end(const RunRecord& run, const TableView& view) {
  const std::string closing = wrapped(in_style(printable(format_closing(run)), view), view);
  return format_summary(run, view) + "\n" +
         inked(closing.substr(0, closing.size() - 1), Ink::kStrong, view) + "\n";
}

std::string format_summary_markdown(const RunRecord& run) {
  const TableView view{.style = TableStyle::kMarkdown};
  return fmt::format("# sparkbench {}\n\n{}\n{}", in_style(one_line(run.run.started_at), view),
                     format_case_table(run, view), format_end(run, view));
}

}  // namespace sparkbench
