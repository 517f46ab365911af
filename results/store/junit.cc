#include "results/store/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "results/record/enum_names.h"
#include "results/record/safe_text.h"
#include "results/study/case_filter.h"

namespace sparkbench {
namespace {

/// Whether U+FFFE or U+FFFF begins there, which XML has as little as control characters.
bool is_no_character(std::string_view text) {
  return text.starts_with("\xef\xbf\xbe") || text.starts_with("\xef\xbf\xbf");
}

/// Of an attribute or of text.
std::string xml(std::string_view text) {
  const std::string line = one_line(text);
  std::string result;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char character = line[i];
    if (is_no_character(std::string_view(line).substr(i))) {
      result += '?';
      i += 2;
      continue;
    }
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

long count_of_status(const std::vector<CaseRecord>& cases, Status status) {
  return std::count_if(cases.begin(), cases.end(),
                       [status](const CaseRecord& record) { return record.status == status; });
}

/// What did not run, or was not checked, tests nothing.
bool tests_nothing(const CaseRecord& record) {
  return !is_attempted(record) || record.status == Status::kUnverified;
}

std::string seconds_of(const std::vector<CaseRecord>& cases) {
  double seconds = 0;
  for (const CaseRecord& record : cases) seconds += record.elapsed_s.value_or(0);
  return fmt::format("{:.3f}", seconds);
}

std::string counts_of(const std::vector<CaseRecord>& cases, long more_errors) {
  return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}" time="{}")",
                     static_cast<long>(cases.size()) + more_errors,
                     count_of_status(cases, Status::kIncorrect),
                     count_of_status(cases, Status::kFailed) + more_errors,
                     std::count_if(cases.begin(), cases.end(), tests_nothing), seconds_of(cases));
}

/// What a test that is not ok has in it.
std::string outcome_of(const CaseRecord& record) {
  if (record.status == Status::kOk) return "";
  const std::string_view element = record.status == Status::kIncorrect ? "failure"
                                   : record.status == Status::kFailed  ? "error"
                                                                       : "skipped";
  const std::string code = record.reason ? record.reason->code : "";
  const std::string why = record.reason ? record.reason->message : "";
  const std::string repeat =
      is_plain_command(record.repro) && !record.repro.empty() ? "repeat: " + record.repro : "";
  if (tests_nothing(record)) {
    return fmt::format("      <skipped message=\"{}\"/>\n", xml(code + ": " + why));
  }
  return fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", element, xml(code),
                     xml(why), xml(repeat));
}

std::string test_of(const CaseRecord& record) {
  const std::string outcome = outcome_of(record);
  const std::string head =
      fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.3f}")", xml(record.kernel),
                  xml(record.id), record.elapsed_s.value_or(0));
  return outcome.empty() ? head + "/>\n" : fmt::format("{}>\n{}    </testcase>\n", head, outcome);
}

std::string properties_of(const RunRecord& run) {
  const auto property = [](std::string_view name, const std::string& value) {
    return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml(value));
  };
  return "    <properties>\n" + property("device", run.environment.device.name) +
         property("device_kind", std::string(name_of(run.environment.device.kind))) +
         property("version", run.build.version) +
         property("git_sha", run.build.git_sha.value_or("unknown")) +
         property("run_id", run.run.id) + "    </properties>\n";
}

std::string suite_of(const RunRecord& run, const CaseGroup& group) {
  std::string text =
      fmt::format("  <testsuite name=\"{}\" {} timestamp=\"{}\">\n{}", xml(group.value),
                  counts_of(group.cases, 0), xml(run.run.started_at), properties_of(run));
  for (const CaseRecord& record : group.cases) text += test_of(record);
  return text + "  </testsuite>\n";
}

constexpr std::string_view kIncompleteSuite =
    "  <testsuite name=\"sparkbench\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"
    "    <testcase classname=\"sparkbench\" name=\"every case of the sweep\">\n"
    "      <error type=\"incomplete\" message=\"cases of the sweep are missing\"/>\n"
    "    </testcase>\n"
    "  </testsuite>\n";

}  // namespace

std::string run_to_junit(const RunRecord& run) {
  const bool is_complete = run.run.complete;
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sparkbench\" {}>\n",
      counts_of(run.cases, is_complete ? 0 : 1));
  for (const CaseGroup& group : groups_by("kernel", run.cases)) text += suite_of(run, group);
  if (!is_complete) text += kIncompleteSuite;
  return text + "</testsuites>\n";
}

}  // namespace sparkbench
