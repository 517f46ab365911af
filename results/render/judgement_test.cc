#include "results/render/judgement.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

/// A verified case of `part`.
CaseRecord case_of(const std::string& part, int seqlen, MaskSpec mask, Pass pass) {
  CaseRecord record = sample_emulated_case();
  record.kernel = "mine";
  record.problem.model = part;
  record.problem.seqlen_q = record.problem.seqlen_k = seqlen;
  record.problem.mask = mask;
  record.problem.pass = pass;
  record.warnings.clear();
  return record;
}

/// Two lengths, two masks and two passes; those that `is_wrong` says are incorrect.
template <class IsWrong>
RunRecord run_where(IsWrong is_wrong) {
  RunRecord run = sample_run();
  run.cases.clear();
  for (const int seqlen : {16, 17, 64, 200}) {
    for (const MaskSpec mask : {MaskSpec(), MaskSpec::causal()}) {
      for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
        CaseRecord record = case_of("tails", seqlen, mask, pass);
        if (is_wrong(record.problem)) {
          record.status = Status::kIncorrect;
          record.reason = Reason{"E-INCORRECT", "o errs"};
          record.accuracy->worst_index = {0, 3, 1, 5};
          record.accuracy->worst_got = 0.5;
          record.accuracy->worst_want = 0.25;
          record.repro = "sparkbench sweep --seqlen " + std::to_string(seqlen);
        }
        run.cases.push_back(record);
      }
    }
  }
  return run;
}

std::string first_trait(const RunRecord& run) {
  const auto traits = common_traits(run, "mine");
  if (traits.empty()) return "";
  return (traits[0].is_exact ? "exactly " : "only ") + traits[0].what;
}

TEST(CommonTraits, NamesWhatTheWrongCasesHaveAndTheRightOnesLack) {
  const auto causal = MaskSpec::causal();
  EXPECT_EQ(first_trait(run_where([&](const Problem& p) { return p.mask == causal; })),
            "exactly a mask");
  EXPECT_EQ(first_trait(run_where([](const Problem& p) { return p.seqlen_k % 16 != 0; })),
            "exactly a seqlen_q that is no multiple of 16");
  EXPECT_EQ(first_trait(run_where([](const Problem& p) { return p.seqlen_k == 200; })),
            "exactly more than 64 keys");
  EXPECT_EQ(first_trait(run_where([](const CaseProblem& p) { return p.pass == Pass::kBackward; })),
            "exactly a backward pass");
}

TEST(CommonTraits, AreNoneOfARightKernelOrOneThatIsWrongEverywhere) {
  EXPECT_EQ(first_trait(run_where([](const Problem&) { return false; })), "");
  const RunRecord all = run_where([](const Problem&) { return true; });
  EXPECT_TRUE(common_traits(all, "mine").empty());
  EXPECT_NE(format_judgement(all, "mine", {}).find("every case that was tried"), std::string::npos);
  EXPECT_TRUE(common_traits(all, "another").empty());
}

TEST(Judgement, TellsARightKernel) {
  const std::string page =
      format_judgement(run_where([](const Problem&) { return false; }), "mine", {});
  EXPECT_EQ(page.substr(0, page.find('\n')), "mine on V100 (emulated): right in all of 16 cases");
  EXPECT_NE(page.find("tails 16\n"), std::string::npos) << page;
  EXPECT_EQ(page.find("wrong"), std::string::npos) << page;
}

TEST(Judgement, TellsWhereAKernelIsWrongAndHowToRepeatIt) {
  const std::string page = format_judgement(
      run_where([](const Problem& p) { return p.seqlen_k == 17 || p.seqlen_k == 200; }), "mine",
      {});
  EXPECT_NE(page.find("wrong in 8 of 16 cases\n"), std::string::npos) << page;
  EXPECT_NE(page.find("tails 8 of 16\n"), std::string::npos) << page;
  EXPECT_NE(page.find("E-INCORRECT: o errs; o[0, 3, 1, 5] is 0.5000, exact is 0.2500\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("sparkbench sweep --seqlen 17\n"), std::string::npos) << page;
}

RunRecord timed_run() {
  RunRecord run = sample_run();
  run.cases.clear();
  for (const char* kernel : {"mine", "other", "slow", "slower", "slowest"}) {
    CaseRecord record = sample_timed_case();
    record.kernel = kernel;
    record.problem.model = "speed";
    record.reason.reset();
    record.warnings.clear();
    record.time_ms->median = 1.0 + static_cast<double>(run.cases.size());
    run.cases.push_back(record);
  }
  return run;
}

TEST(Judgement, ComparesTimesWithTheFastestOthers) {
  const RunRecord run = timed_run();
  const std::string page = format_judgement(run, "mine", {});
  EXPECT_NE(page.find("other 2.00, slow 3.00, slower 4.00\n"), std::string::npos) << page;
  RunRecord verified = run;  // small cases of several judged kernels
  for (CaseRecord& record : verified.cases) record.problem.model = "tails";
  EXPECT_EQ(format_judgement(verified, "mine", {}).find("other 2.00"), std::string::npos);
  EXPECT_NE(page.find("3 timed launches, each with other inputs, were compared"), std::string::npos)
      << page;
}

TEST(Judgement, SaysWhatWasNotJudged) {
  RunRecord run = sample_run();
  run.cases.clear();
  CaseRecord skipped = case_of("varlen", 64, MaskSpec(), Pass::kForward);
  skipped.status = Status::kSkipped;
  skipped.reason = Reason{"E-UNSUPPORTED", "no varlen"};
  run.cases.push_back(skipped);
  const std::string page = format_judgement(run, "mine", {});
  EXPECT_NE(page.find("not judged: none of its cases was verified"), std::string::npos) << page;
  EXPECT_NE(page.find("no varlen (1 case)"), std::string::npos) << page;
}

nlohmann::json json_of(const RunRecord& run) {
  const auto json = nlohmann::json::parse(judgement_json(run, {"mine"}));
  EXPECT_EQ(json["schema"]["name"], "sparkbench.judgement");
  EXPECT_EQ(json["kernels"].size(), 1u);
  return json["kernels"][0];
}

TEST(JudgementJson, HasTheVerdictTheTraitsAndTheSmallestWrongCase) {
  const auto wrong = json_of(run_where([](const Problem& p) { return p.seqlen_k % 16 != 0; }));
  EXPECT_EQ(wrong["kernel"], "mine");
  EXPECT_EQ(wrong["verdict"], "wrong");
  EXPECT_EQ(wrong["ok"], 8);
  EXPECT_EQ(wrong["incorrect"], 8);
  EXPECT_EQ(wrong["parts"][0]["part"], "tails");
  EXPECT_EQ(wrong["parts"][0]["right"], 8);
  EXPECT_EQ(wrong["parts"][0]["tried"], 16);
  EXPECT_EQ(wrong["traits"][0]["what"], "a seqlen_q that is no multiple of 16");
  EXPECT_EQ(wrong["traits"][0]["is_exact"], true);
  const auto& smallest = wrong["smallest_wrong"];
  EXPECT_EQ(smallest["repro"], "sparkbench sweep --seqlen 17");
  EXPECT_EQ(smallest["code"], "E-INCORRECT");
  EXPECT_EQ(smallest["worst"]["index"], nlohmann::json({0, 3, 1, 5}));
  EXPECT_EQ(smallest["worst"]["got"], 0.5);
  EXPECT_EQ(smallest["worst"]["exact"], 0.25);
  const auto right = json_of(run_where([](const Problem&) { return false; }));
  EXPECT_EQ(right["verdict"], "right");
  EXPECT_TRUE(right["smallest_wrong"].is_null());
  EXPECT_TRUE(right["error"]["rel_l1"].is_number());
}

TEST(JudgementJson, HasTimesBesideTheFastestOthers) {
  const auto speeds = json_of(timed_run())["speeds"];
  ASSERT_EQ(speeds.size(), 1u);
  EXPECT_EQ(speeds[0]["dtype"], "fp16");
  EXPECT_EQ(speeds[0]["time_ms"], 1.0);
  ASSERT_EQ(speeds[0]["beside"].size(), 3u);
  EXPECT_EQ(speeds[0]["beside"][0]["kernel"], "other");
  EXPECT_EQ(speeds[0]["beside"][2]["time_ms"], 4.0);
}

std::string page_of(const RunRecord& run) { return judgement_page(run, {"mine"}); }

TEST(JudgementPage, TellsWhereAKernelIsWrongAndHowToRepeatIt) {
  const std::string page = page_of(run_where([](const Problem& p) { return p.seqlen_k == 17; }));
  for (const char* text : {"<h2>mine: <span class=\"wrong\">wrong in 4 of 16 cases</span></h2>",
                           "<dt>right</dt><dd>tails 12 of 16</dd>",
                           "<dd>E-INCORRECT: o errs; o[0, 3, 1, 5] is 0.5000, exact is 0.2500</dd>",
                           "<dt>repeat</dt><dd><code>sparkbench sweep --seqlen 17</code></dd>",
                           "V100 (emulated)", "<dt>bits</dt>", "<dt>error</dt>"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text << page;
  }
}

TEST(JudgementPage, TellsARightKernelAndItsTimes) {
  const std::string page = page_of(timed_run());
  EXPECT_NE(page.find("<span class=\"right\">right in all of 1 cases</span>"), std::string::npos)
      << page;
  EXPECT_NE(page.find("other 2.00 (0.500x), slow 3.00 (0.333x), slower 4.00 (0.250x)"),
            std::string::npos)
      << page;
}

TEST(JudgementPage, LetsNoTextOfARunBecomeMarkup) {
  const std::string nasty = "</dd><script>alert('&')</script>\n\x1b[31m";
  RunRecord run = run_where([](const Problem& p) { return p.seqlen_k == 17; });
  run.run.argv = {"sparkbench", "judge", nasty};
  run.environment.device.name = run.build.version = run.run.started_at = nasty;
  for (CaseRecord& record : run.cases) {
    record.kernel = record.repro = nasty;
    record.problem.model = nasty;
    if (record.reason) record.reason->message = nasty;
    if (record.accuracy) record.accuracy->output = nasty;
  }
  RunRecord timed = timed_run();
  for (CaseRecord& record : timed.cases) record.kernel += nasty;
  for (const std::string& page :
       {judgement_page(run, {nasty}), judgement_page(timed, {"mine" + nasty})}) {
    EXPECT_EQ(page.find("<script"), std::string::npos) << page;
    EXPECT_EQ(page.find('\x1b'), std::string::npos) << page;
    EXPECT_NE(page.find("&lt;script>alert('&amp;')&lt;/script>"), std::string::npos) << page;
  }
}

}  // namespace
}  // namespace sparkbench
