// run and accuracy on the user's own tensors, and the outputs that run saves.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/e2e/test_program.h"
#include "harness/run/problems/test_tensors.h"
#include "harness/run/run_files.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/inputs/inputs.h"
#include "results/record/case_id.h"

namespace sparkbench {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kSeed = 7;
const std::string kRun = "run --device emulated-v100 --causal true --dropout 0.1 --seed 7 ";

Problem small_problem() {
  Problem problem;
  problem.batch = 2;
  problem.heads = 2;
  problem.seqlen_q = 65;
  problem.seqlen_k = 40;
  problem.head_dim = 64;
  problem.mask = MaskSpec::causal_if(true);
  problem.dropout_p = 0.1f;
  problem.seed = kSeed;
  return problem;
}

/// A file with the tensors that the program would generate for small_problem().
class OwnTensorsProgram : public testing::Test {
 protected:
  OwnTensorsProgram() {
    write_tensors(
        path_,
        {f16_tensor("q", {2, 65, 2, 64}, inputs_.q), f16_tensor("k", {2, 40, 2, 64}, inputs_.k),
         f16_tensor("v", {2, 40, 2, 64}, inputs_.v), f16_tensor("d_o", {2, 65, 2, 64}, d_o_)});
  }

  Json record_of(const std::string& flags) const {
    const ProgramResult result = run_sparkbench(kRun + "-q --json - " + flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  }

  /// The bytes of a saved tensor; checks its dtype and shape.
  std::string saved(const std::string& name, const std::string& dtype,
                    const std::vector<std::uint64_t>& shape) const {
    std::ifstream file(saved_path_, std::ios::binary);
    const auto tensors = read_safetensors_header(file, std::filesystem::file_size(saved_path_));
    const StoredTensor& tensor = tensors.at(name);
    EXPECT_EQ(tensor.dtype, dtype) << name;
    EXPECT_EQ(tensor.shape, shape) << name;
    return text_of_file(saved_path_).substr(tensor.begin, tensor.end - tensor.begin);
  }

  std::vector<Half> saved_halves(const std::string& name, std::uint64_t seqlen) const {
    const std::string bytes = saved(name, "F16", {2, seqlen, 2, 64});
    std::vector<Half> values(bytes.size() / sizeof(Half));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  TemporaryFolder folder_;
  std::string path_ = path_in(folder_, "in.safetensors");
  std::string saved_path_ = path_in(folder_, "out.safetensors");
  Problem problem_ = small_problem();
  OwnedInputs inputs_ = make_inputs(problem_, Distribution::kNormal, kSeed);
  std::vector<Half> d_o_ = make_gradient_input(problem_, Distribution::kNormal, kSeed);
};

/// sum|got - want| / sum|want|; NaN unless the sizes are equal.
double relative_error(const std::vector<Half>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::quiet_NaN();
  double difference = 0.0, size = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += std::abs(to_float(got[i]) - want[i]);
    size += std::abs(want[i]);
  }
  return difference / size;
}

TEST_F(OwnTensorsProgram, GivesTheBitsOfTheSameTensorsGenerated) {
  const std::string kernels = "--kernel volta-* ";
  for (const std::string pass : {"--pass fwd ", "--pass bwd --deterministic "}) {
    const Json own = record_of(kernels + pass + "--tensors " + path_);
    const Json generated =
        record_of(kernels + pass + "--batch 2 --heads 2 --seqlen 65 --seqlen-k 40 --headdim 64");
    ASSERT_EQ(own["cases"].size(), generated["cases"].size());
    for (std::size_t i = 0; i < own["cases"].size(); ++i) {
      EXPECT_EQ(own["cases"][i]["id"], generated["cases"][i]["id"]);
      EXPECT_EQ(own["cases"][i]["accuracy"], generated["cases"][i]["accuracy"]);
      EXPECT_NE(own["cases"][i]["config_hash"], generated["cases"][i]["config_hash"]);
    }
  }
}

TEST_F(OwnTensorsProgram, MayShareKeysBetweenHeads) {
  problem_.heads = 4;
  problem_.heads_k = 2;
  const OwnedInputs drawn = make_inputs(problem_, Distribution::kNormal, kSeed);
  write_tensors(path_,
                {f16_tensor("q", {2, 65, 4, 64}, drawn.q), f16_tensor("k", {2, 40, 2, 64}, drawn.k),
                 f16_tensor("v", {2, 40, 2, 64}, drawn.v)});
  const std::string kernel = "--kernel volta-fp32acc ";
  const Json own = record_of(kernel + "--tensors " + path_);
  const Json generated =
      record_of(kernel + "--batch 2 --heads 4 --heads-k 2 --seqlen 65 --seqlen-k 40 --headdim 64");
  EXPECT_EQ(own["cases"][0]["status"], "ok");
  EXPECT_EQ(own["cases"][0]["id"], generated["cases"][0]["id"]);
  EXPECT_EQ(own["cases"][0]["problem"]["heads_k"], 2);
  EXPECT_EQ(own["cases"][0]["accuracy"], generated["cases"][0]["accuracy"]);
}

TEST_F(OwnTensorsProgram, RecordsTheFile) {
  const Json record = record_of("--tensors " + path_);
  EXPECT_EQ(record["method"]["input"], "tensors");
  EXPECT_EQ(record["method"]["input_file"], "in.safetensors");
  EXPECT_EQ(record["method"]["input_hash"], to_hex(fnv1a(text_of_file(path_))));
  EXPECT_EQ(record["run"]["resolved"]["tensors"], path_);
  EXPECT_TRUE(contains(record["cases"][0]["repro"], "run --device emulated-v100"));
  EXPECT_TRUE(contains(record["cases"][0]["repro"], "--tensors '" + path_ + "'"));
}

TEST_F(OwnTensorsProgram, SavesTheWholeForwardOutputs) {
  record_of("--tensors " + path_ + " --save-outputs " + saved_path_);
  const std::vector<QueryRow> rows = all_rows(problem_);
  const ExactRows exact = exact_forward(problem_, inputs_.view(), rows);
  const auto o = gather_rows_of<QueryRow>(saved_halves("o", 65), query_shape(problem_), rows);
  EXPECT_LT(relative_error(o, exact.o), 1e-3);
  const std::string lse = saved("lse", "F32", {2, 2, 65});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    float value;
    std::memcpy(&value, lse.data() + i * sizeof value, sizeof value);
    if (std::isinf(exact.lse[i])) {
      EXPECT_EQ(value, exact.lse[i]);
    } else {
      EXPECT_NEAR(value, exact.lse[i], 1e-5);
    }
  }
}

TEST_F(OwnTensorsProgram, SavesWholeGradientsAndTheirForward) {
  record_of("--kernel volta-fp32acc --tensors " + path_ + " --save-outputs " + saved_path_);
  const std::string forward = saved("o", "F16", {2, 65, 2, 64});
  const GradientRows rows = all_gradient_rows(problem_);
  const ExactGradients exact =
      exact_backward(problem_, {inputs_.q, inputs_.k, inputs_.v, d_o_}, rows);
  for (const std::string pass : {"bwd", "fwd+bwd"}) {
    record_of("--kernel volta-fp32acc --tensors " + path_ + " --save-outputs " + saved_path_ +
              " --pass " + pass);
    const std::vector<Half> dq = saved_halves("dq", 65), dk = saved_halves("dk", 40),
                            dv = saved_halves("dv", 40);
    const HalfGradients got = gather_gradients(problem_, {dq, dk, dv}, rows);
    EXPECT_LT(relative_error(got.dq, exact.dq), 1e-3);
    EXPECT_LT(relative_error(got.dk, exact.dk), 1e-3);
    EXPECT_LT(relative_error(got.dv, exact.dv), 1e-3);
    EXPECT_EQ(saved("o", "F16", {2, 65, 2, 64}), forward);
  }
}

TEST_F(OwnTensorsProgram, SavesOnStandardOutput) {
  const ProgramResult result =
      run_sparkbench(kRun + "--no-progress --tensors " + path_ + " --save-outputs -");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream file(result.out);
  EXPECT_EQ(read_safetensors_header(file, result.out.size()).size(), 2u);
  EXPECT_TRUE(contains(result.err, "volta-fp32acc")) << result.err;
}

TEST_F(OwnTensorsProgram, AreStudiedByAccuracy) {
  const ProgramResult result =
      run_sparkbench("accuracy --device emulated-v100 --no-progress --tensors " + path_);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "on 2 problems")) << result.out;
  EXPECT_TRUE(
      result.out.starts_with("Tensors of in.safetensors: q [2, 65, 2, 64], k and v "
                             "[2, 40, 2, 64], read as [batch, seqlen, heads, head_dim]\n"))
      << result.out;
  const std::size_t last = result.out.rfind('\n', result.out.size() - 2) + 1;
  EXPECT_TRUE(result.out.substr(last).starts_with("Use volta-fp32acc: 0.")) << result.out;
  EXPECT_TRUE(result.out.ends_with("; overflows in none of its 2 cases.\n")) << result.out;
}

TEST_F(OwnTensorsProgram, NeverFindTheirBaselineIncorrect) {
  const Problem problem{1, 2, 128, 128, 64, MaskSpec::full()};
  const OwnedInputs hard = make_inputs(problem, Distribution::kOutliers, kSeed, 8.0f);
  const std::vector<std::uint64_t> shape = {1, 128, 2, 64};
  write_tensors(path_, {f16_tensor("q", shape, hard.q), f16_tensor("k", shape, hard.k),
                        f16_tensor("v", shape, hard.v)});
  const ProgramResult result = run_sparkbench(
      "accuracy --device emulated-v100 --no-progress --causal false --dropout 0 --json " +
      saved_path_ + " --tensors " + path_);
  const Json run = Json::parse(text_of_file(saved_path_));
  bool is_hard = false;
  for (const Json& record : run["cases"]) {
    if (record["role"] != "reference" || record["accuracy"]["nonfinite"] != 0) continue;
    EXPECT_EQ(record["status"], "ok") << record["reason"];
    is_hard = is_hard || record["accuracy"]["rel_l2"] > 0x1p-8;
  }
  EXPECT_TRUE(is_hard) << result.out;
  EXPECT_TRUE(contains(result.out, "warning W-REFERENCE-INACCURATE")) << result.out;
}

TEST_F(OwnTensorsProgram, OverflowToNullAndNotToZero) {
  const Problem problem{1, 2, 128, 128, 64, MaskSpec::full()};
  const OwnedInputs large = make_inputs(problem, Distribution::kNormal, kSeed, 200.0f);
  const std::vector<std::uint64_t> shape = {1, 128, 2, 64};
  write_tensors(path_, {f16_tensor("q", shape, large.q), f16_tensor("k", shape, large.k),
                        f16_tensor("v", shape, large.v)});
  const ProgramResult result = run_sparkbench(
      "accuracy --device emulated-v100 --no-progress --causal false --dropout 0 --json " +
      saved_path_ + " --tensors " + path_);
  EXPECT_EQ(result.exit_code, 1);
  const Json run = Json::parse(text_of_file(saved_path_));
  int not_finite = 0;
  for (const Json& record : run["cases"]) {
    if (record["accuracy"]["nonfinite"] == 0) continue;
    ++not_finite;
    EXPECT_EQ(record["status"], "incorrect");
    for (const char* metric : {"rel_l1", "rel_l2", "max_abs", "error_over_unfused"}) {
      EXPECT_TRUE(record["accuracy"][metric].is_null()) << metric << record["accuracy"];
    }
  }
  EXPECT_GE(not_finite, 2);
  EXPECT_FALSE(contains(result.out, "nan")) << result.out;
  EXPECT_TRUE(contains(result.out, "\nUse volta-fp32acc: ")) << result.out;
}

TEST_F(OwnTensorsProgram, RefusesFlagsThatTheTensorsAnswer) {
  for (const std::string flag :
       {"--headdim 64", "--seqlen 65", "--seqlen-k 65", "--batch 2", "--heads 2", "--heads-k 2",
        "--hidden 64", "--total-tokens 64", "--input normal"}) {
    expect_refused(
        run_sparkbench(kRun + "--tensors " + path_ + " " + flag), 2,
        flag.substr(0, flag.find(' ')) + ": the tensors of --tensors determine it already");
  }
}

TEST_F(OwnTensorsProgram, RefusesABackwardPassWithoutItsGradient) {
  write_tensors(path_, {f16_tensor("q", {1, 1, 1, 64}, std::vector<Half>(64)),
                        f16_tensor("k", {1, 1, 1, 64}, std::vector<Half>(64)),
                        f16_tensor("v", {1, 1, 1, 64}, std::vector<Half>(64))});
  for (const std::string command : {"run", "accuracy"}) {
    expect_refused(
        run_sparkbench(command + " --device emulated-v100 --pass bwd --tensors " + path_), 2,
        "has no tensor 'd_o', which a backward pass needs");
  }
}

TEST_F(OwnTensorsProgram, RefusesToSaveWhatIsNotOneKernels) {
  const std::string run = kRun + "--tensors " + path_ + " --save-outputs " + saved_path_;
  expect_refused(run_sparkbench(run + " --kernel volta-fp*"), 2,
                 "--save-outputs: saves the outputs of one kernel");
  expect_refused(run_sparkbench(run + " --kernel unfused-fp16"), 2,
                 "--save-outputs: unfused-fp16 is a reference");
  EXPECT_EQ(folder_.entries(), 1);
}

TEST_F(OwnTensorsProgram, NeverWritesOverItsInput) {
  for (const std::string flag : {"--save-outputs", "--json", "--csv", "--md"}) {
    expect_refused(run_sparkbench(kRun + "--tensors " + path_ + " " + flag + " " + path_), 2,
                   flag + ": '" + path_ + "' is what --tensors reads");
  }
}

TEST_F(OwnTensorsProgram, LeavesNoFileWhenNoKernelRan) {
  const std::vector<Half> zeros(264);
  write_tensors(path_,
                {f16_tensor("q", {1, 1, 1, 264}, zeros), f16_tensor("k", {1, 1, 1, 264}, zeros),
                 f16_tensor("v", {1, 1, 1, 264}, zeros)});
  const ProgramResult result =
      run_sparkbench(kRun + "--no-progress --tensors " + path_ + " --save-outputs " + saved_path_);
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_TRUE(contains(result.err, "nothing was written to '" + saved_path_ +
                                       "', since volta-fp32acc does not support head_dim 264"))
      << result.err;
  EXPECT_EQ(folder_.entries(), 1);
}

TEST(SavedOutputs, OfALongProblemAreAnnouncedAsCostly) {
  const auto device = open_device("emulated-v100");
  Problem problem = small_problem();
  EXPECT_EQ(cost_of_saving({Pass::kForward, problem}, *device), "");
  problem.seqlen_q = problem.seqlen_k = 16384;
  problem.mask = MaskSpec::causal_if(false);
  EXPECT_EQ(cost_of_saving({Pass::kForward, problem}, *device),
            "--save-outputs: emulates the whole problem, 275 GFLOP, not a sample of at most 0.54: "
            "this may take a while");
}

}  // namespace
}  // namespace sparkbench
