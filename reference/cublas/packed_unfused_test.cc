#include "reference/cublas/packed_unfused.h"

#include <gtest/gtest.h>

#include "reference/cublas/test_cublas.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

/// Lengths: empty on either side and on both, one key, several tiles.
Problem packed_problem(const MaskSpec& mask, float dropout_p, int heads_k) {
  const Problem of_one{.heads = 4,
                       .head_dim = 64,
                       .mask = mask,
                       .dropout_p = dropout_p,
                       .seed = 77,
                       .heads_k = heads_k};
  return with_lengths(of_one, std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{
                                  {0, 0}, {65, 65}, {7, 0}, {0, 9}, {1, 1}, {130, 300}, {31, 40}}));
}

class PackedUnfused : public CublasTest {
 protected:
  template <class Check>
  void for_every_problem(Check check) {
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(20)}) {
      for (const float dropout_p : {0.0f, 0.2f}) {
        for (const int heads_k : {4, 2}) {
          SCOPED_TRACE(name_of(mask) + " p" + std::to_string(dropout_p) + " hk" +
                       std::to_string(heads_k));
          check(packed_problem(mask, dropout_p, heads_k));
        }
      }
    }
  }
};

struct Forward {
  DeviceVector<Half> q, k, v, o;
  DeviceVector<float> lse;

  Forward(const Problem& problem, const OwnedInputs& inputs)
      : q(inputs.q),
        k(inputs.k),
        v(inputs.v),
        o(problem.q_elements()),
        lse(problem.lse_elements()) {}
  ForwardTensors tensors(const Problem& problem) {
    return contiguous_tensors(problem.packed(), q.data(), k.data(), v.data(), o.data(), lse.data());
  }
};

TEST_F(PackedUnfused, RowsAreAsCloseAsIntermediatesAllow) {
  for_every_problem([](const Problem& problem) {
    const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
    const auto rows = all_rows(problem);
    const ExactRows exact = exact_forward(problem, inputs.view(), rows);
    for (const auto& [precision, most] :
         {std::pair{UnfusedPrecision::kFp16, 0x1p-10}, {UnfusedPrecision::kFp32, 0x1p-11}}) {
      Forward forward(problem, inputs);
      PackedCublasUnfused unfused(problem, precision, Pass::kForward, make_cublas_handle());
      unfused.forward(forward.tensors(problem), nullptr);
      CUDA_CHECK(cudaDeviceSynchronize());
      const ErrorMetrics error = error_metrics(
          gather_rows(problem, forward.o.to_host(), forward.lse.to_host(), rows), exact);
      EXPECT_EQ(error.nonfinite, 0u);
      EXPECT_LE(error.rel_l2, most);
      EXPECT_LE(error.lse_max_abs, 0x1p-9);
    }
  });
}

TEST_F(PackedUnfused, GradientsAreAsCloseAsIntermediatesAllow) {
  for_every_problem([](const Problem& problem) {
    const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
    const std::vector<Half> d_o = make_gradient_input(problem, Distribution::kNormal, 4);
    const GradientRows rows = all_gradient_rows(problem);
    Forward forward(problem, inputs);
    DeviceVector<Half> d_out(d_o), dq(problem.q_elements()), dk(problem.k_elements()),
        dv(problem.k_elements());
    PackedCublasUnfused unfused(problem, UnfusedPrecision::kFp16, Pass::kBackward,
                                make_cublas_handle());
    unfused.forward(forward.tensors(problem), nullptr);
    unfused.backward(contiguous_tensors(problem.packed(), forward.q.data(), forward.k.data(),
                                        forward.v.data(), forward.o.data(), d_out.data(),
                                        forward.lse.data(), dq.data(), dk.data(), dv.data()),
                     nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    const std::vector<Half> of_q = dq.to_host(), of_k = dk.to_host(), of_v = dv.to_host();
    const GradientErrors errors =
        gradient_errors(gather_gradients(problem, {of_q, of_k, of_v}, rows),
                        exact_backward(problem, {inputs.q, inputs.k, inputs.v, d_o}, rows));
    for (const ErrorMetrics& error : {errors.dq, errors.dk, errors.dv}) {
      EXPECT_EQ(error.nonfinite, 0u);
      EXPECT_LE(error.rel_l2, 0x1p-8);
    }
  });
}

}  // namespace
}  // namespace sparkbench
