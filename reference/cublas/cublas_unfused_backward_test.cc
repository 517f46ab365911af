#include <gtest/gtest.h>

#include <stdexcept>

#include "reference/cublas/cublas_unfused.h"
#include "reference/cublas/test_cublas.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_device_tensor.h"

namespace sparkbench {
namespace {

/// A problem on the device, with memory for the results of a training step.
class TrainingStep {
 public:
  TrainingStep(const Problem& problem, UnfusedPrecision precision)
      : problem_(problem), unfused_(problem, precision, Pass::kBackward) {}

  void forward() {
    unfused_.forward(
        contiguous_tensors(problem_, q_.data(), k_.data(), v_.data(), o_.data(), lse_.data()),
        nullptr);
  }
  void backward() {
    unfused_.backward(
        contiguous_tensors(problem_, q_.data(), k_.data(), v_.data(), o_.data(), d_o_.data(),
                           lse_.data(), dq_.data(), dk_.data(), dv_.data()),
        nullptr);
  }

  HalfGradients gradients() const {
    CUDA_CHECK(cudaDeviceSynchronize());
    const std::vector<Half> dq = dq_.to_host(), dk = dk_.to_host(), dv = dv_.to_host();
    return gather_gradients(problem_, {dq, dk, dv}, all_gradient_rows(problem_));
  }

  ExactGradients exact() const {
    return exact_backward(problem_, {inputs_.q, inputs_.k, inputs_.v, host_d_o_},
                          all_gradient_rows(problem_));
  }

 private:
  Problem problem_;
  OwnedInputs inputs_ = make_inputs(problem_, Distribution::kNormal, 4);
  std::vector<Half> host_d_o_ = make_gradient_input(problem_, Distribution::kNormal, 4);
  DeviceVector<Half> q_{inputs_.q}, k_{inputs_.k}, v_{inputs_.v}, d_o_{host_d_o_};
  DeviceVector<Half> o_{problem_.q_elements()}, dq_{problem_.q_elements()};
  DeviceVector<Half> dk_{problem_.k_elements()}, dv_{problem_.k_elements()};
  DeviceVector<float> lse_{problem_.lse_elements()};
  CublasUnfused unfused_;
};

class CublasUnfusedBackwardTest : public CublasTest {
 protected:
  /// |got - want| <= relative * max |want| + absolute, for every gradient of every problem. With a
  /// single visible key dQ and dK vanish; then only `absolute` counts.
  static void expect_close(UnfusedPrecision precision, double relative, double absolute,
                           const std::vector<Problem>& problems = cublas_grid()) {
    for (const Problem& problem : problems) {
      TrainingStep step(problem, precision);
      step.forward();
      step.backward();
      const GradientErrors errors = gradient_errors(step.gradients(), step.exact());
      for (const ErrorMetrics& metrics : {errors.dq, errors.dk, errors.dv}) {
        EXPECT_EQ(metrics.nonfinite, 0u) << name_of(problem);
        EXPECT_LE(metrics.max_abs, relative * metrics.want_max_abs + absolute) << name_of(problem);
      }
    }
  }
};

// A few roundings of 2^-11 relative. Scores up to 8 are off by half a unit, 2^-9, and dP by more.
TEST_F(CublasUnfusedBackwardTest, Fp16IsAsCloseAsItsIntermediatesAllow) {
  expect_close(UnfusedPrecision::kFp16, 0x1p-8, 1e-6);
}

// Only the final rounding of the gradients to fp16 remains: at most 2^-11 relative.
TEST_F(CublasUnfusedBackwardTest, Fp32IsExactButForTheLastRounding) {
  expect_close(UnfusedPrecision::kFp32, 0x1p-11, 1e-5);
}

// dQ sums many small p * (dp - delta), each rounded: twice the tolerance above.
TEST_F(CublasUnfusedBackwardTest, RowsOfEveryLengthAreRight) {
  expect_close(UnfusedPrecision::kFp16, 0x1p-7, 1e-6, long_row_problems());
  expect_close(UnfusedPrecision::kFp32, 0x1p-11, 1e-5, long_row_problems());
}

TEST_F(CublasUnfusedBackwardTest, RepeatedAfterOneForwardGivesTheSameBits) {
  for (const UnfusedPrecision precision : {UnfusedPrecision::kFp16, UnfusedPrecision::kFp32}) {
    TrainingStep step({2, 3, 127, 200, 64, MaskSpec::causal(), 0.1f, 0.0f, /*seed=*/77}, precision);
    step.forward();
    step.backward();
    const HalfGradients first = step.gradients();
    step.backward();
    const HalfGradients second = step.gradients();
    for (std::size_t i = 0; i < first.dq.size(); ++i) {
      ASSERT_EQ(first.dq[i].bits, second.dq[i].bits);
    }
    for (std::size_t i = 0; i < first.dk.size(); ++i) {
      ASSERT_EQ(first.dk[i].bits, second.dk[i].bits);
      ASSERT_EQ(first.dv[i].bits, second.dv[i].bits);
    }
  }
}

TEST_F(CublasUnfusedBackwardTest, ReadsAndWritesEveryLayoutInPlace) {
  const Problem problem{2, 3, 65, 127, 64, MaskSpec::band(20, 5), 0.1f, 0.0f, /*seed=*/77};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  const std::vector<Half> d_out = make_gradient_input(problem, Distribution::kNormal, 4);
  const TensorShape queries = query_shape(problem), keys = key_shape(problem);
  const GradientRows rows = all_gradient_rows(problem);
  const auto exact = exact_backward(problem, {inputs.q, inputs.k, inputs.v, d_out}, rows);
  for (const auto precision : {UnfusedPrecision::kFp16, UnfusedPrecision::kFp32}) {
    for (const TestLayout layout : kTestLayouts) {
      const DeviceTensor q(LaidOutTensor(inputs.q, queries, layout));
      const DeviceTensor k(LaidOutTensor(inputs.k, keys, layout));
      const DeviceTensor v(LaidOutTensor(inputs.v, keys, layout));
      const DeviceTensor d_o(LaidOutTensor(d_out, queries, layout));
      const DeviceTensor o(LaidOutTensor(queries, layout)), dq(LaidOutTensor(queries, layout));
      const DeviceTensor dk(LaidOutTensor(keys, layout)), dv(LaidOutTensor(keys, layout));
      DeviceVector<float> lse(problem.lse_elements());
      CublasUnfused unfused(problem, precision, Pass::kBackward);
      unfused.forward({q.view(), k.view(), v.view(), o.view(), lse.data()}, nullptr);
      unfused.backward({q.view(), k.view(), v.view(), o.view(), d_o.view(), lse.data(), dq.view(),
                        dk.view(), dv.view()},
                       nullptr);
      CUDA_CHECK(cudaDeviceSynchronize());
      const LaidOutTensor got_dq = dq.to_host(), got_dk = dk.to_host(), got_dv = dv.to_host();
      const HalfGradients got =
          gather_gradients(problem, {got_dq.tensor(), got_dk.tensor(), got_dv.tensor()}, rows);
      EXPECT_EQ(why_incorrect(gradient_errors(got, exact), {}, {.ratio = 0.0, .floor = 0x1p-8}), "")
          << name_of(layout);
      for (const LaidOutTensor* gradient : {&got_dq, &got_dk, &got_dv}) {
        EXPECT_TRUE(gradient->has_untouched_gaps()) << name_of(layout);
      }
    }
  }
}

TEST_F(CublasUnfusedBackwardTest, AFullyMaskedQueryHasZeroGradients) {
  TrainingStep step({1, 1, 100, 40, 64, MaskSpec::causal(), 0.1f}, UnfusedPrecision::kFp16);
  step.forward();
  step.backward();
  const HalfGradients gradients = step.gradients();
  for (std::size_t i = 0; i < 60 * 64; ++i) ASSERT_EQ(to_float(gradients.dq[i]), 0.0f);
}

TEST_F(CublasUnfusedBackwardTest, WithoutAKeptPIsAnException) {
  const Problem problem;
  EXPECT_THROW(TrainingStep(problem, UnfusedPrecision::kFp16).backward(), std::logic_error);
  CublasUnfused forward_only(problem, UnfusedPrecision::kFp16);
  EXPECT_THROW(forward_only.backward({}, nullptr), std::logic_error);
}

}  // namespace
}  // namespace sparkbench
