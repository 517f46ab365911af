// That the calls for sequences of any lengths are those of the kernels, and what they refuse.
#include <gtest/gtest.h>

#include <string>

#include "kernels/api/test_api.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_packed.h"

namespace sparkbench {
namespace {

spark_attention_input input_of(const TensorView<const Bits16>& view) {
  return {view.data, view.batch_stride, view.seqlen_stride, view.head_stride};
}
spark_attention_output output_of(const TensorView<Bits16>& view) {
  return {view.data, view.batch_stride, view.seqlen_stride, view.head_stride};
}

class SparkAttentionVarlen : public testing::Test {
 protected:
  SparkAttentionVarlen() {
    given_.batch = made_.batch();
    given_.seqlen_q = made_.problem.seqlen_q;
    given_.seqlen_k = made_.problem.seqlen_k;
  }

  spark_attention_status forward(PackedRows& rows) {
    const ForwardTensors views = made_.tensors(rows);
    const spark_attention_forward_tensors tensors = {
        input_of(views.q), input_of(views.k), input_of(views.v), output_of(views.o), views.lse};
    return spark_attention_varlen_forward(&given_, made_.cu_seqlens_q.data(),
                                          made_.cu_seqlens_k.data(), &tensors, nullptr, 0, nullptr);
  }
  spark_attention_status backward(const PackedRows& rows, PackedGradients& gradients) {
    const BackwardTensors views = made_.tensors(rows, gradients);
    const spark_attention_backward_tensors tensors = {
        input_of(views.q),   input_of(views.k),   input_of(views.v),
        input_of(views.o),   input_of(views.d_o), views.lse,
        output_of(views.dq), output_of(views.dk), output_of(views.dv)};
    return spark_attention_varlen_backward(&given_, made_.cu_seqlens_q.data(),
                                           made_.cu_seqlens_k.data(), &tensors, nullptr, 0,
                                           nullptr);
  }

  spark_attention_problem given_ = emulated_problem();
  PackedCase made_{packed_like(given_), {{30, 41}, {0, 0}, {0, 7}, {5, 0}, {70, 12}}};
  EmulationOptions options_{.profile = &arithmetic_profile("volta")};

 private:
  static Problem packed_like(const spark_attention_problem& given) {
    Problem packed = problem_like(given);
    packed.batch = 1;
    return packed;
  }
};

TEST_F(SparkAttentionVarlen, HasTheKernelsBits) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  PackedRows rows(made_), want_rows(made_);
  emulate_packed_forward(kernel, made_.problem, made_.lengths(), made_.tensors(want_rows), options_,
                         {});
  ASSERT_EQ(forward(rows), SPARK_ATTENTION_OK) << spark_attention_last_error();
  EXPECT_TRUE(same_bits(rows.o, want_rows.o));
  EXPECT_EQ(rows.lse, want_rows.lse);

  PackedGradients gradients(made_), want(made_);
  emulate_packed_backward(kernel, made_.problem, made_.lengths(), made_.tensors(rows, want),
                          options_, true, {});
  given_.deterministic = 1;
  ASSERT_EQ(backward(rows, gradients), SPARK_ATTENTION_OK) << spark_attention_last_error();
  EXPECT_TRUE(same_bits(gradients.dq, want.dq));
  EXPECT_TRUE(same_bits(gradients.dk, want.dk));
  EXPECT_TRUE(same_bits(gradients.dv, want.dv));
}

TEST_F(SparkAttentionVarlen, OfNothingTakesNullTensors) {
  given_.batch = given_.seqlen_q = given_.seqlen_k = 0;
  const std::int32_t offsets[] = {0};
  const spark_attention_forward_tensors tensors = {};
  EXPECT_EQ(
      spark_attention_varlen_forward(&given_, offsets, offsets, &tensors, nullptr, 0, nullptr),
      SPARK_ATTENTION_OK)
      << spark_attention_last_error();
  const spark_attention_backward_tensors gradients = {};
  EXPECT_EQ(
      spark_attention_varlen_backward(&given_, offsets, offsets, &gradients, nullptr, 0, nullptr),
      SPARK_ATTENTION_OK)
      << spark_attention_last_error();
}

TEST_F(SparkAttentionVarlen, RefusesOffsetsByPlaceAndValue) {
  PackedRows rows(made_);
  made_.cu_seqlens_k[2] = 40;
  EXPECT_EQ(forward(rows), SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(),
               "cu_seqlens_k[2] is 40; allowed: no less than the one before, 41");
  made_.cu_seqlens_q.back() = 104;
  EXPECT_EQ(forward(rows), SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(),
               "cu_seqlens_q[5] is 104; allowed: 105, all rows or keys");
  made_.cu_seqlens_q[0] = 1;
  EXPECT_EQ(forward(rows), SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(), "cu_seqlens_q[0] is 1; allowed: 0");
}

TEST_F(SparkAttentionVarlen, RefusesWhatNoKernelDoes) {
  given_.head_dim = 264;
  EXPECT_EQ(spark_attention_varlen_supports(&given_, SPARK_ATTENTION_FORWARD),
            SPARK_ATTENTION_UNSUPPORTED);
  given_ = emulated_problem();
  given_.seqlen_q = -1;
  EXPECT_EQ(spark_attention_varlen_supports(&given_, SPARK_ATTENTION_FORWARD),
            SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(), "seqlen_q is -1; allowed: 0 to 1073741823");
}

TEST_F(SparkAttentionVarlen, EmulatedTakesNoWorkspace) {
  std::size_t bytes = 1;
  EXPECT_EQ(spark_attention_varlen_workspace_bytes(&given_, SPARK_ATTENTION_BACKWARD, &bytes),
            SPARK_ATTENTION_OK);
  EXPECT_EQ(bytes, 0u);
}

}  // namespace
}  // namespace sparkbench
