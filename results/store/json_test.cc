#include "results/store/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "kernels/testing/messages.h"
#include "results/record/test_run.h"
#include "sweeps/axes.h"

namespace sparkbench {
namespace {

using Json = nlohmann::ordered_json;

std::string schema_text() {
  std::ifstream file(SPARKBENCH_RUN_SCHEMA);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The error for a deliberate change; removes the hash first.
std::string error_of(Json json) {
  if (json.is_object()) json.erase("run_hash");
  return message_of<std::invalid_argument>([&] { run_from_json(json.dump()); });
}

/// The first case that was emulated.
Json& emulated_case(Json& run) {
  return *std::find_if(run["cases"].begin(), run["cases"].end(),
                       [](const Json& record) { return !record["emulation"].is_null(); });
}

RunRecord complete_run() {
  RunRecord run = sample_run();
  run.cases.push_back(sample_emulated_case());
  run.cases.push_back(sample_timed_case());
  run.cases.push_back(sample_predicted_case());
  run.cases.push_back(sample_emulated_case());
  run.cases.back().predicted_reason = Reason{"P-NO-CYCLES", "no cycles of it"};
  const RunRecord backward = sample_backward_run();
  run.cases.insert(run.cases.end(), backward.cases.begin(), backward.cases.end());
  run.method.deterministic = backward.method.deterministic;
  return run;
}

TEST(Json, ReadsBackEqual) {
  const std::string text = run_to_json(complete_run());
  EXPECT_EQ(run_to_json(run_from_json(text)), text);
  for (const CaseRecord& record : complete_run().cases) {
    const std::string line = case_to_json(record);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(case_to_json(case_from_json(line)), line);
  }
}

TEST(Json, BelievesNoRunThatWasChanged) {
  const std::string text = run_to_json(sample_run());
  // A field with another name is not the hash, and then every other field reads as before.
  for (std::size_t i = 0; i < text.rfind("run_hash"); i += 37) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_THROW(run_from_json(changed), std::invalid_argument) << changed.substr(i, 20);
  }
  EXPECT_THROW(run_from_json(text + "\n"), ChangedRun);
  EXPECT_THROW(run_from_json(text.substr(0, text.size() - 1)), ChangedRun);
}

TEST(Json, RefusesNumbersThatNoDoubleHoldsInShort) {
  for (const std::string& number : {std::string("1e999"), std::string(100'000, '9')}) {
    try {
      case_from_json("{\"flops\": " + number + "}");
      FAIL() << "no error";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find("not JSON: "), 0u) << error.what();
      EXPECT_LT(std::string(error.what()).size(), 400u);
    }
  }
}

TEST(Json, RefusesTextThatIsNestedTooDeeply) {
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    std::string nested = "1";
    for (int i = 0; i < 500; ++i) nested = open + nested + close;
    EXPECT_EQ(message_of<std::invalid_argument>(
                  [&] { case_from_json("{\"x\": " + nested + ", \"id\": \"\"}"); }),
              "not a run: nested more than 100 levels deep");
  }
  const std::string brackets = "{\"x\": [\"" + std::string(200, '[') + "\\\"{\"]}";
  EXPECT_EQ(message_of<std::invalid_argument>([&] { case_from_json(brackets); }), "id: is missing");
}

TEST(Json, NeedsNoHashOfARun) {
  const std::string text = run_to_json(sample_run());
  Json json = Json::parse(text);
  json["run"]["id"] = "another";
  EXPECT_THROW(run_from_json(json.dump()), ChangedRun);
  EXPECT_EQ(run_from_json(json.dump(), RunHash::kIgnored).run.id, "another");
  json.erase("run_hash");
  EXPECT_EQ(run_from_json(json.dump()).run.id, "another");
}

TEST(Json, KeepsEveryFieldOfARecord) {
  const CaseRecord record = sample_timed_case();
  const CaseRecord copy = case_from_json(case_to_json(record));
  EXPECT_EQ(copy.id, record.id);
  EXPECT_EQ(copy.problem.seed, 0xFEDCBA9876543210u);
  EXPECT_EQ(copy.problem.dropout_p, 0.1f);
  EXPECT_EQ(copy.problem.mask, MaskSpec::causal());
  EXPECT_EQ(copy.accumulator, Accumulator::kFp32);
  EXPECT_EQ(copy.time_ms.value().samples, record.time_ms->samples);
  EXPECT_EQ(copy.accuracy.value().worst_index, record.accuracy->worst_index);
  EXPECT_EQ(copy.warnings.at(0).message, record.warnings[0].message);
  EXPECT_EQ(copy.emulation.has_value(), false);
  EXPECT_EQ(copy.clock_mhz.value().samples, record.clock_mhz->samples);
  EXPECT_EQ(copy.sampling.value().median_error, 0.002);
  EXPECT_EQ(copy.memory_bytes.value().unfused, 33u << 20);
  EXPECT_EQ(copy.speedup.value().over, "cublas-fp16");
  EXPECT_EQ(copy.speedup->interleaved, true);
  EXPECT_EQ(copy.accuracy->output_hash, "cbf29ce484222325");
  EXPECT_EQ(copy.device, "cuda:3");
  EXPECT_EQ(copy.position, 17u);
  EXPECT_EQ(copy.elapsed_s, 1.5);
  EXPECT_EQ(copy.parts.value().copy_gbps, 4270.5);
  EXPECT_EQ(copy.parts->of.at(0).name, "P = softmax S");
  EXPECT_EQ(copy.parts->of[0].copy_fraction, 0.95);
  EXPECT_EQ(case_from_json(case_to_json(sample_emulated_case())).emulation.value().shuffles, 7u);
}

TEST(Json, ReadsABoundOfEarlierVersions) {
  Json run = Json::parse(run_to_json(complete_run()));
  run.erase("run_hash");
  emulated_case(run)["bound"] = {{"chip", "V100-SXM2"}, {"tflops", 98.5}};
  const RunRecord read = run_from_json(run.dump());
  EXPECT_EQ(read.cases.size(), complete_run().cases.size());
  EXPECT_EQ(run_to_json(read).find("\"bound\""), std::string::npos);
}

TEST(Json, WritesGradientsInPlaceOfTheOutput) {
  const CaseRecord record = sample_backward_run().cases.at(0);
  const Json json = Json::parse(case_to_json(record));
  EXPECT_EQ(json["accuracy"].size(), 4u);
  EXPECT_TRUE(json["accuracy"]["o"].is_null());
  EXPECT_EQ(json["accuracy"]["dk"]["output"], "dk");
  EXPECT_EQ(json["accuracy"]["dk"]["output_hash"], record.gradient_accuracy->dk.output_hash);
  EXPECT_FALSE(json.contains("gradient_accuracy"));
  const CaseRecord copy = case_from_json(case_to_json(record));
  EXPECT_FALSE(copy.accuracy.has_value());
  EXPECT_EQ(copy.gradient_accuracy.value().dk.rel_l1, record.gradient_accuracy->dk.rel_l1);
}

TEST(Json, KeepsTheOutputOfAForwardPassBesideItsGradients) {
  CaseRecord record = sample_backward_run().cases.at(0);
  record.gradient_accuracy->o = sample_timed_case().accuracy;
  const CaseRecord copy = case_from_json(case_to_json(record));
  EXPECT_FALSE(copy.accuracy.has_value());
  EXPECT_EQ(accuracies_of(copy).size(), 4u);
  EXPECT_EQ(find_accuracy(copy, "o")->output_hash, "cbf29ce484222325");
  EXPECT_EQ(find_accuracy(copy, "o")->lse_max_abs, record.gradient_accuracy->o->lse_max_abs);
}

TEST(Json, ReadsGradientsOfBeforeTheyHadAnOutputBesideThem) {
  Json json = Json::parse(case_to_json(sample_backward_run().cases.at(0)));
  json["accuracy"].erase("o");
  EXPECT_EQ(accuracies_of(case_from_json(json.dump())).size(), 3u);
}

TEST(Json, KeepsEveryStatus) {
  CaseRecord record = sample_timed_case();
  for (const Status status : {Status::kUnverified, Status::kPredicted}) {
    record.status = status;
    EXPECT_EQ(case_from_json(case_to_json(record)).status, status);
  }
}

TEST(Json, ReadsNeitherAccuracyWhereThereIsNone) {
  CaseRecord record = sample_backward_run().cases.at(0);
  record.gradient_accuracy.reset();
  EXPECT_TRUE(Json::parse(case_to_json(record))["accuracy"].is_null());
  EXPECT_TRUE(accuracies_of(case_from_json(case_to_json(record))).empty());
}

TEST(Json, TellsWhetherTheRunWasDeterministic) {
  EXPECT_TRUE(Json::parse(run_to_json(sample_run()))["method"]["deterministic"].is_null());
  RunRecord run = sample_backward_run();
  run.method.deterministic = true;
  EXPECT_EQ(run_from_json(run_to_json(run)).method.deterministic, true);
}

TEST(Json, WritesNullForUnknownAndNotFinite) {
  RunRecord run = sample_run();
  const Json json = Json::parse(run_to_json(run));
  EXPECT_TRUE(json["run"]["finished_at"].is_null());
  EXPECT_TRUE(json["cases"][0]["time_ms"].is_null());
  EXPECT_EQ(json["cases"][0]["warnings"][0]["code"], "W-EMULATED-NO-TIME");
  const Json& incorrect = json["cases"].back();
  EXPECT_TRUE(incorrect["accuracy"]["max_abs"].is_null());
  EXPECT_TRUE(std::isnan(run_from_json(run_to_json(run)).cases.back().accuracy.value().max_abs));
}

TEST(Json, ReadsMetricsOfNonfiniteOutputsAsNone) {
  Json json = Json::parse(case_to_json(sample_emulated_case()));
  json["accuracy"]["rel_l1"] = 0;
  json["accuracy"]["nonfinite"] = 16384;
  json["accuracy"].erase("error_over_unfused");  // as in records older than this field
  const CaseRecord record = case_from_json(json.dump());
  EXPECT_TRUE(std::isnan(record.accuracy.value().rel_l1));
  EXPECT_TRUE(Json::parse(case_to_json(record))["accuracy"]["rel_l1"].is_null());
}

TEST(Json, WritesNumbersAsTheyWereTyped) {
  const Json json = Json::parse(run_to_json(sample_run()));
  EXPECT_EQ(json["cases"][0]["problem"]["dropout_p"].dump(), "0.1");
  EXPECT_EQ(json["run"]["seed"].dump(), "18364758544493064720");
}

TEST(Json, IsPrettyAndSurvivesForeignText) {
  RunRecord run = sample_run();
  run.run.argv = {"\xff"};
  const std::string text = run_to_json(run);
  EXPECT_EQ(text.substr(0, 14), "{\n  \"schema\": ");
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(run_from_json(text).run.argv.at(0), "\xEF\xBF\xBD");
}

TEST(Json, NamesTheFieldThatIsWrong) {
  const Json good = Json::parse(run_to_json(sample_run()));
  Json bad = good;
  bad["cases"][2]["problem"].erase("batch");
  EXPECT_EQ(error_of(bad), "cases[2].problem.batch: is missing");
  bad = good;
  bad["cases"][0]["flops"] = "many";
  EXPECT_EQ(error_of(bad), "cases[0].flops: expected an integer, found string");
  bad = good;
  bad["cases"][0]["flops"] = -1;
  EXPECT_EQ(error_of(bad), "cases[0].flops: -1 is out of range");
  bad = good;
  bad["cases"][0]["problem"]["batch"] = 5'000'000'000;
  EXPECT_EQ(error_of(bad), "cases[0].problem.batch: 5000000000 is out of range");
  bad = good;
  bad["cases"][0]["status"] = "fine";
  EXPECT_EQ(error_of(bad), "cases[0].status: unknown name 'fine'");
  bad = good;
  bad["run"]["tags"] = {{"host", 1}};
  EXPECT_EQ(error_of(bad), "run.tags.host: expected a string, found number");
  bad = Json::parse(run_to_json(sample_backward_run()));
  bad["cases"][0]["accuracy"].erase("dk");
  EXPECT_EQ(error_of(bad), "cases[0].accuracy.dk: is missing");
  EXPECT_EQ(error_of(Json(3)), "document: expected an object, found number");
}

TEST(Json, IgnoresFieldsOfALaterVersion) {
  Json json = Json::parse(run_to_json(sample_run()));
  json["cases"][0]["added_later"] = 1;
  EXPECT_EQ(error_of(json), "");
}

TEST(Json, TakesWhatWasNotWrittenForUnknown) {
  Json json = Json::parse(case_to_json(sample_timed_case()));
  json.erase("position");
  EXPECT_FALSE(case_from_json(json.dump()).position.has_value());
}

TEST(Json, NamesTheMaskAndWhetherItIsCausal) {
  CaseRecord record = sample_timed_case();
  Json problem = Json::parse(case_to_json(record))["problem"];
  EXPECT_EQ(problem["mask"], "causal");
  EXPECT_EQ(problem["causal"], true);
  record.problem.mask = MaskSpec::window(256);
  problem = Json::parse(case_to_json(record))["problem"];
  EXPECT_EQ(problem["mask"], "window:256");
  EXPECT_EQ(problem["causal"], false);
  EXPECT_EQ(case_from_json(case_to_json(record)).problem.mask, MaskSpec::window(256));
}

TEST(Json, TakesAMaskNotWrittenFromCausal) {
  Json json = Json::parse(case_to_json(sample_timed_case()));
  json["problem"].erase("mask");
  EXPECT_EQ(case_from_json(json.dump()).problem.mask, MaskSpec::causal());
  json["problem"]["causal"] = false;
  EXPECT_EQ(case_from_json(json.dump()).problem.mask, MaskSpec::full());
}

TEST(Json, RefusesAMaskThatIsNone) {
  Json json = Json::parse(run_to_json(sample_run()));
  json["cases"][0]["problem"]["mask"] = "windows:3";
  EXPECT_EQ(error_of(json).substr(0, 47), "cases[0].problem.mask: 'windows:3' is no mask, ");
  json["cases"][0]["problem"]["mask"] = nullptr;
  EXPECT_EQ(error_of(json), "cases[0].problem.mask: expected a string, found null");
}

TEST(Json, KeepsTheDropoutAndScaleThatWereApplied) {
  Json json = Json::parse(case_to_json(sample_timed_case()));
  json["problem"]["dropout_p_applied"] = 0.1;  // by a candidate with its own dropout
  json["problem"]["scale"] = 0.25;
  const CaseRecord record = case_from_json(json.dump());
  EXPECT_EQ(record.problem.scale(), 0.25f);
  EXPECT_EQ(Json::parse(case_to_json(record)), json);
}

TEST(Json, HasEveryAxisInTheSchema) {
  const Json definitions = Json::parse(schema_text())["$defs"];
  for (const Axis* axis : recorded_axes()) {
    const Json& holder = definitions[axis->is_of_case ? "case" : "problem"];
    EXPECT_TRUE(holder["properties"].contains(axis->name)) << axis->name;
    const Json& required = holder["required"];
    EXPECT_NE(std::find(required.begin(), required.end(), axis->name), required.end())
        << axis->name;
  }
}

TEST(PlannedJson, HasWhatIsKnownBeforeACaseRuns) {
  const CaseRecord record = sample_timed_case();
  const Json planned = Json::parse(planned_to_json({record}))["cases"][0];
  const Json whole = Json::parse(case_to_json(record));
  for (const char* name : {"id", "config_hash", "kernel", "problem", "flops", "bytes",
                           "memory_bytes", "repro", "input", "input_scale"}) {
    EXPECT_EQ(planned.at(name), whole.at(name)) << name;
  }
  for (const char* name : {"time_ms", "accuracy", "status", "reason", "valid", "elapsed_s"}) {
    EXPECT_FALSE(planned.contains(name)) << name;
  }
}

TEST(PlannedJson, SaysWhyACaseWillBeSkipped) {
  CaseRecord record = sample_emulated_case();
  record.status = Status::kSkipped;
  record.reason = Reason{"E-UNSUPPORTED", "no such head_dim"};
  const Json planned = Json::parse(planned_to_json({record}))["cases"][0];
  EXPECT_EQ(planned["status"], "skipped");
  EXPECT_EQ(planned["reason"]["code"], "E-UNSUPPORTED");
}

TEST(Json, RefusesTextThatIsNotJson) {
  EXPECT_THROW(case_from_json("{\"id\": \"a"), std::invalid_argument);
  EXPECT_THROW(case_from_json(""), std::invalid_argument);
}

TEST(Json, IsReadOfThisMajorVersionAlone) {
  const auto error_of = [](const std::string& name, const std::string& version) {
    RunRecord run = sample_run();
    run.schema = {name, version};
    try {
      run_from_json(run_to_json(run));
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("");
  };
  EXPECT_EQ(error_of("sparkbench.run", "1.99.0"), "");
  EXPECT_EQ(error_of("other", "1.0.0"), "schema.name: is 'other'; allowed: sparkbench.run");
  EXPECT_EQ(error_of("sparkbench.run", "2.0.0"),
            "schema.version: is '2.0.0'; this program reads 1.x");
  EXPECT_NE(error_of("sparkbench.run", ""), "");
}

}  // namespace
}  // namespace sparkbench
