#include <gtest/gtest.h>

#include <stdexcept>

#include "reference/cublas/cublas_unfused.h"
#include "reference/cublas/test_cublas.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

/// A problem on the device, with room for what a training step computes.
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
  /// |got - want| <= relative * max |want| + absolute, of every gradient of every problem. With a
  /// single visible key dQ and dK vanish, and `absolute` is what is left to compare with.
  static void expect_close(UnfusedPrecision precision, double relative, double absolute) {
    for (const Problem& problem : cublas_grid()) {
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

// A few roundings of 2^-11 relative; scores up to 8 are half a place, 2^-9, off, and dP more.
TEST_F(CublasUnfusedBackwardTest, Fp16IsAsCloseToExactAsFp16IntermediatesAllow) {
  expect_close(UnfusedPrecision::kFp16, 0x1p-8, 1e-6);
}

// Only the last rounding, of the gradients to fp16, is left: at most 2^-11 relative.
TEST_F(CublasUnfusedBackwardTest, Fp32IsExactButForTheRoundingOfGradients) {
  expect_close(UnfusedPrecision::kFp32, 0x1p-11, 1e-5);
}

TEST_F(CublasUnfusedBackwardTest, RepeatedAfterOneForwardGivesTheSameBits) {
  for (const UnfusedPrecision precision : {UnfusedPrecision::kFp16, UnfusedPrecision::kFp32}) {
    TrainingStep step({2, 3, 127, 200, 64, true, 0.1f, 0.0f, /*seed=*/77}, precision);
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
