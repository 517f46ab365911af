// That a call through the C interface is the kernel that it names, with nothing lost on the way.
#include <gtest/gtest.h>

#include <string>

#include "kernels/api/test_api.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/strided/pass_dropout.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

void expect_same_bits(const std::vector<Half>& got, const std::vector<Half>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i].bits, want[i].bits) << i;
}

class SparkAttention : public testing::TestWithParam<int> {
 protected:
  SparkAttention()
      : queries_(problem_.q_elements()),
        keys_(problem_.k_elements()),
        o_(queries_),
        want_o_(queries_),
        lse_(problem_.lse_elements()),
        want_lse_(lse_.size()) {}

  spark_attention_input query(const std::vector<Half>& data) const {
    return tensor_of<spark_attention_input>(data.data(), given_.seqlen_q, given_.heads,
                                            given_.head_dim);
  }
  spark_attention_input key(const std::vector<Half>& data) const {
    return tensor_of<spark_attention_input>(data.data(), given_.seqlen_k, given_.heads_k,
                                            given_.head_dim);
  }
  spark_attention_output output(std::vector<Half>& data, const spark_attention_input& like) const {
    return {data.data(), like.batch_stride, like.seqlen_stride, like.head_stride};
  }
  void forward_by_the_kernel(const AttentionKernel& kernel) {
    emulate_forward(kernel, problem_,
                    contiguous_tensors(problem_, inputs_.q.data(), inputs_.k.data(),
                                       inputs_.v.data(), want_o_.data(), want_lse_.data()),
                    options_, {});
  }
  spark_attention_status forward() {
    const spark_attention_forward_tensors tensors = {query(inputs_.q), key(inputs_.k),
                                                     key(inputs_.v), output(o_, query(inputs_.q)),
                                                     lse_.data()};
    return spark_attention_forward(&given_, &tensors, nullptr);
  }

  spark_attention_problem given_ = emulated_problem(GetParam());
  Problem problem_ = problem_like(given_);
  OwnedInputs inputs_ = make_inputs(problem_, Distribution::kNormal, 3);
  std::vector<Half> d_o_ = make_gradient_input(problem_, Distribution::kNormal, 3);
  EmulationOptions options_{.profile = &arithmetic_profile("volta")};
  std::vector<Half> queries_, keys_, o_, want_o_;
  std::vector<float> lse_, want_lse_;
};

TEST_P(SparkAttention, ForwardHasTheBitsOfTheKernelItNames) {
  constexpr const char* kNames[] = {"volta-fp32acc", "volta-fp16acc"};
  for (int accumulator = 0; accumulator < 2; ++accumulator) {
    SCOPED_TRACE(kNames[accumulator]);
    given_.accumulator = accumulator;
    const char* name = nullptr;
    ASSERT_EQ(spark_attention_kernel_name(&given_, SPARK_ATTENTION_FORWARD, &name),
              SPARK_ATTENTION_OK);
    EXPECT_STREQ(name, kNames[accumulator]);
    forward_by_the_kernel(*find_attention_kernel(name));
    ASSERT_EQ(forward(), SPARK_ATTENTION_OK) << spark_attention_last_error();
    expect_same_bits(o_, want_o_);
    EXPECT_EQ(lse_, want_lse_);
  }
}

TEST_P(SparkAttention, BackwardHasTheBitsOfTheKernel) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  ASSERT_EQ(forward(), SPARK_ATTENTION_OK) << spark_attention_last_error();
  std::vector<Half> want_dq(queries_), want_dk(keys_), want_dv(keys_);
  emulate_backward(
      kernel, problem_,
      contiguous_tensors(problem_, inputs_.q.data(), inputs_.k.data(), inputs_.v.data(), o_.data(),
                         d_o_.data(), lse_.data(), want_dq.data(), want_dk.data(), want_dv.data()),
      options_, true, {});
  std::vector<Half> dq(queries_), dk(keys_), dv(keys_);
  const spark_attention_backward_tensors tensors = {query(inputs_.q),
                                                    key(inputs_.k),
                                                    key(inputs_.v),
                                                    query(o_),
                                                    query(d_o_),
                                                    lse_.data(),
                                                    output(dq, query(o_)),
                                                    output(dk, key(inputs_.k)),
                                                    output(dv, key(inputs_.v))};
  given_.deterministic = 1;
  ASSERT_EQ(spark_attention_backward(&given_, &tensors, nullptr, 0, nullptr), SPARK_ATTENTION_OK)
      << spark_attention_last_error();
  expect_same_bits(dq, want_dq);
  expect_same_bits(dk, want_dk);
  expect_same_bits(dv, want_dv);
}

TEST_P(SparkAttention, ScaleIsHonoured) {
  problem_.softmax_scale = given_.softmax_scale = 0.3f;
  forward_by_the_kernel(*find_attention_kernel("volta-fp32acc"));
  ASSERT_EQ(forward(), SPARK_ATTENTION_OK) << spark_attention_last_error();
  expect_same_bits(o_, want_o_);
}

TEST_P(SparkAttention, DropoutMaskIsTheKernels) {
  const auto elements = problem_.lse_elements() * static_cast<std::size_t>(problem_.seqlen_k);
  std::vector<std::uint8_t> keep(elements, 7);
  float keep_scale = 0.0f;
  ASSERT_EQ(spark_attention_dropout_mask(&given_, keep.data(), &keep_scale, nullptr),
            SPARK_ATTENTION_OK);
  EXPECT_EQ(keep_scale, 256.0f / 205.0f);  // 0.2 is 51 256ths
  std::size_t at = 0;
  for (std::uint32_t head = 0; head < 8; ++head) {
    for (std::uint32_t row = 0; row < 37; ++row) {
      for (std::uint32_t column = 0; column < 70; ++column, ++at) {
        ASSERT_EQ(keep[at] != 0, dropout_keeps(problem_.dropout(), head, row, column)) << at;
      }
    }
  }
}

class SparkAttentionDropoutMask : public testing::TestWithParam<const char*> {};

TEST_P(SparkAttentionDropoutMask, HasThePlacesOfPasses) {
  constexpr int kSeqlen = 390;
  spark_attention_problem given = spark_attention_problem_default();
  given.backend = SPARK_ATTENTION_EMULATED;
  given.batch = 2;
  given.heads = 3;
  given.seqlen_q = given.seqlen_k = kSeqlen;
  given.head_dim = 64;
  given.dropout_p = 0.2f;
  given.mask = GetParam();
  const Problem problem{.batch = 2,
                        .heads = 3,
                        .seqlen_q = kSeqlen,
                        .seqlen_k = kSeqlen,
                        .dropout_p = 0.2f,
                        .sparse = make_sparse_mask(GetParam(), kSeqlen, kSeqlen)};
  std::vector<std::uint8_t> keep(std::size_t{6} * kSeqlen * kSeqlen);
  ASSERT_EQ(spark_attention_dropout_mask(&given, keep.data(), nullptr, nullptr), SPARK_ATTENTION_OK)
      << spark_attention_last_error();
  const DropoutViews views = dropout_views_of(problem);
  ASSERT_TRUE(has_mask_passes(problem));
  std::size_t at = 0, others = 0;
  for (int head = 0; head < 6; ++head) {
    for (int row = 0; row < kSeqlen; ++row) {
      for (int column = 0; column < kSeqlen; ++column, ++at) {
        const DropoutPlace place = views.place(head / 3, head % 3, row, column);
        const bool is_of_sequence = place.sequence == static_cast<std::uint32_t>(head) &&
                                    place.row == static_cast<std::uint32_t>(row) &&
                                    place.column == static_cast<std::uint32_t>(column);
        others += is_of_sequence ? 0 : 1;
        ASSERT_EQ(keep[at] != 0, dropout_keeps(problem.dropout(), place)) << at;
      }
    }
  }
  EXPECT_GT(others, 0u);
}

INSTANTIATE_TEST_SUITE_P(, SparkAttentionDropoutMask, testing::Values("window:20+causal-strided:8"),
                         [](const auto& of) { return "pattern" + std::to_string(of.index); });

TEST_P(SparkAttention, DropoutScaleIsHonoured) {
  given_.dropout_scale = SPARK_ATTENTION_SCALE_ASKED;
  problem_.dropout_scale = DropoutScale::kAsked;
  float keep_scale = 0.0f;
  ASSERT_EQ(spark_attention_dropout_mask(&given_, nullptr, &keep_scale, nullptr),
            SPARK_ATTENTION_OK);
  EXPECT_EQ(keep_scale, 1.0f / (1.0f - 0.2f));
  forward_by_the_kernel(*find_attention_kernel("volta-fp32acc"));
  ASSERT_EQ(forward(), SPARK_ATTENTION_OK) << spark_attention_last_error();
  expect_same_bits(o_, want_o_);
}

TEST_P(SparkAttention, DropoutOffsetIsReadFromMemory) {
  const std::uint64_t offset = 0x0000000500000007u;
  given_.dropout_offset = &offset;
  problem_.dropout_offset = offset;
  forward_by_the_kernel(*find_attention_kernel("volta-fp32acc"));
  ASSERT_EQ(forward(), SPARK_ATTENTION_OK) << spark_attention_last_error();
  expect_same_bits(o_, want_o_);
  std::vector<std::uint8_t> keep(problem_.lse_elements() * 70);
  ASSERT_EQ(spark_attention_dropout_mask(&given_, keep.data(), nullptr, nullptr),
            SPARK_ATTENTION_OK);
  for (std::uint32_t column = 0; column < 70; ++column) {
    EXPECT_EQ(keep[column] != 0, dropout_keeps(problem_.dropout(), 0, 0, column)) << column;
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, SparkAttention, testing::Values(64, 128));

}  // namespace
}  // namespace sparkbench
