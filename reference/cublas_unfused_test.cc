#include "reference/cublas_unfused.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "kernels/machine/cuda_check.h"
#include "reference/error_metrics.h"
#include "reference/exact.h"
#include "reference/inputs.h"

namespace sparkbench {
namespace {

template <class T>
class DeviceVector {
 public:
  explicit DeviceVector(std::size_t size) : size_(size) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, size * sizeof(T)));
    data_ = static_cast<T*>(memory);
    CUDA_CHECK(cudaMemset(data_, 0xff, size * sizeof(T)));  // NaN: what is not written shows
  }
  explicit DeviceVector(const std::vector<T>& values) : DeviceVector(values.size()) {
    CUDA_CHECK(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() { return data_; }
  std::vector<T> to_host() const { return copy_to_host(data_, size_); }

  static std::vector<T> copy_to_host(const T* device, std::size_t size) {
    std::vector<T> values(size);
    CUDA_CHECK(cudaMemcpy(values.data(), device, size * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
};

struct GpuResult {
  ForwardRows rows;
  std::vector<float> o_fp32;  // empty for cublas-fp16
};

GpuResult run_on_gpu(const Problem& problem, const OwnedInputs& inputs,
                     UnfusedPrecision precision) {
  DeviceVector<Half> q(inputs.q), k(inputs.k), v(inputs.v), o(problem.q_elements());
  DeviceVector<float> lse(problem.lse_elements());
  CublasUnfused unfused(problem, precision);
  unfused.forward({q.data(), k.data(), v.data(), o.data(), lse.data()}, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  GpuResult result{gather_rows(problem, o.to_host(), lse.to_host(), all_rows(problem)), {}};
  if (const float* o_fp32 = unfused.o_fp32()) {
    result.o_fp32 = DeviceVector<float>::copy_to_host(o_fp32, problem.q_elements());
  }
  return result;
}

/// causal x dropout x equal, cross and odd lengths x head_dim.
std::vector<Problem> grid() {
  std::vector<Problem> problems;
  for (const auto& [seqlen_q, seqlen_k] :
       {std::pair{1, 1}, {64, 64}, {65, 63}, {127, 500}, {500, 127}, {1, 77}, {300, 1}}) {
    for (const int head_dim : {64, 128}) {
      for (const bool causal : {false, true}) {
        for (const float dropout_p : {0.0f, 0.1f, 0.5f}) {
          problems.push_back(
              {2, 3, seqlen_q, seqlen_k, head_dim, causal, dropout_p, 0.0f, /*seed=*/77});
        }
      }
    }
  }
  return problems;
}

std::string name_of(const Problem& p) {
  return "sq" + std::to_string(p.seqlen_q) + " sk" + std::to_string(p.seqlen_k) + " d" +
         std::to_string(p.head_dim) + (p.causal ? " causal" : "") + " p" +
         std::to_string(p.dropout_p);
}

class CublasUnfusedTest : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "no CUDA device";
    }
  }

  static ErrorMetrics error_of(const Problem& problem, UnfusedPrecision precision) {
    const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
    const ExactRows exact = exact_forward(problem, inputs.view(), all_rows(problem));
    return error_metrics(run_on_gpu(problem, inputs, precision).rows, exact);
  }
};

// Errors allowed: a few roundings of 2^-11 relative; scores up to 8 are half a place, 2^-9, off.
TEST_F(CublasUnfusedTest, Fp16IsAsCloseToExactAsFp16IntermediatesAllow) {
  for (const Problem& problem : grid()) {
    const ErrorMetrics metrics = error_of(problem, UnfusedPrecision::kFp16);
    EXPECT_EQ(metrics.nonfinite, 0u) << name_of(problem);
    EXPECT_LE(metrics.rel_l2, 0x1p-10) << name_of(problem);
    EXPECT_LE(metrics.lse_max_abs, 0x1p-9) << name_of(problem);
  }
}

// Only the last rounding, of O to fp16, is left: at most 2^-11 relative.
TEST_F(CublasUnfusedTest, Fp32IsExactButForTheRoundingOfO) {
  for (const Problem& problem : grid()) {
    const ErrorMetrics metrics = error_of(problem, UnfusedPrecision::kFp32);
    EXPECT_EQ(metrics.nonfinite, 0u) << name_of(problem);
    EXPECT_LE(metrics.rel_l2, 0x1p-11) << name_of(problem);
    EXPECT_LE(metrics.lse_max_abs, 1e-5) << name_of(problem);
  }
}

TEST_F(CublasUnfusedTest, Fp32LeavesAnUnroundedO) {
  Problem problem;
  problem.seqlen_q = problem.seqlen_k = 200;  // one head, so O is in the order of its rows
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  const GpuResult gpu = run_on_gpu(problem, inputs, UnfusedPrecision::kFp32);
  const ExactRows exact = exact_forward(problem, inputs.view(), all_rows(problem));
  EXPECT_LE(error_metrics(std::span<const float>(gpu.o_fp32), exact.o).rel_l2, 1e-5);
  EXPECT_TRUE(run_on_gpu(problem, inputs, UnfusedPrecision::kFp16).o_fp32.empty());
}

TEST_F(CublasUnfusedTest, SecondForwardGivesTheSameBits) {
  const Problem problem = grid().back();
  const OwnedInputs inputs = make_inputs(problem, Distribution::kOutliers, 4);
  const GpuResult first = run_on_gpu(problem, inputs, UnfusedPrecision::kFp16);
  const GpuResult second = run_on_gpu(problem, inputs, UnfusedPrecision::kFp16);
  EXPECT_EQ(first.rows.lse, second.rows.lse);
  for (std::size_t i = 0; i < first.rows.o.size(); ++i) {
    ASSERT_EQ(first.rows.o[i].bits, second.rows.o[i].bits);
  }
}

TEST_F(CublasUnfusedTest, AWorkspaceLargerThanTheDeviceIsAnException) {
  Problem problem;
  problem.heads = 64;
  problem.seqlen_q = problem.seqlen_k = 1 << 17;  // S alone is 2 TiB
  EXPECT_THROW(CublasUnfused(problem, UnfusedPrecision::kFp16), std::runtime_error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CublasUnfusedWorkspace, IsScoresAndCublasAndInFp32TheWidenedTensors) {
  Problem problem;
  problem.heads = 2;
  problem.seqlen_q = 128;
  problem.seqlen_k = 100;  // rows of S padded to 104 halves, 100 floats
  const std::size_t cublas_bytes = std::size_t{32} << 20;
  EXPECT_EQ(cublas_unfused_workspace_bytes(problem, UnfusedPrecision::kFp16),
            2 * 128 * 104 * 2 + cublas_bytes);
  EXPECT_EQ(cublas_unfused_workspace_bytes(problem, UnfusedPrecision::kFp32),
            2 * 128 * 100 * 4 + cublas_bytes + (2 * 128 + 2 * 100) * 2 * 64 * 4);
}

}  // namespace
}  // namespace sparkbench
