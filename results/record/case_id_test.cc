#include "results/record/case_id.h"

#include <gtest/gtest.h>

#include <sstream>

#include <set>

namespace sparkbench {
namespace {

CaseProblem paper_problem() {
  CaseProblem problem;
  problem.batch = 4;
  problem.heads = 16;
  problem.seqlen_q = problem.seqlen_k = 4096;
  problem.head_dim = 128;
  problem.mask = MaskSpec::causal_if(true);
  problem.dropout_p = 0.1f;
  return problem;
}

TEST(CaseId, NamesTheKernelAndTheProblem) {
  EXPECT_EQ(make_case_id("volta-fp32acc", paper_problem()),
            "volta-fp32acc/fwd/b4/h16/sq4096/sk4096/d128/causal/p0.1");
  EXPECT_EQ(make_case_id("a", CaseProblem(Pass::kBackward, {})), "a/bwd/b1/h1/sq1/sk1/d64/full/p0");
}

TEST(CaseId, NamesAScaleThatIsUnusual) {
  CaseProblem problem;
  problem.softmax_scale = 0.125f;  // 1 / sqrt(64)
  EXPECT_EQ(make_case_id("a", problem), "a/fwd/b1/h1/sq1/sk1/d64/full/p0");
  problem.softmax_scale = 0.25f;
  EXPECT_EQ(make_case_id("a", problem), "a/fwd/b1/h1/sq1/sk1/d64/full/p0/scale0.25");
}

TEST(CaseId, NamesHeadsOfKeysThatAreFewer) {
  CaseProblem problem = paper_problem();
  problem.heads_k = 16;
  EXPECT_EQ(make_case_id("a", problem), "a/fwd/b4/h16/sq4096/sk4096/d128/causal/p0.1");
  problem.heads_k = 2;
  EXPECT_EQ(make_case_id("a", problem), "a/fwd/b4/h16/sq4096/sk4096/d128/causal/p0.1/hk2");
}

TEST(CaseId, NamesAnyMask) {
  CaseProblem problem;
  problem.mask = MaskSpec::window(256);
  EXPECT_EQ(make_case_id("a", problem), "a/fwd/b1/h1/sq1/sk1/d64/window:256/p0");
  problem.mask = MaskSpec::band(20, 5);
  EXPECT_EQ(make_case_id("a", problem), "a/fwd/b1/h1/sq1/sk1/d64/band:20:5/p0");
}

TEST(ProblemKey, IsOfTheProblemAlone) {
  EXPECT_EQ(make_problem_key(paper_problem()), "/fwd/b4/h16/sq4096/sk4096/d128/causal/p0.1");
}

TEST(CaseId, NamesUnusualInputs) {
  CaseProblem problem = paper_problem();
  const std::string plain = "a/fwd/b4/h16/sq4096/sk4096/d128/causal/p0.1";
  EXPECT_EQ(make_case_id("a", problem), plain);
  problem.input_scale = 16;
  EXPECT_EQ(make_case_id("a", problem), plain + "/x16");
  problem.input = "uniform";
  EXPECT_EQ(make_case_id("a", problem), plain + "/uniform/x16");
  problem.softmax_scale = 0.25f;
  EXPECT_EQ(make_case_id("a", problem), plain + "/scale0.25/uniform/x16");
}

TEST(CaseId, IsWithoutInputsThatAreUsersOrUnknown) {
  CaseProblem problem = paper_problem();
  problem.input = "tensors";
  problem.input_scale.reset();
  EXPECT_EQ(make_case_id("a", problem), "a/fwd/b4/h16/sq4096/sk4096/d128/causal/p0.1");
  problem.input.reset();
  EXPECT_EQ(make_case_id("a", problem), "a/fwd/b4/h16/sq4096/sk4096/d128/causal/p0.1");
}

TEST(Fnv1a, GivesThePublishedValues) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8u);
  std::istringstream stream("foobar");
  EXPECT_EQ(fnv1a(stream), 0x85944171f73967e8u);
}

TEST(Hex, HasSixteenDigits) {
  EXPECT_EQ(to_hex(0), "0000000000000000");
  EXPECT_EQ(to_hex(0xAF63DC4C8601EC8Cu), "af63dc4c8601ec8c");
}

TEST(ConfigHash, ChangesWithIdSeedAndMethod) {
  std::set<std::string> hashes;
  hashes.insert(make_config_hash("a", 0, {}));
  hashes.insert(make_config_hash("b", 0, {}));
  hashes.insert(make_config_hash("a", 1, {}));
  Method method;
  method.cache = "hot";
  hashes.insert(make_config_hash("a", 0, method));
  method.min_samples = 30;
  hashes.insert(make_config_hash("a", 0, method));
  method.max_noise = 0.01;
  hashes.insert(make_config_hash("a", 0, method));
  method.flush_bytes = 1;
  hashes.insert(make_config_hash("a", 0, method));
  EXPECT_EQ(hashes.size(), 7u);
  EXPECT_EQ(make_config_hash("a", 0, method), make_config_hash("a", 0, method));
}

TEST(CaseId, NamesPatternsInOnePart) {
  CaseProblem problem;
  problem.pattern_spec = "sink:4+window:1024/full";
  EXPECT_EQ(make_case_id("kernel", problem),
            "kernel/fwd/b1/h1/sq1/sk1/d64/sink:4+window:1024~full/p0");
  problem.pattern_spec = "sink:4+zones:/a path/x";
  problem.zones_hash = "0123456789abcdef";
  const std::string id = make_case_id("kernel", problem);
  EXPECT_TRUE(id.ends_with("/d64/sink:4+zones-0123456789abcdef/p0")) << id;
  problem.pattern_spec = "sink:4+zones:elsewhere";
  EXPECT_EQ(make_case_id("kernel", problem), id);
}

TEST(CaseId, NamesLengthsByWhatTheyAre) {
  CaseProblem problem;
  problem.lengths_spec = "file:/a path/x.txt";
  problem.lengths_hash = "0123456789abcdef";
  const std::string id = make_case_id("kernel", problem);
  EXPECT_TRUE(id.ends_with("/p0/lengths-0123456789abcdef")) << id;
  problem.lengths_spec = "file:elsewhere";
  EXPECT_EQ(make_case_id("kernel", problem), id);
  problem.lengths_spec.reset();
  EXPECT_EQ(make_case_id("kernel", problem).find("lengths"), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
