// sparkbench encoder, from its flags to its records.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

using Json = nlohmann::json;

const std::string kEncoder = "encoder --device emulated-v100 --preset quick-encoder ";
const std::string kPaper =
    kEncoder + "--preset paper-encoder --kernel volta-fp32acc,unfused-fp16 --in-process ";

Json run_of(const std::string& arguments, int exit_code = 0) {
  const ProgramResult result = run_sparkbench(arguments + " -q --json -");
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  return Json::parse(result.out);
}

TEST(Encoder, PredictsThePapersLayersWithTheirStages) {
  const Json run = run_of(kPaper + "--headdim 64 --seqlen 2k --causal false --ffn 8192");
  ASSERT_EQ(run["cases"].size(), 8u);  // two kernels, dropouts and rests
  for (const Json& each : run["cases"]) {
    EXPECT_EQ(each["status"], "predicted");
    EXPECT_EQ(each["reason"]["code"], "E-ONLY-PREDICTED");
    double sum = 0;
    for (const Json& stage : each["layer"]["stages"]) {
      sum += stage["predicted_ms"]["likely"].get<double>();
    }
    const Json& predicted = each["predicted"];
    EXPECT_NEAR(sum, predicted["time_ms"]["likely"].get<double>(), 1e-9);
    const double mha = each["layer"]["stages"][1]["predicted_ms"]["likely"];
    EXPECT_NEAR(each["layer"]["attention_share"].get<double>(), mha / sum, 1e-9);
    EXPECT_EQ(predicted["speedup"].is_null(),
              each["kernel"] == "unfused-fp16" && each["problem"]["layer"]["rest"] == "unfused");
    EXPECT_TRUE(each["time_ms"].is_null());
  }
}

TEST(Encoder, SaysOfWhatIsPredictedThatNothingRan) {
  const ProgramResult result =
      run_sparkbench(kPaper + "--headdim 64 --seqlen 2k --causal false --ffn 8192 --no-progress");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "0 ok, 0 incorrect, 0 skipped, 0 failed, 8 predicted"))
      << result.out;
  EXPECT_TRUE(contains(result.out, "\nFastest by prediction volta-fp32acc: ")) << result.out;
  EXPECT_TRUE(contains(result.out, "not timed, and nothing was checked: 4 problems"));
  EXPECT_TRUE(contains(result.out, "of BERT layers in eager PyTorch")) << result.out;
}

TEST(Encoder, OnlyPredictsASmallLayerThatIsNotToBeVerified) {
  const Json run = run_of(
      "encoder --device emulated-v100 --kernel volta-fp32acc --hidden 64 --ffn 64 --headdim 64 "
      "--seqlen 64 --batch 1 --mask causal --dropout 0.1 --rest fused --no-verify");
  EXPECT_EQ(run["cases"][0]["status"], "predicted");
  EXPECT_TRUE(run["cases"][0]["layer"]["errors"].empty());
}

TEST(Encoder, EmulatesHoppersKernelInALayer) {
  const Json run = run_of(
      "encoder --device emulated-h100 --kernel hopper-fp32acc --hidden 64 --ffn 64 --headdim 64 "
      "--seqlen 64 --batch 1 --mask causal --dropout 0.1 --rest fused");
  ASSERT_EQ(run["cases"].size(), 1u);
  EXPECT_EQ(run["cases"][0]["status"], "ok") << run["cases"][0]["reason"];
}

TEST(Encoder, ShowsWhatDoesNotFitIntoAV100) {
  const Json run =
      run_of(kPaper +
             "--headdim 64 --seqlen 16k --causal false --ffn 2048 --dropout 0.1 --pass fwd+bwd "
             "--rest fused");
  std::map<std::string, Json> of;
  for (const Json& each : run["cases"]) of[each["kernel"]] = each;
  const Json& unfused = of.at("unfused-fp16");
  EXPECT_EQ(unfused["reason"]["code"], "E-OOM-PREDICTED");
  EXPECT_EQ(unfused["predicted_reason"]["code"], "P-TOO-LARGE");
  EXPECT_GT(unfused["memory_bytes"]["predicted"], 48ull << 30);  // only P, dropout(P) and dP
  const Json& fused = of.at("volta-fp32acc");
  EXPECT_LT(fused["memory_bytes"]["predicted"], 2ull << 30);
  EXPECT_TRUE(fused["predicted"]["speedup"].is_null());
}

TEST(Encoder, NamesItsLayerInIdsReprosAndTables) {
  const std::string arguments = kPaper + "--headdim 64 --seqlen 512 --causal true --dropout 0 ";
  const Json run = run_of(arguments + "--ffn 2048 --rest fused --norm pre --kernel volta-fp32acc");
  ASSERT_EQ(run["cases"].size(), 1u);
  const Json& only = run["cases"][0];
  EXPECT_EQ(only["id"],
            "volta-fp32acc/fwd/b32/h32/sq512/sk512/d64/causal/p0/hidden2048/ffn2048/gelu-tanh/"
            "norm-pre/rest-fused");
  const std::string repro = only["repro"];
  EXPECT_TRUE(contains(repro, "sparkbench encoder --device emulated-v100 --kernel volta-fp32acc"))
      << repro;
  const Json again = run_of(repro.substr(11));
  EXPECT_EQ(again["cases"][0]["id"], only["id"]);
  const ProgramResult table = run_sparkbench(arguments);
  EXPECT_TRUE(contains(table.out, "milliseconds of each stage, predicted and not measured"));
  EXPECT_TRUE(contains(table.out, " attention ")) << table.out;
}

TEST(Encoder, IsVerifiedAgainstALayerInFp64) {
  const Json run =
      run_of(kEncoder +
             "--kernel volta-fp32acc,unfused-fp16 --hidden 128 --ffn 256 --seqlen 64 --batch 2 "
             "--headdim 64 --causal true --dropout 0.1 --rest fused --pass fwd,bwd");
  ASSERT_EQ(run["cases"].size(), 4u);
  for (const Json& each : run["cases"]) {
    EXPECT_EQ(each["status"], "ok") << each["reason"];
    const Json& errors = each["layer"]["errors"];
    EXPECT_EQ(errors.size(), each["problem"]["pass"] == "fwd" ? 9u : 22u);
    EXPECT_EQ(errors[0]["of"], "output");
    EXPECT_EQ(errors[1]["of"], "before_residual");
    for (const Json& error : errors) EXPECT_LT(error["rel_l2"], 0x1p-8) << error;
  }
}

TEST(Encoder, RefusesWhatIsNoLayer) {
  expect_refused(run_sparkbench(kEncoder + "--hidden 100"), 2,
                 "--hidden: 100 is not a multiple of head_dim 64");
  expect_refused(run_sparkbench(kEncoder + "--activation gelu"), 2, "--activation: unknown 'gelu'");
  expect_refused(run_sparkbench(kEncoder + "--preset quick"), 2, "allowed: quick-encoder");
  expect_refused(run_sparkbench(kEncoder + "--lengths uniform:1:8 --seqlen 64"), 2,
                 "--lengths and --seqlen: both say how long sequences are; give one");
  expect_refused(run_sparkbench(kEncoder + "--lengths uniform:1:8 --mask strided:4"), 2,
                 "--mask: 'strided:4' is a pattern over one length");
  expect_refused(run_sparkbench(kEncoder + "--lengths uniform:1:8 --tensors x"), 2,
                 "--lengths: the tensors of --tensors determine it already");
  expect_refused(run_sparkbench("sweep --ffn 2048"), 2, "sweep");
  expect_refused(run_sparkbench("sweep --preset paper-encoder"), 2, "--preset: unknown");
}

const std::string kEager =
    "encoder --device emulated-v100 --kernel volta-fp32acc,unfused-fp16 --hidden 128 --ffn 256 "
    "--headdim 64 --seqlen 64 --batch 2 --mask causal --dropout 0.1 --rest eager ";

/// By kernel.
std::map<std::string, Json> cases_of(const Json& run) {
  std::map<std::string, Json> cases;
  for (const Json& each : run["cases"]) cases[each["kernel"]] = each;
  return cases;
}

TEST(Encoder, OnlyPredictsEagerLayers) {
  auto cases = cases_of(run_of(kEager));
  for (const auto& [kernel, each] : cases) {
    EXPECT_EQ(each["status"], "predicted") << kernel;
    EXPECT_EQ(each["reason"]["code"], "E-ONLY-PREDICTED") << kernel;
    EXPECT_TRUE(each["predicted"]["software"].is_null()) << kernel;
  }
  const Json &eager = cases["unfused-fp16"], &fused = cases["volta-fp32acc"];
  EXPECT_EQ(fused["predicted"]["speedup"]["over"], "unfused-fp16, rest eager");
  EXPECT_TRUE(eager["predicted"]["speedup"].is_null());
  EXPECT_EQ(eager["layer"]["stages"][1]["launches"], 10);  // 3 unfused ones and PyTorch's own 7
  EXPECT_EQ(fused["memory_bytes"]["unfused"], eager["memory_bytes"]["predicted"]);
}

TEST(Encoder, MultipliesWhatPytorchLaunchesByANamedFactor) {
  auto plain = cases_of(run_of(kEager));
  const Json run = run_of(kEager + "--software-factor launches-of-a-test=1.5");
  EXPECT_EQ(run["run"]["resolved"]["software_factor"], "launches-of-a-test=1.5");
  for (const auto& [kernel, each] : cases_of(run)) {
    EXPECT_EQ(each["predicted"]["software"],
              Json({{"name", "launches-of-a-test"}, {"factor", 1.5}}));
    EXPECT_TRUE(contains(each["warnings"].dump(), "W-SOFTWARE-FACTOR")) << kernel;
    EXPECT_TRUE(contains(each["repro"], "--software-factor launches-of-a-test=1.5")) << kernel;
    double sum = 0;
    for (std::size_t i = 0; i < each["layer"]["stages"].size(); ++i) {
      const auto ms_of = [i](const Json& one) {
        return one["layer"]["stages"][i]["predicted_ms"]["likely"].get<double>();
      };
      const bool is_by_kernel = kernel == "volta-fp32acc" && i == 1;
      EXPECT_NEAR(ms_of(each), (is_by_kernel ? 1 : 1.5) * ms_of(plain[kernel]), 1e-9) << kernel;
      sum += ms_of(each);
    }
    EXPECT_NEAR(each["predicted"]["time_ms"]["likely"].get<double>(), sum, 1e-9) << kernel;
  }
}

TEST(Encoder, RefusesEagerLayersWhereTheyAreNotPredicted) {
  expect_refused(run_sparkbench("encoder --device emulated-h100 --rest unfused,eager"), 2,
                 "--rest: eager layers are only predicted, for emulated-v100; allowed on "
                 "emulated-h100: unfused, fused; PyTorch's own: python -m sparkbench encoder "
                 "--kernel 'peers:torch-eager-*' --rest unfused");
  expect_refused(run_sparkbench(kEncoder + "--software-factor a=2"), 2,
                 "--software-factor: it multiplies what PyTorch launches in an eager layer");
  expect_refused(run_sparkbench(kEager + "--software-factor 2"), 2,
                 "--software-factor: '2' is not NAME=FACTOR");
  expect_refused(run_sparkbench("sweep --software-factor a=2"), 2, "sweep");
}

TEST(Encoder, ResumesAndIsComparedAsASweep) {
  const TemporaryFolder folder;
  const std::string arguments = kPaper + "--headdim 64 --seqlen 1k --causal true --ffn 2048 -q ";
  ASSERT_EQ(run_sparkbench(arguments + "--out " + path_in(folder, "a")).exit_code, 0);
  ASSERT_EQ(run_sparkbench(arguments + "--json " + path_in(folder, "b.json")).exit_code, 0);
  EXPECT_EQ(run_sparkbench("encoder --resume " + path_in(folder, "a")).exit_code, 0);
  const ProgramResult diff =
      run_sparkbench("diff " + path_in(folder, "a") + " " + path_in(folder, "b.json"));
  EXPECT_EQ(diff.exit_code, 0) << diff.out << diff.err;
  const ProgramResult report = run_sparkbench("report " + path_in(folder, "a"));
  EXPECT_TRUE(contains(report.out, "milliseconds of each stage")) << report.out;
}

}  // namespace
}  // namespace sparkbench
