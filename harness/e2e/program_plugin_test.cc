// --kernel with shared libraries, from the flag to the record, on the emulated V100. The libraries
// are harness/plugin/'s: examples, and kernels with a fault each.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/e2e/test_program.h"
#include "reference/tensors/safetensors.h"

namespace sparkbench {
namespace {

const std::string kPlugins = SPARKBENCH_PLUGINS;
const std::string kNaive = kPlugins + "/libnaive_host.so";
const std::string kFaulty = kPlugins + "/libtest_faulty_kernels.so";
const std::string kDevice = " --device emulated-v100 ";
const std::string kProblem = kDevice + "--headdim 16 --seqlen 40 --heads 4 --batch 2 --dropout 0 ";

const std::string kOneCase = kProblem + "--causal false ";

nlohmann::json run_of(const std::string& arguments, int exit_code = 0,
                      const ProgramSettings& settings = {}) {
  const ProgramResult result = run_sparkbench(arguments + " --quiet --json -", settings);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  return nlohmann::json::parse(result.out);
}

nlohmann::json cases_of(const std::string& arguments, int exit_code = 0) {
  return run_of(arguments, exit_code)["cases"];
}

bool has_warning(const nlohmann::json& record, const std::string& code) {
  for (const auto& warning : record["warnings"]) {
    if (warning["code"] == code) return true;
  }
  return false;
}

TEST(PluginProgram, VerifiesEveryPassAndMask) {
  const auto cases =
      cases_of("sweep --kernel " + kNaive + kProblem +
               "--pass fwd,bwd,fwd+bwd --heads-k 4,2 --seqlen-k 33 --mask "
               "full,causal,window:7,band:3:5,prefix:9,sink:4+window:9,window:9/full");
  ASSERT_EQ(cases.size(), 42u);
  for (const auto& record : cases) {
    EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
    EXPECT_EQ(record["kernel"], "naive-host");
    EXPECT_EQ(record["role"], "fused");
    EXPECT_EQ(record["accumulator"], "fp32");
    EXPECT_TRUE(record["time_ms"].is_null());
    const auto& accuracy = record["accuracy"];
    const auto& first = record["problem"]["pass"] == "fwd" ? accuracy : accuracy["dq"];
    EXPECT_EQ(first["bitwise_repeatable"], true) << record["id"];
  }
}

/// The same kernel in both types: bf16 has eight times the error, and is judged beside bf16.
TEST(PluginProgram, VerifiesBf16BesideBf16) {
  const auto cases = cases_of("sweep --kernel " + kNaive + kProblem +
                              "--pass fwd,fwd+bwd --mask causal,window:7 --dtype fp16,bf16");
  ASSERT_EQ(cases.size(), 8u);
  std::map<std::string, double> error;
  for (const auto& record : cases) {
    EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
    const std::string dtype = record["problem"]["dtype"];
    EXPECT_EQ(contains(record["id"], "/bf16"), dtype == "bf16") << record["id"];
    EXPECT_EQ(contains(record["repro"], "--dtype bf16"), dtype == "bf16") << record["repro"];
    if (record["problem"]["pass"] != "fwd") continue;
    error[dtype] = record["accuracy"]["rel_l2"];
    EXPECT_LE(record["accuracy"]["error_ratio"], 1.0) << record["id"];
  }
  EXPECT_NEAR(error["bf16"] / error["fp16"], 8, 2);
}

TEST(PluginProgram, OurKernelsDoNotComputeInBf16) {
  const ProgramResult result = run_sparkbench("sweep -q --dtype bf16 --kernel volta-fp32acc" +
                                              kProblem + "--headdim 64 --causal true");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "volta-fp32acc does not compute in bf16; allowed: --dtype fp16"))
      << result.err;
  expect_refused(run_sparkbench("sweep --dtype fp8" + kProblem), 2, "--dtype");
}

/// The tensors lie in another order: the outputs have the same bits.
TEST(PluginProgram, VerifiesEachLayout) {
  for (const std::string lengths :
       {"--seqlen 40", "--seqlen 40 --seqlen-k 33", "--lengths uniform:1:50"}) {
    const auto cases =
        cases_of("sweep --kernel " + kNaive + ",volta-fp32acc" + kDevice + lengths +
                 " --headdim 64 --heads 4 --heads-k 2 --batch 2 --dropout 0 "
                 "--pass fwd,fwd+bwd --causal true --layout bshd,bhsd,qkv-packed,k-bhsd");
    ASSERT_EQ(cases.size(), 16u) << lengths;
    std::map<std::string, nlohmann::json> errors;  // by kernel and pass
    for (const auto& record : cases) {
      EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
      const std::string layout = record["problem"]["layout"], id = record["id"];
      EXPECT_EQ(contains(id, "/" + layout), layout != "bshd") << id;
      EXPECT_TRUE(contains(record["repro"], "--layout " + layout)) << record["repro"];
      const std::string key =
          record["kernel"].get<std::string>() + record["problem"]["pass"].get<std::string>();
      const auto error = errors.emplace(key, record["accuracy"]).first->second;
      EXPECT_EQ(record["accuracy"], error) << id;
    }
    EXPECT_EQ(errors.size(), 4u);
  }
  expect_refused(run_sparkbench("sweep --layout sbhd" + kProblem), 2, "--layout");
}

TEST(PluginProgram, VerifiesSequencesOfSeveralLengths) {
  for (const auto& record :
       cases_of("sweep --kernel " + kNaive + kDevice +
                "--headdim 16 --lengths uniform:1:40 --batch 4 --heads 2 --dropout 0 --pass "
                "fwd,bwd --mask full,causal,window:7")) {
    EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
  }
}

/// The oracle checks a sample of a long problem; a plug-in computes it whole.
TEST(PluginProgram, VerifiesASampleOfALongProblem) {
  const auto record = cases_of("sweep --kernel " + kNaive + kDevice +
                               "--headdim 64 --seqlen 1100 --heads 2 --heads-k 1 --batch 1 "
                               "--dropout 0 --causal false")[0];
  EXPECT_EQ(record["status"], "ok") << record["reason"];
  EXPECT_TRUE(has_warning(record, "W-SAMPLED-ROWS"));
}

TEST(PluginProgram, RunsBesideOurKernels) {
  const auto cases = cases_of("sweep --kernel unfused-fp16,volta-fp32acc," + kNaive + kProblem +
                              "--headdim 64 --causal true");
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0]["kernel"], "unfused-fp16");
  EXPECT_EQ(cases[2]["kernel"], "naive-host");
  for (const auto& record : cases) EXPECT_EQ(record["status"], "ok") << record["reason"];
}

TEST(PluginProgram, SkipsWhatItDoesNotSupportInItsWords) {
  const auto cases = cases_of("sweep --kernel " + kNaive + kOneCase + "--dropout 0,0.1");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0]["status"], "ok");
  EXPECT_EQ(cases[1]["status"], "skipped");
  EXPECT_EQ(cases[1]["reason"]["code"], "E-UNSUPPORTED");
  EXPECT_EQ(cases[1]["reason"]["message"], "naive-host: dropout is not supported");
  const ProgramResult none =
      run_sparkbench("sweep -q --kernel " + kNaive + kOneCase + "--dropout 0.1");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(contains(none.err,
                       "--kernel: 'naive-host': its one case did not run: naive-host: "
                       "dropout is not supported"))
      << none.err;
}

TEST(PluginProgram, RecordsVersionFileAndPath) {
  const auto record = cases_of("sweep --kernel " + kNaive + kProblem)[0];
  EXPECT_EQ(record["libraries"]["naive-host"], "1.0");
  const std::string hash = record["libraries"]["libnaive_host.so"];
  EXPECT_EQ(hash.size(), std::string("fnv1a 0123456789abcdef").size()) << hash;
  const std::string repro = record["repro"];
  EXPECT_TRUE(contains(repro, "--kernel " + kNaive + ":naive-host ")) << repro;
  const auto again = cases_of(repro.substr(std::string("sparkbench ").size()))[0];
  EXPECT_EQ(again["config_hash"], record["config_hash"]);
  EXPECT_EQ(again["accuracy"]["output_hash"], record["accuracy"]["output_hash"]);
}

TEST(PluginProgram, WorksInEveryMeasuringCommand) {
  const std::string flags = " --no-progress --kernel unfused-fp16," + kNaive + kProblem;
  for (const char* command : {"sweep", "accuracy"}) {
    const ProgramResult result = run_sparkbench(command + flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contains(result.out, "naive-host")) << result.out;
  }
  const std::string one = " --no-progress --kernel " + kNaive + kProblem;
  const ProgramResult run = run_sparkbench("run" + one);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "naive-host")) << run.out;
  EXPECT_EQ(run_sparkbench("advise" + one).exit_code, 0);
  expect_refused(run_sparkbench("encoder --hidden 64 --seqlen 16 --batch 1 --headdim 64" + kDevice +
                                "--kernel " + kNaive),
                 2, "computes attention by itself");
}

TEST(PluginProgram, IsJudgedOnOnePage) {
  const TemporaryFolder folder;
  const std::string html = path_in(folder, "page.html"), out = path_in(folder, "run");
  const std::string judge = "judge --shard 1/16 --kernel " + kNaive + kDevice;
  const ProgramResult result = run_sparkbench(judge + "-q --json - --html " + html);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto judgement = nlohmann::json::parse(result.out);
  EXPECT_EQ(judgement["schema"]["name"], "sparkbench.judgement");
  EXPECT_EQ(judgement["kernels"][0]["kernel"], "naive-host");
  EXPECT_EQ(judgement["kernels"][0]["verdict"], "right");
  std::stringstream page;
  page << std::ifstream(html).rdbuf();
  EXPECT_TRUE(contains(page.str(), "<h2>naive-host: <span class=\"right\">right in all of "))
      << page.str();
  expect_refused(run_sparkbench(judge + "--out " + out + " --json " + out + "/run.json"), 2,
                 "is a file of the run");
}

TEST(PluginProgram, SavesItsOutputs) {
  const TemporaryFolder folder;
  const std::string file = path_in(folder, "o.safetensors");
  for (const std::string dtype : {"fp16", "bf16"}) {
    const ProgramResult result =
        run_sparkbench("run -q --pass bwd --dtype " + dtype + " --save-outputs " + file +
                       " --kernel " + kNaive + kProblem);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(std::filesystem::file_size(file), 4u * 2 * 40 * 4 * 16 * 2);  // o, dq, dk, dv
    std::ifstream stream(file, std::ios::binary);
    const StoredTensors stored = read_safetensors_header(stream, std::filesystem::file_size(file));
    for (const char* name : {"o", "dq", "dk", "dv"}) {
      EXPECT_EQ(stored.at(name).dtype, dtype == "bf16" ? "BF16" : "F16") << name;
    }
    EXPECT_EQ(stored.at("lse").dtype, "F32");
  }
}

TEST(PluginProgram, ListsALibrary) {
  const ProgramResult text = run_sparkbench("list --kernel " + kNaive);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "Kernels of libnaive_host.so, fnv1a ")) << text.out;
  EXPECT_TRUE(contains(text.out, "naive-host")) << text.out;
  const ProgramResult all = run_sparkbench("list --json --kernel " + kFaulty);
  const auto kernels = nlohmann::json::parse(all.out)["kernels"];
  EXPECT_EQ(kernels[0]["name"], "right");
  EXPECT_EQ(kernels[0]["backend"], "host");
  EXPECT_EQ(kernels[0]["has_backward"], true);
  EXPECT_EQ(kernels[0]["computes_layers"], false);
  EXPECT_TRUE(kernels[0]["version"].is_null());
  EXPECT_EQ(kernels[0]["flag"], kFaulty + ":right");
  expect_refused(run_sparkbench("list --kernel volta-fp32acc"), 2,
                 "--kernel: 'volta-fp32acc' is no library");
}

TEST(PluginProgram, RefusesWhatIsNoLibraryOfKernels) {
  const auto refuse = [](const std::string& item, const std::string& says) {
    expect_refused(run_sparkbench("sweep --kernel " + item + kProblem), 2, says);
  };
  refuse("./no/such.so", "--kernel: './no/such.so': ");
  refuse(kPlugins + "/libtest_no_entry.so", "exports no sparkbench_kernel_entry()");
  refuse(kPlugins + "/libtest_other_abi.so", "returns no kernel for ABI 1");
  refuse(kFaulty + ":rihgt", "unknown 'rihgt', did you mean 'right'?; allowed: right, scale, ");
}

TEST(PluginProgram, RefusesTwoKernelsOfOneName) {
  const TemporaryFolder folder;
  const std::string copy = path_in(folder, "copy.so");
  std::filesystem::copy(kNaive, copy);
  expect_refused(run_sparkbench("sweep --kernel " + kNaive + "," + copy + kProblem), 2,
                 "another kernel is called 'naive-host': " + kNaive + ":naive-host");
  EXPECT_EQ(cases_of("sweep --kernel " + kNaive + "," + kNaive + ":naive-host" + kOneCase).size(),
            1u);
}

TEST(PluginProgram, FindsEveryFault) {
  const std::string flags = kProblem + "--heads-k 2 --causal true";
  const auto status_of = [&](const std::string& kernel, const std::string& pass, int exit_code) {
    const auto record = cases_of(
        "sweep --kernel " + kFaulty + ":" + kernel + flags + " --pass " + pass, exit_code)[0];
    return record["status"].get<std::string>() + " " +
           (record["reason"].is_null() ? "" : record["reason"]["code"].get<std::string>());
  };
  EXPECT_EQ(status_of("right", "fwd+bwd", 0), "ok ");
  for (const char* kernel : {"scale", "mask", "gqa", "lse", "tail"}) {
    EXPECT_EQ(status_of(kernel, "fwd", 1), "incorrect E-INCORRECT") << kernel;
  }
  for (const char* kernel : {"scale", "mask", "dk"}) {
    EXPECT_EQ(status_of(kernel, "bwd", 1), "incorrect E-INCORRECT") << kernel;
  }
  EXPECT_EQ(status_of("input", "fwd", 1), "incorrect E-WRITES");
}

TEST(PluginProgram, RecordsBitsThatDoNotRepeat) {
  const auto record = cases_of("sweep --kernel " + kFaulty + ":unsteady" + kProblem)[0];
  EXPECT_EQ(record["status"], "ok") << record["reason"];
  EXPECT_EQ(record["accuracy"]["bitwise_repeatable"], false);
  // Only gradients must repeat, as faults_test.py has it.
  const auto asked =
      cases_of("sweep --deterministic --kernel " + kFaulty + ":unsteady" + kProblem)[0];
  EXPECT_EQ(asked["status"], "ok") << asked["reason"];
}

TEST(PluginProgram, VerifiesOnlyOWithoutLse) {
  const auto record =
      cases_of("sweep --kernel " + kFaulty + ":no-lse" + kProblem + "--mask window:5")[0];
  EXPECT_EQ(record["status"], "ok") << record["reason"];
  EXPECT_TRUE(record["accuracy"]["lse_max_abs"].is_null());
  EXPECT_TRUE(has_warning(record, "W-NO-LSE")) << record["warnings"];
  const auto backward =
      cases_of("sweep --kernel " + kFaulty + ":no-lse" + kOneCase + "--pass fwd,bwd");
  EXPECT_EQ(backward[1]["status"], "skipped");
  EXPECT_EQ(backward[1]["reason"]["message"], "no-lse has no backward pass");
}

TEST(PluginProgram, VerifiesItsOwnDropoutWithoutDropout) {
  const auto record =
      cases_of("sweep --kernel " + kFaulty + ":own-dropout" + kProblem + "--dropout 0.1")[0];
  EXPECT_EQ(record["status"], "ok") << record["reason"];
  EXPECT_TRUE(has_warning(record, "W-OWN-DROPOUT-MASK"));
}

TEST(PluginProgram, TellsFailuresInTheKernelsWords) {
  const auto reason_of = [&](const std::string& kernel, int exit_code) {
    const auto record =
        cases_of("sweep --kernel " + kFaulty + ":" + kernel + kProblem, exit_code)[0];
    return record["status"].get<std::string>() + ", " +
           record["reason"]["code"].get<std::string>() + ", " +
           record["reason"]["message"].get<std::string>();
  };
  EXPECT_EQ(reason_of("unsupported", 2),
            "skipped, E-UNSUPPORTED, unsupported: prepare: no tile of it fits");
  EXPECT_EQ(reason_of("exhausted", 4),
            "failed, E-OUT-OF-MEMORY, exhausted: prepare: 4 GiB of tables");
  EXPECT_EQ(reason_of("error", 4), "failed, E-RUN, error: forward: launch failed ?\xef\xbf\xbd");
  EXPECT_TRUE(contains(reason_of("status", 4), "status: forward returned 17"));
}

/// In worker processes, as the program runs cases.
class PluginInWorkers : public testing::Test {
 protected:
  ProgramSettings settings() const { return {.worker_executable = SPARKBENCH_PROGRAM}; }
};

TEST_F(PluginInWorkers, ACrashCostsItsRow) {
  for (const std::string kernel : {"abort", "segfault"}) {
    const auto cases =
        run_of("sweep --kernel " + kFaulty + ":" + kernel + kOneCase + "--seqlen 32,33,34", 4,
               settings())["cases"];
    ASSERT_EQ(cases.size(), 3u);
    EXPECT_EQ(cases[0]["status"], "ok") << cases[0]["reason"];
    EXPECT_EQ(cases[1]["status"], "failed");
    EXPECT_EQ(cases[1]["reason"]["code"], "E-SIGNAL") << cases[1]["reason"];
    EXPECT_EQ(cases[2]["status"], "ok") << cases[2]["reason"];
  }
}

TEST_F(PluginInWorkers, RefusalsReachTheUser) {
  const ProgramResult result = run_sparkbench("sweep --kernel ./no/such.so" + kProblem, settings());
  expect_refused(result, 2, "--kernel: './no/such.so'");
}

TEST_F(PluginInWorkers, AResumedRunRefusesAChangedLibrary) {
  const TemporaryFolder folder;
  const std::string library = path_in(folder, "mine.so"), out = path_in(folder, "run");
  std::filesystem::copy(kNaive, library);
  const std::string sweep = "sweep -q --kernel " + library + kProblem + "--seqlen 20,21 ";
  EXPECT_EQ(run_sparkbench(sweep + "--out " + out, settings()).exit_code, 0);
  EXPECT_EQ(run_sparkbench("sweep -q --resume " + out, settings()).exit_code, 0);
  // The loader ignores bytes after the file's sections.
  std::ofstream(library, std::ios::app | std::ios::binary) << "another build";
  const ProgramResult refused = run_sparkbench("sweep -q --resume " + out, settings());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.err, "has another build: its libraries of naive-host: mine.so"))
      << refused.err;
  EXPECT_EQ(run_sparkbench("sweep -q --allow build --resume " + out, settings()).exit_code, 0);
}

/// Two builds of one kernel are what `diff` is for.
TEST_F(PluginInWorkers, DiffComparesTwoBuilds) {
  const TemporaryFolder folder;
  const std::string library = path_in(folder, "mine.so");
  std::filesystem::copy(kNaive, library);
  const std::string sweep = "sweep -q --kernel " + library + kProblem + " --json ";
  const std::string first = path_in(folder, "a.json"), second = path_in(folder, "b.json");
  EXPECT_EQ(run_sparkbench(sweep + first, settings()).exit_code, 0);
  std::ofstream(library, std::ios::app | std::ios::binary) << "another build";
  EXPECT_EQ(run_sparkbench(sweep + second, settings()).exit_code, 0);
  const ProgramResult diff = run_sparkbench("diff " + first + " " + second);
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
}

/// Kernels that a host of another language brings, by items that are no files.
TEST(PluginHost, ResolvesItsOwnItems) {
  const auto naive = load_kernel_library(kNaive).value().front().table;
  ProgramSettings settings;
  settings.load_kernels = [&](const std::string& item) {
    if (item != "module:function") return load_kernel_library(item);
    return std::optional(std::vector<ForeignKernel>{{naive, item, ""}});
  };
  const auto record = run_of("sweep --kernel module:function" + kProblem, 0, settings)["cases"][0];
  EXPECT_EQ(record["status"], "ok") << record["reason"];
  EXPECT_EQ(record["libraries"].size(), 1u);
  EXPECT_TRUE(contains(record["repro"], "--kernel module:function ")) << record["repro"];
  EXPECT_EQ(run_of("sweep --kernel " + kNaive + kOneCase, 0, settings)["cases"].size(), 1u);
}

/// Our own library through the interface: other-emulated-* have the bits of volta-*.
TEST(SparkAttentionShim, HasTheBitsOfTheKernelsInTheLibrary) {
  ASSERT_EQ(setenv("SPARK_ATTENTION_LIBRARY", SPARK_ATTENTION, 1), 0);
  const auto cases = cases_of("sweep --kernel volta-fp32acc," + kPlugins +
                              "/libspark_attention_shim.so:other-emulated-fp32acc" + kProblem +
                              "--headdim 64 --heads-k 2 --dropout 0.1 --mask causal,chunk:16 "
                              "--pass fwd,fwd+bwd");
  std::map<std::string, std::string> hashes;
  ASSERT_EQ(cases.size(), 8u);
  for (const auto& record : cases) {
    ASSERT_EQ(record["status"], "ok") << record["id"] << record["reason"];
    const std::string id = record["id"], problem = id.substr(id.find('/'));
    const auto& accuracy = record["accuracy"];
    const std::string hash =
        accuracy.contains("o") ? accuracy["o"]["output_hash"] : accuracy["output_hash"];
    const auto [known, is_new] = hashes.emplace(problem, hash);
    EXPECT_EQ(known->second, hash) << problem;
  }
  EXPECT_EQ(hashes.size(), 4u);
}

TEST(SparkAttentionShim, SaysWhatItMisses) {
  ASSERT_EQ(unsetenv("SPARK_ATTENTION_LIBRARY"), 0);
  const ProgramResult result =
      run_sparkbench("list --kernel " + kPlugins + "/libspark_attention_shim.so");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace sparkbench
