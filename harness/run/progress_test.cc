#include "harness/run/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <sstream>

namespace sparkbench {
namespace {

CaseRecord finished_case() {
  CaseRecord record;
  record.id = "volta-fp32acc/fwd";
  record.accuracy = Accuracy{};
  record.accuracy->rel_l1 = 0.0002;
  return record;
}

TEST(Progress, WritesALinePerCaseWithoutATerminal) {
  std::ostringstream stream;
  {
    Progress progress(stream, 2, true, std::nullopt);
    progress.begin_case("volta-fp32acc/fwd");
    progress.end_case(finished_case());
  }
  EXPECT_EQ(stream.str(), "[1/2] volta-fp32acc/fwd  ok, error 0.02 %\n");
}

TEST(Progress, RewritesOneLineOnATerminal) {
  std::ostringstream stream;
  {
    Progress progress(stream, 2, true, 80);
    progress.begin_case("a");
    progress.end_case(finished_case());
    progress.begin_case("b");
  }
  const std::string text = stream.str();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_NE(text.find("[2/2] b  ETA"), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");
}

TEST(Progress, StaysOnOneLineOfANarrowTerminal) {
  for (const int width : {1, 8, 24, 40}) {
    std::ostringstream stream;
    Progress progress(stream, 2, true, width);
    progress.begin_case("volta-fp32acc/fwd/b1/h2/sq128/sk128/d64/causal/p0.1");
    const std::string line = stream.str().substr(4);  // after the clearing sequence
    EXPECT_LT(line.size(), static_cast<std::size_t>(width));
    if (width == 40) {
      EXPECT_EQ(line, "[1/2] volta-fp32acc/fwd/b1/h2/sq12...  ");
    }
  }
}

TEST(Progress, SaysThatALongCaseStillRuns) {
  std::ostringstream stream, terminal;
  Progress progress(stream, 2, true, std::nullopt), line(terminal, 2, true, 80);
  progress.begin_case("a");
  line.begin_case("a");
  const auto start = std::chrono::steady_clock::now();
  for (int seconds = 1; seconds <= 100; ++seconds) {
    progress.wait(start + std::chrono::seconds(seconds));
    line.wait(start + std::chrono::seconds(seconds));
  }
  EXPECT_EQ(stream.str(), "[1/2] a  has run for 10s\n[1/2] a  has run for 1m00s\n");
  EXPECT_NE(terminal.str().find("\r\x1b[K[1/2] a  for 1m30s"), std::string::npos);
  EXPECT_EQ(terminal.str().find('\n'), std::string::npos);
  progress.end_case(finished_case());
  progress.wait(start + std::chrono::hours(1));
  const std::string text = stream.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << "a case that has ended runs no more";
}

TEST(Progress, IsSilentWhenHidden) {
  std::ostringstream stream;
  {
    Progress progress(stream, 1, false, 80);
    progress.begin_case("a");
    progress.end_case(finished_case());
  }
  EXPECT_EQ(stream.str(), "");
}

TEST(Progress, SpellsDurations) {
  EXPECT_EQ(format_duration(4.4), "4s");
  EXPECT_EQ(format_duration(112), "1m52s");
  EXPECT_EQ(format_duration(7380), "2h03m");
}

TEST(Progress, SaysWhyACaseFailed) {
  CaseRecord record;
  record.status = Status::kFailed;
  record.reason = Reason{"E-RUN", "out of memory"};
  EXPECT_EQ(format_outcome(record), "failed: out of memory");
}

}  // namespace
}  // namespace sparkbench
