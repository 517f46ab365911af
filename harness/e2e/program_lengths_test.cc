// --lengths from the flag to the record, on the emulated V100.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/e2e/test_program.h"
#include "kernels/base/half.h"
#include "reference/tensors/safetensors.h"

namespace sparkbench {
namespace {

const std::string kProblem =
    "--device emulated-v100 --headdim 40 --heads 4 --heads-k 2 --mask causal --dropout 0.2 ";

/// A folder with a file of lengths: empty on either side, primes, more than a tile, one key.
class LengthsProgram : public testing::Test {
 protected:
  std::string lengths_file(const std::string& text, const std::string& name = "lengths") {
    const std::string path = path_in(folder_, name);
    std::ofstream(path) << text;
    return "--lengths file:" + path + " ";
  }
  std::string ragged() { return lengths_file("0\n1\n37 90\n131 64\n0 70\n7 0\n5 1\n"); }

  nlohmann::json cases_of(const std::string& arguments) {
    const ProgramResult result = run_sparkbench(arguments + " -q --json -");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["cases"];
  }

  TemporaryFolder folder_;
};

TEST_F(LengthsProgram, EveryKernelIsRightForwardAndBackward) {
  for (const std::string flags : {"--pass fwd,bwd,fwd+bwd ", "--pass bwd --deterministic "}) {
    const auto cases = cases_of("sweep " + kProblem + ragged() + flags +
                                "--kernel unfused-fp16,volta-fp16acc,volta-fp32acc");
    for (const auto& record : cases) {
      EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
      if (record["kernel"] == "unfused-fp16") continue;
      EXPECT_EQ(record["emulation"]["findings"], 0);
      EXPECT_EQ(record["emulation"]["tiles_run"], record["emulation"]["tiles_total"]);
    }
  }
}

TEST_F(LengthsProgram, RecordsSayWhatTheyAre) {
  const auto cases = cases_of("sweep " + kProblem + ragged() + "--kernel volta-fp32acc");
  const auto& problem = cases[0]["problem"];
  EXPECT_EQ(problem["batch"], 7);
  EXPECT_EQ(problem["seqlen_q"], 131);
  EXPECT_EQ(problem["seqlen_k"], 90);
  EXPECT_EQ(problem["total_q"], 0 + 1 + 37 + 131 + 0 + 7 + 5);
  EXPECT_EQ(problem["total_k"], 0 + 1 + 90 + 64 + 70 + 0 + 1);
  const std::string hash = problem["lengths_hash"], id = cases[0]["id"];
  EXPECT_EQ(id, "volta-fp32acc/fwd/b7/h4/sq131/sk90/d40/causal/p0.2/lengths-" + hash + "/hk2");
  EXPECT_EQ(cases[0]["accuracy"]["checked_elements"], 181 * 4 * 40);
  EXPECT_TRUE(cases[0]["predicted"].is_null() != cases[0]["predicted_reason"].is_null());
}

TEST_F(LengthsProgram, ReproRepeatsTheCase) {
  const auto cases = cases_of("sweep " + kProblem + ragged() + "--kernel volta-fp32acc --seed 5");
  const std::string line = cases[0]["repro"];
  EXPECT_FALSE(contains(line, "--seqlen") || contains(line, "--batch")) << line;
  const auto again = cases_of(line.substr(std::string("sparkbench ").size()));
  EXPECT_EQ(again[0]["config_hash"], cases[0]["config_hash"]);
  EXPECT_EQ(again[0]["accuracy"]["output_hash"], cases[0]["accuracy"]["output_hash"]);
}

TEST_F(LengthsProgram, OfNothingAreOkAndEmpty) {
  for (const char* const text : {"", "0\n0 0\n", "0 5\n", "5 0\n"}) {
    const auto cases = cases_of("sweep " + kProblem + lengths_file(text) +
                                "--pass fwd,bwd --kernel unfused-fp16,volta-fp32acc,volta-fp16acc");
    EXPECT_EQ(cases.size(), 6u);
    for (const auto& record : cases) {
      EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
      EXPECT_EQ(record["flops"], 0);
      EXPECT_EQ(record["predicted_reason"]["code"], "P-NO-WORK");
    }
  }
}

TEST_F(LengthsProgram, AreSkippedByAKernelWithoutThem) {
  const ProgramResult result = run_sparkbench(
      "sweep --no-progress --headdim 64 --heads 1 --mask full --dropout 0 --batch 3 "
      "--lengths uniform:1:9 --kernel acsr-unfused --device emulated-v100");
  EXPECT_TRUE(contains(result.err, "acsr-unfused does not support sequences of several lengths"))
      << result.err;
}

TEST_F(LengthsProgram, RunOnAnEmulatedH100) {
  const auto cases = cases_of(
      "sweep --headdim 64,80 --heads 2 --heads-k 1 --mask full,window:50 --dropout 0,0.1 " +
      ragged() + "--pass fwd,bwd --kernel hopper-fp32acc --device emulated-h100");
  EXPECT_EQ(cases.size(), 16u);
  for (const auto& record : cases) {
    EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
    EXPECT_EQ(record["emulation"]["findings"], 0) << record["id"];
  }
}

TEST_F(LengthsProgram, AreAnAxisOfTheTable) {
  const ProgramResult result = run_sparkbench(
      "sweep --no-progress --device emulated-v100 --kernel unfused-fp16 --headdim 64 --heads 1 "
      "--mask full --dropout 0 --batch 3 --lengths uniform:1:9,uniform:0:40");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "uniform:1:9  ")) << result.out;
  EXPECT_TRUE(contains(result.out, "uniform:0:40  ")) << result.out;
}

TEST_F(LengthsProgram, LongOnesAreSampled) {
  for (const std::string pass : {"fwd", "bwd"}) {
    const auto cases = cases_of(
        "sweep --device emulated-v100 --headdim 64 --heads 4 --causal false "
        "--dropout 0 --kernel volta-fp32acc --pass " +
        pass + " " + lengths_file("900\n70\n1300\n200\n"));
    const auto& record = cases[0];
    EXPECT_EQ(record["status"], "ok") << record["reason"];
    EXPECT_LT(record["emulation"]["tiles_run"], record["emulation"]["tiles_total"]);
  }
}

TEST_F(LengthsProgram, ExcludeTheOneLengthOfAll) {
  expect_refused(run_sparkbench("sweep --lengths uniform:1:9 --seqlen 64"), 2,
                 "--lengths and --seqlen: both say how long sequences are; give one");
  expect_refused(run_sparkbench("run --lengths uniform:1:9 --seqlen-k 64"), 2,
                 "--lengths and --seqlen-k: both say");
  expect_refused(run_sparkbench("accuracy --lengths uniform:1:9 --tensors x"), 2,
                 "--lengths: the tensors of --tensors determine it already");
  expect_refused(run_sparkbench("run --lengths uniform:1:9,uniform:1:8"), 2,
                 "give one value of --lengths (uniform:1:9, uniform:1:8)");
}

TEST_F(LengthsProgram, AreRefusedByFileAndLine) {
  expect_refused(run_sparkbench("sweep " + lengths_file("1\n2 x\n")), 2,
                 "line 2: '2 x' is not a whole number");
  expect_refused(run_sparkbench("sweep --lengths file:/no/such/file"), 2,
                 "No such file or directory");
  expect_refused(run_sparkbench("sweep --batch 3 " + lengths_file("1\n2\n")), 2,
                 "has 2 sequences; leave --batch out");
}

TEST_F(LengthsProgram, RunSavesThemPacked) {
  const std::string saved = path_in(folder_, "out.safetensors");
  const ProgramResult result =
      run_sparkbench("run --no-progress " + kProblem + ragged() +
                     "--kernel volta-fp32acc --pass bwd --save-outputs " + saved);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "181 rows, 226 keys")) << result.out;
  std::ifstream file(saved, std::ios::binary);
  std::map<std::string, std::vector<std::uint64_t>> shapes;
  for (const auto& [name, tensor] :
       read_safetensors_header(file, std::filesystem::file_size(saved))) {
    shapes[name] = tensor.shape;
  }
  EXPECT_EQ(shapes["dq"], (std::vector<std::uint64_t>{181, 4, 40}));
  EXPECT_EQ(shapes["dk"], (std::vector<std::uint64_t>{226, 2, 40}));
  EXPECT_EQ(shapes["lse"], (std::vector<std::uint64_t>{4, 181}));
  EXPECT_EQ(shapes["cu_seqlens_k"], (std::vector<std::uint64_t>{8}));
}

TEST_F(LengthsProgram, AChangedFileIsAnotherCase) {
  const std::string out = path_in(folder_, "run");
  const std::string flags = lengths_file("9\n5\n");
  const ProgramResult first =
      run_sparkbench("sweep -q " + kProblem + flags + "--kernel unfused-fp16 --out " + out);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const auto ids_when_resumed = [&] {
    EXPECT_EQ(run_sparkbench("sweep -q --allow file --resume " + out).exit_code, 0);
    const auto run = nlohmann::json::parse(run_sparkbench("report " + out + " --json -").out);
    std::set<std::string> ids;
    for (const auto& record : run["cases"]) ids.insert(record["id"]);
    return ids;
  };
  EXPECT_EQ(ids_when_resumed().size(), 1u);
  lengths_file("9\n6\n");
  EXPECT_EQ(ids_when_resumed().size(), 2u);
}

TEST_F(LengthsProgram, DiffComparesEqualLengths) {
  const std::string sweep = "sweep -q " + kProblem + "--kernel unfused-fp16 --batch 3 ";
  const std::string a = path_in(folder_, "a"), b = path_in(folder_, "b"), c = path_in(folder_, "c");
  EXPECT_EQ(run_sparkbench(sweep + "--lengths uniform:1:9 --out " + a).exit_code, 0);
  EXPECT_EQ(run_sparkbench(sweep + "--lengths uniform:1:9 --out " + b).exit_code, 0);
  EXPECT_EQ(run_sparkbench(sweep + "--lengths uniform:1:900 --out " + c).exit_code, 0);
  EXPECT_EQ(run_sparkbench("diff " + a + " " + b).exit_code, 0);
  const ProgramResult other = run_sparkbench("diff " + a + " " + c);
  EXPECT_TRUE(contains(other.out, "missing")) << other.out << other.err;
}

}  // namespace
}  // namespace sparkbench
