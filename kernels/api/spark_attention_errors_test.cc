// What the C interface refuses, and in which words.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <thread>

#include "kernels/api/test_api.h"

namespace sparkbench {
namespace {

using Change = std::function<void(spark_attention_problem&)>;

/// "INVALID_ARGUMENT: ...": of the problem of emulated_problem() with a change.
std::string why_refused(const Change& change, std::int32_t pass = SPARK_ATTENTION_FORWARD) {
  spark_attention_problem problem = emulated_problem();
  change(problem);
  const spark_attention_status status = spark_attention_supports(&problem, pass);
  if (status == SPARK_ATTENTION_OK) return "";
  return std::string(spark_attention_status_name(status)) + ": " + spark_attention_last_error();
}

TEST(SparkAttentionProblem, IsRefusedByTheNameOfTheField) {
  using Problem = spark_attention_problem;
  EXPECT_EQ(why_refused([](Problem&) {}), "");
  EXPECT_EQ(why_refused([](Problem& p) { p.batch = 0; }),
            "INVALID_ARGUMENT: batch is 0; allowed: 1 to 2147483646");
  EXPECT_EQ(why_refused([](Problem& p) { p.seqlen_k = 1 << 30; }),
            "INVALID_ARGUMENT: seqlen_k is 1073741824; allowed: 1 to 1073741823");
  EXPECT_EQ(why_refused([](Problem& p) { p.heads_k = 3; }),
            "INVALID_ARGUMENT: heads_k is 3; allowed: a divisor of heads, which is 4");
  EXPECT_EQ(why_refused([](Problem& p) { p.backend = 2; }),
            "INVALID_ARGUMENT: backend is 2; allowed: 0 to 1");
  EXPECT_EQ(why_refused([](Problem& p) { p.dtype = 1; }),
            "INVALID_ARGUMENT: dtype is 1; allowed: 0 (fp16)");
  EXPECT_EQ(why_refused([](Problem& p) { p.accumulator = 2; }),
            "INVALID_ARGUMENT: accumulator is 2; allowed: 0 to 1");
  EXPECT_EQ(why_refused([](Problem& p) { p.dropout_p = 1.0f; }),
            "INVALID_ARGUMENT: dropout_p is 1.000000; allowed: at least 0 and below 1");
  EXPECT_EQ(why_refused([](Problem& p) { p.softmax_scale = std::nanf(""); }),
            "INVALID_ARGUMENT: softmax_scale is nan; allowed: above 0, or 0 for 1 / "
            "sqrt(head_dim)");
  EXPECT_EQ(why_refused([](Problem& p) { p.dropout_scale = 2; }),
            "INVALID_ARGUMENT: dropout_scale is 2; allowed: 0 to 1");
  EXPECT_EQ(why_refused([](Problem& p) {
              p.dropout_offset = reinterpret_cast<const std::uint64_t*>(std::uintptr_t{12});
            }),
            "INVALID_ARGUMENT: dropout_offset is not aligned to 8 bytes");
  EXPECT_NE(why_refused([](Problem& p) { p.mask = "diagonal"; }).find("causal"), std::string::npos);
  EXPECT_EQ(why_refused([](Problem& p) { p.generation = "kepler"; }),
            "INVALID_ARGUMENT: generation is 'kepler'; allowed: volta, hopper, or null for any");
  EXPECT_NE(why_refused([](Problem& p) { p.struct_bytes = 8; }).find("struct_bytes is 8"),
            std::string::npos);
}

TEST(SparkAttentionProblem, IsUnsupportedWhereNoKernelServes) {
  using Problem = spark_attention_problem;
  EXPECT_EQ(why_refused([](Problem& p) {
              p.head_dim = 63;
            }).find("UNSUPPORTED: volta-fp32acc does not support head_dim 63"),
            0u);
}

TEST(SparkAttentionProblem, MayBeNullForNoCall) {
  std::size_t bytes = 0;
  const char* name = nullptr;
  EXPECT_EQ(spark_attention_supports(nullptr, SPARK_ATTENTION_FORWARD),
            SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(), "problem is null; allowed: a pointer");
  EXPECT_EQ(spark_attention_workspace_bytes(nullptr, SPARK_ATTENTION_FORWARD, &bytes),
            SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_EQ(spark_attention_kernel_name(nullptr, SPARK_ATTENTION_FORWARD, &name),
            SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_EQ(spark_attention_forward(nullptr, nullptr, nullptr), SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_EQ(spark_attention_backward(nullptr, nullptr, nullptr, 0, nullptr),
            SPARK_ATTENTION_INVALID_ARGUMENT);
}

TEST(SparkAttentionTensors, AreRefusedByName) {
  const spark_attention_problem problem = emulated_problem();
  EXPECT_EQ(spark_attention_forward(&problem, nullptr, nullptr), SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(), "tensors is null; allowed: a pointer");

  std::vector<std::uint16_t> data(2 * 70 * 4 * 64 + 8), o(2 * 37 * 4 * 64);
  std::vector<float> lse(2 * 4 * 37);
  spark_attention_forward_tensors tensors = {
      tensor_of<spark_attention_input>(data.data(), 37, 4, 64),
      tensor_of<spark_attention_input>(data.data(), 70, 2, 64),
      tensor_of<spark_attention_input>(data.data() + 1, 70, 2, 64),
      tensor_of<spark_attention_output>(o.data(), 37, 4, 64), lse.data()};
  EXPECT_EQ(spark_attention_forward(&problem, &tensors, nullptr), SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(), "tensor v is not aligned to 16 bytes");
  tensors.v.data = nullptr;
  EXPECT_EQ(spark_attention_forward(&problem, &tensors, nullptr), SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(), "v.data is null; allowed: a pointer");
}

TEST(SparkAttentionPass, IsRefusedWhereThereIsNone) {
  for (const std::int32_t pass : {-1, 2, 32}) {
    EXPECT_EQ(why_refused([](spark_attention_problem&) {}, pass),
              "INVALID_ARGUMENT: pass is " + std::to_string(pass) + "; allowed: 0 to 1");
  }
  EXPECT_STREQ(spark_attention_status_name(99), "unknown");
}

TEST(SparkAttentionTensors, AreRefusedWhereAnOutputIsNotOfItsOwn) {
  const spark_attention_problem problem = emulated_problem();
  std::vector<std::uint16_t> q(2 * 37 * 4 * 64), k(2 * 70 * 2 * 64), o(q.size());
  std::vector<float> lse(2 * 4 * 37);
  spark_attention_forward_tensors tensors = {tensor_of<spark_attention_input>(q.data(), 37, 4, 64),
                                             tensor_of<spark_attention_input>(k.data(), 70, 2, 64),
                                             tensor_of<spark_attention_input>(k.data(), 70, 2, 64),
                                             tensor_of<spark_attention_output>(o.data(), 37, 4, 64),
                                             lse.data()};
  EXPECT_EQ(spark_attention_forward(&problem, &tensors, nullptr), SPARK_ATTENTION_OK);
  tensors.o.data = q.data();
  EXPECT_EQ(spark_attention_forward(&problem, &tensors, nullptr), SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(),
               "output o overlaps tensor q; allowed: memory of its own");
  tensors.o = {o.data(), 37 * 4 * 64, 4 * 64, 0};
  EXPECT_EQ(spark_attention_forward(&problem, &tensors, nullptr), SPARK_ATTENTION_INVALID_ARGUMENT);
}

TEST(SparkAttentionError, IsOfTheThread) {
  spark_attention_problem problem = emulated_problem();
  problem.heads = 0;
  spark_attention_supports(&problem, SPARK_ATTENTION_FORWARD);
  std::string of_another = "unset";
  std::thread([&] { of_another = spark_attention_last_error(); }).join();
  EXPECT_EQ(of_another, "");
  EXPECT_STREQ(spark_attention_last_error(), "heads is 0; allowed: 1 to 2147483646");
}

TEST(SparkAttentionWorkspace, IsTheLibrarysOwnWhenEmulated) {
  const spark_attention_problem problem = emulated_problem();
  std::size_t bytes = 1;
  EXPECT_EQ(spark_attention_workspace_bytes(&problem, SPARK_ATTENTION_BACKWARD, &bytes),
            SPARK_ATTENTION_OK);
  EXPECT_EQ(bytes, 0u);
}

TEST(SparkAttentionCuda, SaysWhatIsMissing) {
  if (std::string(spark_attention_architectures()) != "") GTEST_SKIP() << "built with CUDA";
  EXPECT_EQ(why_refused([](spark_attention_problem& p) { p.backend = SPARK_ATTENTION_CUDA; }),
            "NO_DEVICE_CODE: this library was built without CUDA, for the emulated backend alone: "
            "build it anew with CMAKE_CUDA_ARCHITECTURES=70 for a V100, and the nvcc of CUDA 12.9 "
            "or older on PATH or in CUDACXX");
}

TEST(SparkAttentionBuild, SaysForWhichGpusAndWhy) {
  const std::string info = spark_attention_build_info();
  const std::string architectures = spark_attention_architectures();
  EXPECT_NE(info.find("\"architectures\": [" + architectures + "]"), std::string::npos) << info;
  EXPECT_EQ(info.find("{\"cuda\": \"\"") == 0, architectures.empty()) << info;
  EXPECT_EQ(info.find("\"why\": \"\""), std::string::npos) << info;
}

}  // namespace
}  // namespace sparkbench
