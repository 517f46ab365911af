#include "results/store/merge.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/testing/messages.h"
#include "results/record/test_run.h"
#include "results/store/json.h"

namespace sparkbench {
namespace {

/// Every second case of sample_run(), from `index` - 1.
RunRecord shard(int index) {
  RunRecord run = sample_run();
  run.run.id = "run " + std::to_string(index);
  run.run.resolved["shard"] = std::to_string(index) + "/2";
  run.run.complete = true;
  run.cases.clear();
  const std::vector<CaseRecord> all = sample_run().cases;
  for (std::size_t i = static_cast<std::size_t>(index) - 1; i < all.size(); i += 2) {
    run.cases.push_back(all[i]);
    run.cases.back().position = i;
  }
  return run;
}

std::string merge_error_of(const std::vector<RunRecord>& runs) {
  return message_of<std::invalid_argument>([&] { merge_runs(runs, {}); });
}

TEST(Merge, OfShardsIsTheWholeSweepInOrder) {
  const RunRecord merged = merge_runs({shard(2), shard(1)}, {});
  const std::vector<CaseRecord> all = sample_run().cases;
  ASSERT_EQ(merged.cases.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(merged.cases[i].id, all[i].id);
    EXPECT_EQ(merged.cases[i].position, i);
  }
  EXPECT_TRUE(merged.run.complete);
  EXPECT_EQ(merged.run.resolved, sample_run().run.resolved);
  EXPECT_EQ(merged.run.merged_from.value(), std::vector<std::string>({"run 2", "run 1"}));
}

TEST(Merge, IsIncompleteWithAMissingOrIncompleteShard) {
  EXPECT_FALSE(merge_runs({shard(1)}, {}).run.complete);
  RunRecord incomplete = shard(2);
  incomplete.run.complete = false;
  EXPECT_FALSE(merge_runs({shard(1), incomplete}, {}).run.complete);
}

TEST(Merge, NamesTheShardsThatAreMissing) {
  EXPECT_EQ(missing_shards({shard(1)}), std::vector<std::string>({"2/2"}));
  EXPECT_EQ(missing_shards({shard(2), shard(1)}), std::vector<std::string>());
  RunRecord other = shard(2);
  other.run.resolved["shard"] = "2/3";
  EXPECT_EQ(missing_shards({shard(1), shard(2), other}), std::vector<std::string>({"1/3", "3/3"}));
  RunRecord unsharded = shard(1);
  unsharded.run.resolved.erase("shard");
  EXPECT_EQ(missing_shards({unsharded, shard(1)}), std::vector<std::string>({"2/2"}));
  other.run.resolved["shard"] = "1/1000000";
  EXPECT_EQ(missing_shards({other}).size(), 64u);
}

TEST(Merge, RefusesShardsOfDifferentGrids) {
  std::vector<RunRecord> runs = {shard(1), shard(2)};
  runs[0].run.resolved["grid"] = "aa";
  EXPECT_EQ(merge_error_of(runs), "") << "one of them is of before grids had a hash";
  runs[1].run.resolved["grid"] = "bb";
  EXPECT_NE(merge_error_of(runs).find("run 1 and run 2 are shards 1/2 and 2/2 of different grids"),
            std::string::npos)
      << merge_error_of(runs);
  EXPECT_TRUE(merge_runs(runs, {"method"}).run.complete);
  runs[1].run.resolved["grid"] = "aa";
  EXPECT_EQ(merge_error_of(runs), "");
}

/// A case with a lengths file of `tokens` tokens.
RunRecord run_of_lengths(const std::string& id, const std::string& path, int tokens) {
  RunRecord run = sample_run();
  run.run.id = id;
  run.cases.resize(1);
  run.cases[0].id += "/" + id;
  CaseProblem& problem = run.cases[0].problem;
  problem.batch = 2;
  problem.lengths_spec = "file:" + path;
  problem.total_q = problem.total_k = tokens;
  problem.lengths_hash = "hash" + std::to_string(tokens);
  return run;
}

TEST(Merge, RefusesRunsOfOneFileThatHeldTwoThings) {
  const RunRecord first = run_of_lengths("a", "l", 14), again = run_of_lengths("b", "l", 14);
  const RunRecord changed = run_of_lengths("c", "l", 16), other = run_of_lengths("d", "m", 16);
  EXPECT_EQ(merge_error_of({first, again, other}), "");
  EXPECT_EQ(merge_error_of({first, changed}),
            "the runs a and c have different contents of the file 'l' of --lengths: 2 sequences of "
            "14 rows and 14 keys (hash hash14) and 2 sequences of 16 rows and 16 keys (hash "
            "hash16); to mix them, --allow file");
  EXPECT_NE(merge_error_of({other, first, changed}).find("have different contents"),
            std::string::npos);
  EXPECT_EQ(merge_runs({first, changed}, {"file"}).cases.size(), 2u);
}

TEST(Merge, PutsRunsWithoutShardsBehindEachOther) {
  RunRecord second = shard(1), first = shard(2);
  second.run.resolved.erase("shard");
  first.run.resolved.erase("shard");
  const RunRecord merged = merge_runs({first, second}, {});
  EXPECT_EQ(merged.cases.front().id, first.cases.front().id);
  EXPECT_EQ(merged.cases.back().id, second.cases.back().id);
  EXPECT_TRUE(merged.run.complete);
}

TEST(Merge, KeepsTheTagsThatAllHave) {
  RunRecord first = shard(1), second = shard(2);
  first.run.tags = {{"night", "1"}, {"node", "a"}, {"only", "here"}};
  second.run.tags = {{"night", "1"}, {"node", "b"}};
  EXPECT_EQ(merge_runs({first, second}, {}).run.tags,
            (std::map<std::string, std::string>{{"night", "1"}}));
}

TEST(Merge, SpansTheTimesOfAll) {
  RunRecord first = shard(1), second = shard(2);
  first.run.started_at = "2026-01-02T00:00:00Z";
  first.run.finished_at = "2026-01-03T00:00:00Z";
  second.run.started_at = "2026-01-01T00:00:00Z";
  second.run.finished_at = "2026-01-02T00:00:00Z";
  const RunRecord merged = merge_runs({first, second}, {});
  EXPECT_EQ(merged.run.started_at, "2026-01-01T00:00:00Z");
  EXPECT_EQ(merged.run.finished_at, "2026-01-03T00:00:00Z");
}

TEST(Merge, RefusesDuplicatesUnlessTold) {
  const std::string error = merge_error_of({shard(1), shard(1)});
  EXPECT_NE(error.find("both have volta-fp32acc/fwd"), std::string::npos) << error;
  EXPECT_NE(error.find("--allow duplicates"), std::string::npos) << error;
  RunRecord again = shard(1);
  again.cases[0].status = Status::kIncorrect;
  const RunRecord merged = merge_runs({shard(1), again}, {"duplicates"});
  EXPECT_EQ(merged.cases.size(), shard(1).cases.size());
  EXPECT_EQ(merged.cases[0].status, Status::kIncorrect);
}

TEST(Merge, RefusesAnotherBuildDeviceOrMethodUnlessTold) {
  for (const std::string what : {"build", "device", "method"}) {
    RunRecord other = shard(2);
    if (what == "build") other.build.version = "9";
    if (what == "device") other.environment.device.name = "H100";
    if (what == "method") other.method.tolerance_ratio = 9;
    const std::string error = merge_error_of({shard(1), other});
    EXPECT_NE(error.find("another " + what), std::string::npos) << error;
    EXPECT_NE(error.find("--allow " + what), std::string::npos) << error;
    EXPECT_EQ(merge_runs({shard(1), other}, {what}).cases.size(), sample_run().cases.size());
  }
}

TEST(Merge, NeedsARun) { EXPECT_EQ(merge_error_of({}), "there is no run to merge"); }

TEST(Merge, RefusesAShardThatNoFlagTakes) {
  for (const char* const wrong : {"1/0", "1/-3", "x/y", "3/2", "1/", "/2", "1", "0/2", "1/2/3",
                                  "1/99999999999999999999999"}) {
    RunRecord forged = shard(1);
    forged.run.resolved["shard"] = wrong;
    EXPECT_NE(merge_error_of({forged}).find("says that it is shard '" + std::string(wrong) + "'"),
              std::string::npos)
        << wrong;
  }
}

}  // namespace
}  // namespace sparkbench
