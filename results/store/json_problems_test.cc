// Records of problems with many numbers: varlen and patterns.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/record/case_id.h"
#include "results/record/test_run.h"
#include "results/store/json.h"

namespace sparkbench {
namespace {

using Json = nlohmann::ordered_json;

CaseRecord packed_case() {
  CaseRecord record = sample_emulated_case();
  record.problem.batch = 2;
  record.problem.seqlen_q = 9;
  record.problem.lengths_spec = "file:my lengths.txt";
  record.problem.total_q = 9;
  record.problem.total_k = 12;
  record.problem.lengths_hash = "0123456789abcdef";
  record.id = make_case_id(record.kernel, record.problem);
  return record;
}

TEST(PackedJson, SaysWhatTheLengthsAre) {
  RunRecord run = sample_run();
  run.cases = {packed_case()};
  const CaseRecord read = run_from_json(run_to_json(run)).cases.front();
  EXPECT_EQ(read.problem.lengths_spec, "file:my lengths.txt");
  EXPECT_EQ(read.problem.total_q, 9);
  EXPECT_EQ(read.problem.total_k, 12);
  EXPECT_EQ(read.problem.lengths_hash, "0123456789abcdef");
  EXPECT_EQ(read.problem.lengths, nullptr);  // no record has it
  EXPECT_EQ(make_case_id(read.kernel, read.problem), packed_case().id);
}

TEST(PackedJson, OfRecordsBeforeThereWereLengthsIsNone) {
  Json json = Json::parse(case_to_json(packed_case()));
  for (const char* name : {"lengths", "total_q", "total_k", "lengths_hash"}) {
    json["problem"].erase(name);
  }
  const CaseProblem problem = case_from_json(json.dump()).problem;
  EXPECT_FALSE(problem.lengths_spec || problem.total_q || problem.total_k || problem.lengths_hash);
}

CaseRecord pattern_case() {
  CaseRecord record = sample_emulated_case();
  record.problem.mask = MaskSpec::full();
  record.problem.pattern_spec = "sink:4+zones:a/b";
  record.problem.zones_hash = "0123456789abcdef";
  record.mask_work = MaskWork{.pairs_visible = 77,
                              .density = 0.25,
                              .pairs_executed = 99,
                              .partial_share = 0.5,
                              .analysis_us = 1.5,
                              .metadata_bytes = 64,
                              .jit_first_call_ms = 231.5,
                              .jit_code_from = "nvrtc"};
  record.id = make_case_id(record.kernel, record.problem);
  return record;
}

TEST(PatternJson, SaysWhichItIsAndWhatItLeaves) {
  RunRecord run = sample_run();
  run.cases = {pattern_case()};
  const CaseRecord read = run_from_json(run_to_json(run)).cases.front();
  EXPECT_EQ(read.problem.pattern_spec, "sink:4+zones:a/b");
  EXPECT_EQ(read.problem.sparse, nullptr);  // no record has it
  EXPECT_EQ(make_case_id(read.kernel, read.problem), pattern_case().id);
  ASSERT_TRUE(read.mask_work);
  EXPECT_EQ(read.mask_work->pairs_executed, 99u);
  EXPECT_EQ(read.mask_work->metadata_bytes, 64u);
  EXPECT_FALSE(read.mask_work->why_no_plan);
  EXPECT_EQ(read.mask_work->jit_first_call_ms, 231.5);
  EXPECT_EQ(read.mask_work->jit_code_from, "nvrtc");
  EXPECT_FALSE(read.mask_work->why_no_jit);
}

TEST(PatternJson, OfRecordsBeforeAnythingWasCompiledSaysNothingOfIt) {
  Json json = Json::parse(case_to_json(pattern_case()));
  for (const char* const name : {"jit_first_call_ms", "jit_code_from", "why_no_jit"}) {
    json["mask_work"].erase(name);
  }
  const CaseRecord read = case_from_json(json.dump());
  EXPECT_EQ(read.mask_work->metadata_bytes, 64u);
  EXPECT_FALSE(read.mask_work->jit_first_call_ms || read.mask_work->jit_code_from);
}

TEST(PatternJson, OfRecordsBeforeThereWerePatternsIsNone) {
  Json json = Json::parse(case_to_json(sample_emulated_case()));
  json.erase("mask_work");
  json["problem"].erase("zones_hash");
  const CaseRecord read = case_from_json(json.dump());
  EXPECT_FALSE(read.mask_work || read.problem.pattern_spec || read.problem.zones_hash);
}

TEST(PackedJson, OfAPlanSaysWhereSequencesBegin) {
  CaseRecord record = packed_case();
  record.problem.lengths =
      std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{{0, 5}, {9, 7}});
  const Json planned = Json::parse(planned_to_json({record}))["cases"][0];
  EXPECT_EQ(planned["cu_seqlens_q"], Json({0, 0, 9}));
  EXPECT_EQ(planned["cu_seqlens_k"], Json({0, 5, 12}));
}

}  // namespace
}  // namespace sparkbench
