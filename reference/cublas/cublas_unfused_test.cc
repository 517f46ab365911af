#include "reference/cublas/cublas_unfused.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "reference/cublas/test_cublas.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_device_tensor.h"

namespace sparkbench {
namespace {

struct GpuResult {
  ForwardRows rows;
  std::vector<float> o_fp32;  // empty for cublas-fp16
};

GpuResult run_on_gpu(const Problem& problem, const OwnedInputs& inputs,
                     UnfusedPrecision precision) {
  DeviceVector<Half> q(inputs.q), k(inputs.k), v(inputs.v), o(problem.q_elements());
  DeviceVector<float> lse(problem.lse_elements());
  CublasUnfused unfused(problem, precision);
  unfused.forward(contiguous_tensors(problem, q.data(), k.data(), v.data(), o.data(), lse.data()),
                  nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  GpuResult result{gather_rows(problem, o.to_host(), lse.to_host(), all_rows(problem)), {}};
  if (const float* o_fp32 = unfused.o_fp32()) {
    result.o_fp32 = DeviceVector<float>::copy_to_host(o_fp32, problem.q_elements());
  }
  return result;
}

class CublasUnfusedTest : public CublasTest {
 protected:
  static ErrorMetrics error_of(const Problem& problem, UnfusedPrecision precision) {
    const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
    const ExactRows exact = exact_forward(problem, inputs.view(), all_rows(problem));
    return error_metrics(run_on_gpu(problem, inputs, precision).rows, exact);
  }
};

// Allowed error: a few roundings of 2^-11 relative. Scores up to 8 are off by half a unit, 2^-9.
TEST_F(CublasUnfusedTest, Fp16IsAsCloseAsItsIntermediatesAllow) {
  for (const Problem& problem : cublas_grid()) {
    const ErrorMetrics metrics = error_of(problem, UnfusedPrecision::kFp16);
    EXPECT_EQ(metrics.nonfinite, 0u) << name_of(problem);
    EXPECT_LE(metrics.rel_l2, 0x1p-10) << name_of(problem);
    EXPECT_LE(metrics.lse_max_abs, 0x1p-9) << name_of(problem);
  }
}

// Only the final rounding of O to fp16 remains: at most 2^-11 relative.
TEST_F(CublasUnfusedTest, Fp32IsExactButForTheLastRounding) {
  for (const Problem& problem : cublas_grid()) {
    const ErrorMetrics metrics = error_of(problem, UnfusedPrecision::kFp32);
    EXPECT_EQ(metrics.nonfinite, 0u) << name_of(problem);
    EXPECT_LE(metrics.rel_l2, 0x1p-11) << name_of(problem);
    EXPECT_LE(metrics.lse_max_abs, 1e-5) << name_of(problem);
  }
}

// O is the mean of many random v and small compared with the roundings of P: twice the tolerance
// above.
TEST_F(CublasUnfusedTest, RowsOfEveryLengthAreRight) {
  for (const Problem& problem : long_row_problems()) {
    const ErrorMetrics fp16 = error_of(problem, UnfusedPrecision::kFp16);
    EXPECT_EQ(fp16.nonfinite, 0u) << name_of(problem);
    EXPECT_LE(fp16.rel_l2, 0x1p-9) << name_of(problem);
    const ErrorMetrics fp32 = error_of(problem, UnfusedPrecision::kFp32);
    EXPECT_EQ(fp32.nonfinite, 0u) << name_of(problem);
    EXPECT_LE(fp32.rel_l2, 0x1p-11) << name_of(problem);
    EXPECT_LE(fp32.lse_max_abs, 1e-5) << name_of(problem);
  }
}

TEST_F(CublasUnfusedTest, OtherTensorsGetTheirOwnResult) {
  const Problem problem{2, 3, 65, 127, 64, MaskSpec::full(), 0.0f, 0.0f, /*seed=*/77};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  DeviceVector<Half> q(inputs.q), k(inputs.k), v(inputs.v);
  DeviceVector<Half> first(problem.q_elements()), second(problem.q_elements());
  DeviceVector<float> lse(problem.lse_elements());
  CublasUnfused unfused(problem, UnfusedPrecision::kFp16);
  for (DeviceVector<Half>* o : {&first, &first, &second}) {
    unfused.forward(
        contiguous_tensors(problem, q.data(), k.data(), v.data(), o->data(), lse.data()), nullptr);
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<Half> want = first.to_host(), got = second.to_host();
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i].bits, want[i].bits);
}

TEST_F(CublasUnfusedTest, TellsOfEachPartInOrder) {
  const Problem problem{2, 3, 64, 128, 64, MaskSpec::full(), 0.0f, 0.0f, /*seed=*/77};
  DeviceVector<Half> q(problem.q_elements()), k(problem.k_elements()), v(problem.k_elements());
  DeviceVector<Half> o(problem.q_elements());
  DeviceVector<float> lse(problem.lse_elements());
  CublasUnfused unfused(problem, UnfusedPrecision::kFp16);
  std::vector<UnfusedPart> parts;
  unfused.forward(contiguous_tensors(problem, q.data(), k.data(), v.data(), o.data(), lse.data()),
                  nullptr, [&](const UnfusedPart& part) { parts.push_back(part); });
  CUDA_CHECK(cudaDeviceSynchronize());
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].name, "S = scale Q K^T");
  EXPECT_EQ(parts[0].flops, 6u * 2 * 64 * 128 * 64);
  EXPECT_EQ(parts[0].bytes, 6u * 2 * (64 * 64 + 128 * 64 + 64 * 128));
  EXPECT_EQ(parts[1].name, "P = softmax S");
  EXPECT_EQ(parts[1].flops, 0u);
  EXPECT_EQ(parts[1].bytes, 6u * 2 * 2 * 64 * 128);
  EXPECT_EQ(parts[2].name, "O = P V");
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
  const Problem problem = cublas_grid().back();
  const OwnedInputs inputs = make_inputs(problem, Distribution::kOutliers, 4);
  const GpuResult first = run_on_gpu(problem, inputs, UnfusedPrecision::kFp16);
  const GpuResult second = run_on_gpu(problem, inputs, UnfusedPrecision::kFp16);
  EXPECT_EQ(first.rows.lse, second.rows.lse);
  for (std::size_t i = 0; i < first.rows.o.size(); ++i) {
    ASSERT_EQ(first.rows.o[i].bits, second.rows.o[i].bits);
  }
}

TEST_F(CublasUnfusedTest, ReadsAndWritesEveryLayoutInPlace) {
  const Problem problem{2, 3, 65, 127, 64, MaskSpec::window(37), 0.1f, 0.0f, /*seed=*/77};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  const TensorShape queries = query_shape(problem), keys = key_shape(problem);
  const ExactRows exact = exact_forward(problem, inputs.view(), all_rows(problem));
  for (const auto precision : {UnfusedPrecision::kFp16, UnfusedPrecision::kFp32}) {
    for (const TestLayout layout : kTestLayouts) {
      const DeviceTensor q(LaidOutTensor(inputs.q, queries, layout));
      const DeviceTensor k(LaidOutTensor(inputs.k, keys, layout));
      const DeviceTensor v(LaidOutTensor(inputs.v, keys, layout));
      const DeviceTensor o(LaidOutTensor(queries, layout));
      DeviceVector<float> lse(problem.lse_elements());
      CublasUnfused unfused(problem, precision);
      unfused.forward({q.view(), k.view(), v.view(), o.view(), lse.data()}, nullptr);
      CUDA_CHECK(cudaDeviceSynchronize());
      const LaidOutTensor got = o.to_host();
      const ForwardRows rows = gather_rows(problem, got.tensor(), lse.to_host(), all_rows(problem));
      const ErrorMetrics metrics = error_metrics(rows, exact);
      EXPECT_EQ(metrics.nonfinite, 0u) << name_of(layout);
      EXPECT_LE(metrics.rel_l2, 0x1p-10) << name_of(layout);
      EXPECT_TRUE(got.has_untouched_gaps()) << name_of(layout);
    }
  }
}

// More than 65535, the limit of a grid's second and third dimension.
TEST_F(CublasUnfusedTest, TakesAnyNumberOfHeads) {
  Problem problem;
  problem.batch = 70000;
  problem.seqlen_q = problem.seqlen_k = 8;
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  const ExactRows exact = exact_forward(problem, inputs.view(), all_rows(problem));
  for (const auto precision : {UnfusedPrecision::kFp16, UnfusedPrecision::kFp32}) {
    const ErrorMetrics metrics = error_metrics(run_on_gpu(problem, inputs, precision).rows, exact);
    EXPECT_EQ(metrics.nonfinite, 0u);
    EXPECT_LE(metrics.rel_l2, 0x1p-10);
  }
}

TEST_F(CublasUnfusedTest, AWorkspaceThatDoesNotFitThrows) {
  Problem problem;
  problem.heads = 64;
  problem.seqlen_q = problem.seqlen_k = 1 << 17;  // 2 TiB of scores
  EXPECT_THROW(CublasUnfused(problem, UnfusedPrecision::kFp16), std::runtime_error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CublasUnfusedWorkspace, IsScoresPointersCublasAndWidenedTensors) {
  Problem problem;
  problem.heads = 2;
  problem.seqlen_q = 128;
  problem.seqlen_k = 100;            // rows of S padded to 104 halves, 100 floats
  const std::size_t pointers = 256;  // 5 arrays of 2, rounded up
  const std::size_t cublas_bytes = std::size_t{32} << 20;
  EXPECT_EQ(cublas_unfused_workspace_bytes(problem, UnfusedPrecision::kFp16),
            2 * 128 * 104 * 2 + pointers + cublas_bytes);
  EXPECT_EQ(cublas_unfused_workspace_bytes(problem, UnfusedPrecision::kFp32),
            2 * 128 * 100 * 4 + pointers + cublas_bytes + (2 * 128 + 2 * 100) * 2 * 64 * 4);
}

TEST(CublasUnfusedWorkspace, OfTrainingHasAThirdMatrixForDropout) {
  Problem problem;
  problem.heads = 2;
  problem.seqlen_q = 128;
  problem.seqlen_k = 100;
  const std::size_t pointers = 256 + 256;  // 5 and 9 arrays of 2, each rounded up
  const std::size_t matrix = 2 * 128 * 104 * 2, cublas_bytes = std::size_t{32} << 20;
  const auto bytes = [&](UnfusedPrecision precision) {
    return cublas_unfused_workspace_bytes(problem, precision, Pass::kBackward);
  };
  EXPECT_EQ(bytes(UnfusedPrecision::kFp16), 2 * matrix + pointers + cublas_bytes);
  problem.dropout_p = 0.1f;
  EXPECT_EQ(bytes(UnfusedPrecision::kFp16), 3 * matrix + pointers + cublas_bytes);
  // q, o, d_o, dq and k, v, dk, dv in fp32.
  EXPECT_EQ(bytes(UnfusedPrecision::kFp32),
            3 * 2 * 128 * 100 * 4 + pointers + cublas_bytes + (4 * 128 + 4 * 100) * 2 * 64 * 4);
}

}  // namespace
}  // namespace sparkbench
