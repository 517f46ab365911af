// sparkbench-model against, and what the programs say of it.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/model/against/published_check.h"
#include "harness/model/predict/test_cycles.h"
#include "harness/model/tool/test_model_program.h"
#include "results/store/output_file.h"
#include "results/store/test_folder.h"
#include "results/study/prediction_check.h"

namespace sparkbench {
namespace {

using Json = nlohmann::ordered_json;

Json shipped_json() { return Json::parse(text_of_file(SPARKBENCH_PUBLISHED_TIMES)); }

ProgramResult against(const Json& json, const std::string& flags = "") {
  const TemporaryFolder folder;
  write_file(folder.path() / "times.json", json.dump());
  return run_model("against " + (folder.path() / "times.json").string() + flags);
}

/// One block on one SM: a kernel of 64 rows and keys with test_instance()'s cycles.
Json one_block() {
  CyclesFile cycles;
  cycles.instances = {test_instance("other/d64", 1)};
  return {{"schema", 1},
          {"limits", {{"fused-forward", 0.5}}},
          {"cycles", Json::parse(cycles_to_json(cycles))},
          {"kernels",
           {{{"id", "other/d64"},
             {"least_head_dim", 8},
             {"head_dim", 64},
             {"block_rows", 64},
             {"step_columns", 64},
             {"output_bytes", 2}}}},
          {"sets",
           {{{"class", "fused-forward"},
             {"kind", "fused"},
             {"held_out", false},
             {"pass", "fwd"},
             {"source", "a test"},
             {"kernels", {"other/d64"}},
             {"points", {{1, 64, 64, 0.01}}}}}}};
}

TEST(CommandAgainst, ShippedTimesAreWithinTheirLimits) {
  const ProgramResult result = run_model("against " SPARKBENCH_PUBLISHED_TIMES);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(contains(result.out, "chain-backward, held out")) << result.out;
}

TEST(CommandAgainst, SentencesOfTheProgramsSayWhatItFinds) {
  const PublishedTimes times = published_from_json(text_of_file(SPARKBENCH_PUBLISHED_TIMES));
  const ModelErrors found = model_errors(summarize_published(times));
  EXPECT_EQ(found, kModelErrors) << "kModelErrors should be {" << found.fused_forward << ", "
                                 << found.chain_forward << ", " << found.chain_backward << ", "
                                 << found.layer_forward << ", " << found.layer_training << ", "
                                 << found.in_band << "}";
}

TEST(CommandAgainst, SchedulesAForeignKernelAsOurOwn) {
  const PublishedTimes times = published_from_json(one_block().dump());
  const PublishedSet& set = times.sets.front();
  const double likely = time_of_published(times, set, set.points.front()).ms.likely;
  PassLaunch launch{.grid = {{{1, 0}}, 1}, .hbm_bytes = 4.0 * 64 * 64 * 2};
  const KernelInstance instance{.id = "other/d64", .products = 2};
  launch.instance = &instance;
  EXPECT_DOUBLE_EQ(likely, time_of_launches({launch}, times.cycles).ms.likely);
  EXPECT_GT(likely, 3500 / 1380e3);  // prologue, a tile and epilogue, at the sustained clock
}

TEST(CommandAgainst, LaunchesBesideTakeTheirBytes) {
  Json json = one_block();
  const auto likely = [&] {
    const PublishedTimes times = published_from_json(json.dump());
    return time_of_published(times, times.sets[0], times.sets[0].points[0]).ms.likely;
  };
  const double without = likely();
  json["sets"][0]["beside"] = {{{"launch", "zeros"}, {"tensors", 2}}};
  EXPECT_NEAR(likely() - without, 2.0 * 64 * 64 * 2 / 760e6 + kLaunchMs, 1e-4);
}

TEST(CommandAgainst, EndsWithOneWhenAnErrorGrew) {
  Json json = shipped_json();
  json["limits"]["chain-forward"] = 0.001;
  const ProgramResult result = against(json);
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_TRUE(contains(result.err, "chain-forward: the mean error is ")) << result.err;
  EXPECT_TRUE(contains(result.err, "at most 0.1 % is allowed")) << result.err;
}

TEST(CommandAgainst, GivesEveryPointToPrograms) {
  const ProgramResult result = against(one_block(), " --json");
  const Json document = Json::parse(result.out);
  ASSERT_EQ(document["points"].size(), 1u);
  const Json& point = document["points"][0];
  EXPECT_EQ(point["published_ms"], 0.01);
  EXPECT_LT(point["predicted_ms"]["low"], point["predicted_ms"]["likely"]);
  const double ratio = point["predicted_ms"]["likely"].get<double>() / 0.01;
  EXPECT_DOUBLE_EQ(document["classes"][0]["mean_ratio"].get<double>(), ratio);
  EXPECT_DOUBLE_EQ(document["classes"][0]["mean_error"].get<double>(), std::abs(ratio - 1));
}

TEST(CommandAgainst, SaysWhatIsWrongWithAFile) {
  const auto refusal = [](auto&& change) {
    Json json = one_block();
    change(json);
    const ProgramResult result = against(json);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    return result.err;
  };
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_TRUE(contains(text, part)) << text;
  };
  says(refusal([](Json& json) { json["schema"] = 2; }), "schema: is 2; allowed: 1");
  says(refusal([](Json& json) { json["limits"].clear(); }), "limits: has no 'fused-forward'");
  says(refusal([](Json& json) { json["sets"][0]["kind"] = "other"; }),
       "sets[0]: kind: unknown 'other'; allowed: fused, chain, layer");
  says(refusal([](Json& json) { json["sets"][0]["points"][0][3] = -1; }),
       "sets[0].points[0]: is -1 ms; allowed: more than 0");
  says(refusal([](Json& json) {
         json["sets"][0]["points"][0] = {1, 2};
       }),
       "sets[0].points[0]: is [1,2]; allowed: an array of 4");
  says(refusal([](Json& json) { json["kernels"][0]["id"] = "none"; }),
       "kernels[0]: 'none' has no cycles");
  says(refusal([](Json& json) { json["sets"][0].erase("points"); }), "sets[0]: ");
  says(refusal([](Json& json) { json["sets"][0]["points"][0][2] = 128; }),
       "fused-forward: none of its kernels serves head_dim 128");
}

TEST(CommandAgainst, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  for (const std::string& path : unreadable_paths(folder)) {
    expect_model_refused(run_model("against " + path), 2, path);
  }
}

}  // namespace
}  // namespace sparkbench
