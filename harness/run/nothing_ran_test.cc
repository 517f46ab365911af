#include "harness/run/nothing_ran.h"

#include <gtest/gtest.h>

#include "harness/run/sweep_session.h"
#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord skipped(const std::string& kernel, const std::string& why,
                   const std::string& code = "E-UNSUPPORTED") {
  CaseRecord record = sample_emulated_case();
  record.kernel = kernel;
  record.status = Status::kSkipped;
  record.reason = Reason{code, why};
  return record;
}

CaseRecord ran(const std::string& kernel) {
  CaseRecord record = sample_emulated_case();
  record.kernel = kernel;
  return record;
}

RunRecord run_of(const std::string& globs, const std::vector<CaseRecord>& cases) {
  RunRecord run = sample_run();
  run.run.complete = true;
  run.run.resolved["kernel"] = globs;
  run.cases = cases;
  return run;
}

using Lines = std::vector<std::string>;

TEST(NothingRan, IsNotSaidOfWhatIsPredictedOrUnverified) {
  CaseRecord predicted = skipped("a", "it takes minutes", "E-ONLY-PREDICTED"),
             unverified = ran("b");
  predicted.status = Status::kPredicted;
  unverified.status = Status::kUnverified;
  const RunRecord run = run_of("a,b", {predicted, unverified});
  EXPECT_EQ(why_nothing_ran(run), Lines());
  EXPECT_EQ(exit_code_of(run), ExitCode::kOk);
}

TEST(NothingRan, IsSaidOfTheNameWithTheReason) {
  const RunRecord run = run_of("a,b", {ran("a"), skipped("b", "b has no backward pass")});
  EXPECT_EQ(why_nothing_ran(run),
            Lines({"--kernel: 'b': its one case did not run: b has no backward pass"}));
  EXPECT_EQ(exit_code_of(run), ExitCode::kUsage);
}

TEST(NothingRan, IsSaidOfAGlobAsAWhole) {
  EXPECT_EQ(why_nothing_ran(run_of("*", {ran("a"), skipped("b", "no")})), Lines());
  EXPECT_EQ(
      why_nothing_ran(run_of("*", {skipped("a", "x"), skipped("b", "no"), skipped("c", "no")})),
      Lines({"--kernel: '*': none of its 3 cases ran: no (2 cases); x (1 case)"}));
  EXPECT_EQ(why_nothing_ran(run_of("*,b", {ran("a"), skipped("b", "no")})).size(), 1u);
}

TEST(NothingRan, IsNoFaultOfTooLittleMemory) {
  const RunRecord run =
      run_of("a", {skipped("a", "needs 9 GiB", "E-OOM-PREDICTED"), skipped("a", "no")});
  EXPECT_EQ(why_nothing_ran(run), Lines());
  EXPECT_EQ(exit_code_of(run), ExitCode::kOk);
}

TEST(NothingRan, IsNotSaidOfPartsOfRuns) {
  RunRecord run = run_of("a", {skipped("a", "no")});
  run.run.resolved["shard"] = "1/8";
  EXPECT_EQ(why_nothing_ran(run), Lines());
  run = run_of("a", {skipped("a", "no")});
  run.run.complete = false;
  EXPECT_EQ(why_nothing_ran(run), Lines());
  run.run.complete = true;
  run.run.resolved.erase("kernel");  // a record older than the field
  EXPECT_EQ(why_nothing_ran(run), Lines());
}

TEST(NothingRan, GivesWayToWorseThings) {
  RunRecord run = run_of("a,b", {ran("a"), skipped("b", "no")});
  run.cases[0].status = Status::kFailed;
  EXPECT_EQ(exit_code_of(run), ExitCode::kIncomplete);
  run.cases[0].status = Status::kIncorrect;
  EXPECT_EQ(exit_code_of(run), ExitCode::kFinding);
}

}  // namespace
}  // namespace sparkbench
