// The commands from argument to answer, on the emulated V100.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

const std::string kDevice = " --device emulated-v100 ";
const std::string kSmallProblem =
    "--headdim 64 --seqlen 65 --causal true --dropout 0.1 --heads 1 --batch 1 ";

nlohmann::json cases_of_sweep(const std::string& arguments, int exit_code = 0) {
  const ProgramResult result = run_sparkbench(arguments + " --quiet --json -");
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  return nlohmann::json::parse(result.out)["cases"];
}

TEST(Program, TellsItsVersion) {
  const ProgramResult result = run_sparkbench("--version");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.rfind("sparkbench ", 0), 0u) << result.out;
}

TEST(Program, ListsItsCommandsAndTheirFlags) {
  const ProgramResult help = run_sparkbench("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command : {"sweep", "accuracy", "run", "list", "info", "check-arithmetic"}) {
    EXPECT_TRUE(contains(help.out, command)) << help.out;
  }
  const ProgramResult sweep_help = run_sparkbench("sweep --help");
  EXPECT_EQ(sweep_help.exit_code, 0);
  EXPECT_TRUE(contains(sweep_help.out, "--seqlen-k")) << sweep_help.out;
}

TEST(Program, ShowsNoFlagThatTheCommandRefuses) {
  const ProgramResult sweep = run_sparkbench("sweep --help");
  const ProgramResult accuracy = run_sparkbench("accuracy --help");
  for (const char* flag : {"--cache", "--min-samples", "--min-seconds", "--max-noise",
                           "--duty-cycle", "--no-verify", "--profile"}) {
    EXPECT_TRUE(contains(sweep.out, flag)) << flag;
    EXPECT_FALSE(contains(accuracy.out, flag)) << flag;
  }
}

TEST(List, NamesKernelsReferencesDevicesAndPresets) {
  const ProgramResult result = run_sparkbench("list");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* name : {"volta-fp32acc", "volta-fp16acc", "unfused-fp16", "cublas-fp16",
                           "emulated-v100", "quick", "paper-forward", "paper-accuracy"}) {
    EXPECT_TRUE(contains(result.out, name)) << name << " is not in\n" << result.out;
  }
}

TEST(Sweep, EndsInTwoForNamesNeverRun) {
  const std::string sweep = "sweep" + kDevice + kSmallProblem + "--pass bwd ";
  const ProgramResult named = run_sparkbench(sweep + "--kernel volta-fp32acc,acsr-unfused -q");
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_EQ(named.err,
            "sparkbench: --kernel: 'acsr-unfused': its one case did not run: acsr-unfused does not "
            "support dropout: the chain has none, as SPLAT has none\n");
  EXPECT_EQ(run_sparkbench(sweep + "--kernel *unfused*").exit_code, 0) << "a glob is one name";
  EXPECT_EQ(run_sparkbench(sweep + "--kernel acsr-unfused --shard 1/1").exit_code, 0);
}

TEST(Sweep, SaysWhereAKernelOfOtherDevicesRuns) {
  const ProgramResult result = run_sparkbench("sweep" + kDevice + "--kernel cudnn");
  expect_refused(result, 2, "--kernel: 'cudnn': cudnn does not run on emulated-v100 here (cuDNN's");
}

TEST(List, IsOneJsonDocumentWithTheseKeys) {
  const auto list = nlohmann::ordered_json::parse(run_sparkbench("list --json").out);
  std::vector<std::string> keys;
  for (const auto& [key, value] : list.items()) keys.push_back(key);
  EXPECT_EQ(keys,
            std::vector<std::string>({"schema", "kernels", "references_on_emulated_devices",
                                      "references_on_gpus", "vendor_kernels_on_gpus", "devices",
                                      "presets", "axes", "layer_presets", "layer_axes"}));
  EXPECT_EQ(list["schema"]["name"], "sparkbench.list");
  const auto& kernel = list["kernels"][0];
  for (const char* key : {"name", "summary", "accumulator", "has_backward"}) {
    EXPECT_TRUE(kernel.contains(key)) << kernel;
  }
  EXPECT_EQ(list["vendor_kernels_on_gpus"][0]["name"], "cudnn");
  EXPECT_EQ(list["references_on_emulated_devices"][0]["accumulator"], "fp32");
  EXPECT_TRUE(list["references_on_gpus"][1]["accumulator"].is_null());  // cublas-fp32
  EXPECT_TRUE(list["presets"][0]["flags"].is_object());
  for (const char* key : {"name", "flag", "help", "allowed", "initial", "shorthand"}) {
    EXPECT_TRUE(list["axes"][0].contains(key)) << list["axes"][0];
  }
}

TEST(Info, IsOneJsonDocumentWithTheseKeys) {
  const ProgramResult result = run_sparkbench("info --json --check" + kDevice);
  const auto info = nlohmann::ordered_json::parse(result.out);
  std::vector<std::string> keys;
  for (const auto& [key, value] : info.items()) keys.push_back(key);
  EXPECT_EQ(keys,
            std::vector<std::string>({"schema", "device", "build", "environment", "cudnn_version",
                                      "nvrtc_version", "why_no_nvrtc", "check"}));
  EXPECT_EQ(info["schema"]["name"], "sparkbench.info");
  EXPECT_EQ(info["device"], "emulated-v100");
  EXPECT_EQ(info["environment"]["device"]["kind"], "emulated");
  for (const char* key :
       {"uuid", "power_limit_w", "ecc", "persistence_mode", "state", "why_unknown"}) {
    EXPECT_TRUE(info["environment"]["device"].contains(key)) << key;
  }
  EXPECT_TRUE(info["environment"].contains("driver_version"));
  EXPECT_TRUE(info["build"].contains("git_sha"));
  EXPECT_FALSE(info["check"].empty());
  EXPECT_TRUE(info["check"][0].contains("level"));
  EXPECT_TRUE(
      nlohmann::json::parse(run_sparkbench("info --json" + kDevice).out)["check"].is_null());
}

TEST(Info, DescribesTheDevice) {
  const ProgramResult result = run_sparkbench("info" + kDevice);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, "V100\n  kind               emulated")) << result.out;
  EXPECT_TRUE(contains(result.out, "sm_70")) << result.out;
}

TEST(Sweep, FindsBothKernelsAndTheReferenceCorrect) {
  const ProgramResult result =
      run_sparkbench("sweep" + kDevice + "--kernel volta-fp??acc,unfused-fp16 " + kSmallProblem);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"volta-fp32acc", "volta-fp16acc", "unfused-fp16",
                           "3 ok, 0 incorrect, 0 skipped, 0 failed"}) {
    EXPECT_TRUE(contains(result.out, part)) << part << " is not in\n" << result.out;
  }
}

TEST(Sweep, ListsTheCasesOfADryRun) {
  const ProgramResult result =
      run_sparkbench("sweep" + kDevice + "--dry-run --kernel volta-fp32acc " + kSmallProblem);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, "\nvolta-fp32acc/fwd/b1/h1/sq65/sk65/d64/causal/p0.1  "))
      << result.out;
  EXPECT_TRUE(contains(result.out, "\n1 cases, at most ")) << result.out;
  EXPECT_TRUE(contains(result.out, "an estimate")) << result.out;
}

TEST(Sweep, GivesTheSameErrorsForTheSameSeed) {
  const std::string sweep = "sweep" + kDevice + "--kernel volta-fp??acc " + kSmallProblem;
  const nlohmann::json first = cases_of_sweep(sweep + "--seed 3");
  const nlohmann::json second = cases_of_sweep(sweep + "--seed 3");
  ASSERT_EQ(first.size(), 2u);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i]["accuracy"], second[i]["accuracy"]);
  }
  EXPECT_EQ(first[0]["accuracy"]["mask_hash"], first[1]["accuracy"]["mask_hash"]);
}

TEST(Sweep, GivesOtherErrorsForAnotherSeed) {
  const std::string sweep = "sweep" + kDevice + "--kernel volta-fp32acc " + kSmallProblem;
  const nlohmann::json first = cases_of_sweep(sweep + "--seed 3")[0]["accuracy"];
  const nlohmann::json second = cases_of_sweep(sweep + "--seed 4")[0]["accuracy"];
  EXPECT_NE(first["mask_hash"], second["mask_hash"]);
  EXPECT_NE(first["rel_l1"], second["rel_l1"]);
}

TEST(Sweep, SkipsAHeadDimThatNoKernelSupports) {
  const std::string sweep =
      "sweep" + kDevice +
      "--kernel volta-fp??acc --headdim 100 --seqlen 9 --causal false --dropout 0 ";
  const ProgramResult result = run_sparkbench(sweep);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.out, "0 ok, 0 incorrect, 2 skipped, 0 failed")) << result.out;
  EXPECT_TRUE(contains(result.out, "skipped")) << result.out;
  EXPECT_TRUE(contains(result.err,
                       "sparkbench: --kernel: 'volta-fp\?\?acc': none of its 2 cases "
                       "ran: volta-fp16acc does not support head_dim 100 "
                       "(multiples of 8 up to 256 are supported)"))
      << result.err;
  for (const auto& record : cases_of_sweep(sweep, 2)) {
    EXPECT_EQ(record["status"], "skipped");
    EXPECT_EQ(record["reason"]["code"], "E-UNSUPPORTED");
    EXPECT_TRUE(contains(record["reason"]["message"], "head_dim")) << record["reason"];
    EXPECT_TRUE(record["accuracy"].is_null());
  }
}

TEST(Sweep, SkipsAProblemLargerThanTheMemory) {
  const auto cases =
      cases_of_sweep("sweep" + kDevice +
                     "--kernel unfused-fp16,volta-fp32acc --headdim 128 --seqlen 16m "
                     "--batch 1k --heads 1k --causal false --dropout 0");
  ASSERT_FALSE(cases.empty());
  for (const auto& record : cases) {
    EXPECT_EQ(record["status"], "skipped");
    EXPECT_EQ(record["reason"]["code"], "E-OOM-PREDICTED");
  }
}

TEST(Sweep, OnlyPredictsWhatTheEmulatorHasNoMemoryFor) {
  const std::string backward = "sweep" + kDevice +
                               "--kernel volta-fp32acc --pass bwd --headdim 64 --seqlen 4096 "
                               "--batch 8 --heads 16 --causal false --dropout 0 --dry-run";
  EXPECT_FALSE(contains(run_sparkbench(backward).out, "predicted: "));
  rlimit old{};
  getrlimit(RLIMIT_AS, &old);
  const rlimit tensors_and_workspace{std::uint64_t{1000} << 20, old.rlim_max};  // 646 MiB, and more
  setrlimit(RLIMIT_AS, &tensors_and_workspace);
  const ProgramResult result = run_sparkbench(backward);
  setrlimit(RLIMIT_AS, &old);
  EXPECT_TRUE(contains(result.out, "GiB, emulated-v100 has 1000 MiB")) << result.out << result.err;
}

TEST(Sweep, EndsInOneWhenAResultIsIncorrect) {
  const ProgramResult result =
      run_sparkbench("sweep" + kDevice +
                     "--kernel volta-fp16acc --tolerance-ratio 0.001 --headdim 64 "
                     "--seqlen 513 --causal false --dropout 0 --heads 1 --fail-fast");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.out, "1 incorrect")) << result.out;
  EXPECT_TRUE(
      contains(result.out, "sparkbench sweep --device emulated-v100 --kernel volta-fp16acc"))
      << result.out;
}

TEST(Sweep, WithoutVerifyingHasNoErrors) {
  const auto cases =
      cases_of_sweep("sweep" + kDevice + "--kernel volta-fp32acc --no-verify " + kSmallProblem);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0]["status"], "unverified");
  EXPECT_TRUE(cases[0]["accuracy"].is_null());
  const ProgramResult result =
      run_sparkbench("sweep" + kDevice + "--kernel volta-fp32acc --no-verify " + kSmallProblem);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "0 failed, 1 unverified")) << result.out;
  EXPECT_TRUE(contains(result.out, "No kernel is recommended: no result was checked"))
      << result.out;
}

TEST(AccuracyCommand, ComparesTheAccumulatorsWithTheUnfusedComputation) {
  const ProgramResult result = run_sparkbench("accuracy" + kDevice + kSmallProblem);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"volta-fp32acc", "volta-fp16acc", "unfused-fp16", "rel_l1"}) {
    EXPECT_TRUE(contains(result.out, part)) << part << " is not in\n" << result.out;
  }
}

TEST(AccuracyCommand, SaysAtWhichScaleEachAccumulatorBreaks) {
  const ProgramResult result = run_sparkbench(
      "accuracy" + kDevice +
      "--headdim 64 --seqlen 65 --causal false --dropout 0 --heads 1 --kernel volta-fp??acc "
      "--input normal,outliers --input-scale 1,256,64k");
  EXPECT_EQ(result.exit_code, 1) << result.err;  // FP16-ACC's scores overflow at 256
  for (const char* part : {"Errors of o, pass fwd, input outliers, on 1 problems",
                           "head_dim  breaks by       FP16-ACC  FP32-ACC  inputs overflow",
                           "      64  not finite           256         -            65536",
                           "E-INPUT-OVERFLOW (4 cases)"}) {
    EXPECT_TRUE(contains(result.out, part)) << part << " is not in\n" << result.out;
  }
}

TEST(AccuracyCommand, RecordsWhatTheInputsOfACaseWere) {
  const auto cases = cases_of_sweep("accuracy" + kDevice + kSmallProblem +
                                    "--kernel volta-fp32acc --input uniform --input-scale 1,4");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1]["input"], "uniform");
  EXPECT_EQ(cases[1]["input_scale"], 4);
  EXPECT_EQ(cases[1]["id"], "volta-fp32acc/fwd/b1/h1/sq65/sk65/d64/causal/p0.1/uniform/x4");
  EXPECT_TRUE(contains(cases[1]["repro"], "--input uniform --input-scale 4")) << cases[1]["repro"];
  EXPECT_NE(cases[0]["accuracy"]["rel_l1"], cases[1]["accuracy"]["rel_l1"]);
}

TEST(Sweep, SkipsWhatAKernelDoesNotSupport) {
  const auto cases = cases_of_sweep("sweep" + kDevice + kSmallProblem + "--kernel acsr-unfused", 2);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0]["status"], "skipped");
  EXPECT_EQ(cases[0]["reason"]["message"],
            "acsr-unfused does not support dropout: the chain has none, as SPLAT has none");
}

TEST(Sweep, SaysWhichKernelAnOldNameMeans) {
  for (const auto& [old_name, name] : {std::pair{"volta-fp16acc-o16", "volta-fp16acc"},
                                       std::pair{"volta-mixedacc", "volta-fp32acc"}}) {
    expect_refused(run_sparkbench("sweep" + kDevice + kSmallProblem + "--kernel " + old_name), 2,
                   std::string("--kernel: unknown '") + old_name + "', did you mean '" + name);
  }
}

TEST(AccuracyCommand, ListsTheCasesOfADryRun) {
  const ProgramResult result =
      run_sparkbench("accuracy" + kDevice + "--dry-run --kernel volta-fp32acc " + kSmallProblem);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, "\nvolta-fp32acc/fwd/b1/h1/sq65/sk65/d64/causal/p0.1  "))
      << result.out;
  EXPECT_TRUE(contains(result.out, "\n1 cases, at most ")) << result.out;
  EXPECT_TRUE(contains(result.out, "an estimate")) << result.out;
}

TEST(RunCommand, ReportsEveryKernelOnOneProblem) {
  const ProgramResult result = run_sparkbench("run" + kDevice + "--seqlen 65");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"head_dim             64", "volta-fp32acc\n", "volta-fp16acc\n",
                           "unfused-fp16\n", "bank conflicts", "repeat"}) {
    EXPECT_TRUE(contains(result.out, part)) << part << " is not in\n" << result.out;
  }
}

TEST(RunCommand, WritesTheFilesOfASweep) {
  const TemporaryFolder folder;
  const ProgramResult result = run_sparkbench(
      "run" + kDevice + "--kernel volta-fp32acc --seqlen 9 " + "--out " + path_in(folder, "run"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "run/run.json"));
}

constexpr const char* kVectors =
    "kind,a0,a1,a2,a3,b0,b1,b2,b3,c_f32,d_f32,c_f16,d_f16\n"
    "sum,3c00,0,0,0,4000,0,0,0,40400000,40a00000,4200,4500\n";

TEST(CheckArithmetic, CountsTheRowsThatAreReproduced) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "v.csv") << kVectors;
  const std::string path = path_in(folder, "v.csv");
  const ProgramResult result =
      run_sparkbench("check-arithmetic --profile volta --vectors " + path + " " + path);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string line = path + ": 1 of 1 rows reproduced (fp32), 1 of 1 (fp16)\n";
  EXPECT_EQ(result.out, line + line);
}

TEST(CheckArithmetic, ListsTheMissesAndEndsInOne) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "v.csv")
      << kVectors << "off,3c00,0,0,0,4000,0,0,0,40400000,40a00001,4200,4500\n";
  const std::string path = path_in(folder, "v.csv");
  const ProgramResult result = run_sparkbench("check-arithmetic --profile volta --vectors " + path);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, path +
                            ": 1 of 2 rows reproduced (fp32), 2 of 2 (fp16)\n"
                            "  line 3 (off) fp32: expected 40a00001, computed 40a00000\n");
}

}  // namespace
}  // namespace sparkbench
