// The Volta kernels over tensors that are read and written in place: slices of one packed tensor,
// heads before rows, padded rows. The emulator finds every access between the rows.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/messages.h"
#include "kernels/testing/nightly.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

constexpr Half kPoison{0x7e01};

/// A tensor of [batch, seqlen, heads, head_dim] somewhere in a buffer.
struct Strides {
  std::int64_t offset, batch, seqlen, head;
};

enum class Order { kPacked, kTransposed, kPadded };

/// Tensor `index` of `count` that share a buffer.
Strides strides_of(Order order, const Problem& problem, int seqlen, int index, int count) {
  const std::int64_t d = problem.head_dim, h = problem.heads, s = seqlen, b = problem.batch;
  if (order == Order::kPacked) return {index * h * d, s * count * h * d, count * h * d, d};
  if (order == Order::kTransposed) return {index * b * h * s * d, h * s * d, d, s * d};
  const std::int64_t row = h * (d + 8) + 16;
  return {index * b * (s + 3) * row, (s + 3) * row, row, d + 8};
}

/// Tensors of one length in one buffer, with a guard of poison on both sides.
class Buffer {
 public:
  static constexpr std::int64_t kGuard = 64;

  Buffer(Order order, const Problem& problem, int seqlen, int count)
      : order_(order), problem_(problem), seqlen_(seqlen), count_(count) {
    std::int64_t end = 0;
    for (int i = 0; i < count; ++i) {
      const Strides s = strides_of(order, problem, seqlen, i, count);
      end = std::max(end, s.offset + (problem.batch - 1) * s.batch + (seqlen - 1) * s.seqlen +
                              (problem.heads - 1) * s.head + problem.head_dim);
    }
    halves_.assign(static_cast<std::size_t>(end + 2 * kGuard), kPoison);
  }
  TensorView<Half> view(int index) {
    const Strides s = strides_of(order_, problem_, seqlen_, index, count_);
    return {halves_.data() + kGuard + s.offset, s.batch, s.seqlen, s.head};
  }
  void fill(int index, const std::vector<Half>& contiguous) {
    for_each(index, [&](Half& half, std::size_t at) { half = contiguous[at]; });
  }
  std::vector<Half> read(int index) {
    std::vector<Half> contiguous(problem_.batch * seqlen_ * problem_.heads * problem_.head_dim);
    for_each(index, [&](Half& half, std::size_t at) { contiguous[at] = half; });
    return contiguous;
  }
  /// Whether all that belongs to no tensor is still poison; ruins the tensors.
  bool is_intact_elsewhere() {
    for (int i = 0; i < count_; ++i) for_each(i, [](Half& half, std::size_t) { half = kPoison; });
    for (const Half half : halves_) {
      if (half.bits != kPoison.bits) return false;
    }
    return true;
  }

 private:
  template <class Visit>
  void for_each(int index, Visit visit) {
    const TensorView<Half> tensor = view(index);
    std::size_t at = 0;
    for (int b = 0; b < problem_.batch; ++b) {
      for (int s = 0; s < seqlen_; ++s) {
        for (int h = 0; h < problem_.heads; ++h) {
          for (int d = 0; d < problem_.head_dim; ++d) visit(tensor.row(b, s, h)[d], at++);
        }
      }
    }
  }

  Order order_;
  Problem problem_;
  int seqlen_, count_;
  std::vector<Half> halves_;
};

void expect_same_bits(const std::vector<Half>& got, const std::vector<Half>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i].bits, want[i].bits) << i;
}

class VoltaStrided : public testing::TestWithParam<std::tuple<Order, int>> {
 protected:
  void SetUp() override {
    problem_ = {.batch = 2,
                .heads = 3,
                .seqlen_q = 133,
                .seqlen_k = 133,
                .head_dim = std::get<1>(GetParam()),
                .mask = MaskSpec::window(70),
                .dropout_p = 0.17f,
                .seed = 8};
    inputs_ = make_inputs(problem_, Distribution::kNormal, 3);
    d_o_ = make_gradient_input(problem_, Distribution::kNormal, 3);
    o_.resize(problem_.q_elements());
    lse_.resize(problem_.lse_elements());
    forward_of_contiguous();
  }
  void forward_of_contiguous() {
    emulate_forward(*kernel_, problem_,
                    contiguous_tensors(problem_, inputs_.q.data(), inputs_.k.data(),
                                       inputs_.v.data(), o_.data(), lse_.data()),
                    options_, {});
  }
  Buffer buffer(int count) const { return {order(), problem_, problem_.seqlen_q, count}; }
  Buffer packed_inputs() const {
    Buffer qkv = buffer(3);
    qkv.fill(0, inputs_.q);
    qkv.fill(1, inputs_.k);
    qkv.fill(2, inputs_.v);
    return qkv;
  }
  static Order order() { return std::get<0>(GetParam()); }

  const AttentionKernel* kernel_ = find_attention_kernel("volta-fp32acc");
  EmulationOptions options_{.profile = &arithmetic_profile("volta")};
  Problem problem_;
  OwnedInputs inputs_;
  std::vector<Half> d_o_, o_;
  std::vector<float> lse_;
};

TEST_P(VoltaStrided, ForwardHasTheBitsOfContiguousTensors) {
  Buffer qkv = packed_inputs(), o = buffer(1);
  std::vector<float> lse(lse_.size());
  const EmulationReport report =
      emulate_forward(*kernel_, problem_,
                      {qkv.view(0), qkv.view(1), qkv.view(2), o.view(0), lse.data()}, options_, {});
  EXPECT_EQ(report.findings_total, 0u);
  expect_same_bits(o.read(0), o_);
  EXPECT_EQ(lse, lse_);
  EXPECT_TRUE(o.is_intact_elsewhere());
}

TEST_P(VoltaStrided, BackwardHasTheBitsOfContiguousTensors) {
  std::vector<Half> dq(o_.size()), dk(o_.size()), dv(o_.size());
  emulate_backward(
      *kernel_, problem_,
      contiguous_tensors(problem_, inputs_.q.data(), inputs_.k.data(), inputs_.v.data(), o_.data(),
                         d_o_.data(), lse_.data(), dq.data(), dk.data(), dv.data()),
      options_, true, {});
  Buffer qkv = packed_inputs(), o = buffer(1), d_o = buffer(1), gradients = buffer(3);
  o.fill(0, o_);
  d_o.fill(0, d_o_);
  const EmulationReport report =
      emulate_backward(*kernel_, problem_,
                       {qkv.view(0), qkv.view(1), qkv.view(2), o.view(0), d_o.view(0), lse_.data(),
                        gradients.view(0), gradients.view(1), gradients.view(2)},
                       options_, true, {});
  EXPECT_EQ(report.findings_total, 0u);
  expect_same_bits(gradients.read(0), dq);
  expect_same_bits(gradients.read(1), dk);
  expect_same_bits(gradients.read(2), dv);
  EXPECT_TRUE(gradients.is_intact_elsewhere());
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, VoltaStrided,
    testing::Combine(testing::Values(Order::kPacked, Order::kTransposed, Order::kPadded),
                     testing::ValuesIn(with_nightly<int>({64, 80, 128, 256},
                                                         {8, 40, 96, 120, 224}))));

std::string why_refused(const TensorView<const Half>& k) {
  const Problem problem{.heads = 2, .seqlen_q = 4, .seqlen_k = 4};
  std::vector<Half> halves(4 * 2 * 64 + 8);
  std::vector<float> lse(8);
  ForwardTensors tensors = contiguous_tensors(problem, halves.data(), halves.data(), halves.data(),
                                              halves.data(), lse.data());
  tensors.k = k;
  return message_of<std::invalid_argument>([&] {
    emulate_forward(*find_attention_kernel("volta-fp32acc"), problem, tensors,
                    {.profile = &arithmetic_profile("volta")}, {});
  });
}

TEST(VoltaStridedTensor, IsRefusedWhereRowsAreNotAligned) {
  alignas(16) static const Half halves[1024] = {};
  EXPECT_EQ(why_refused({halves + 1, 0, 128, 64}), "tensor k is not aligned to 16 bytes");
  EXPECT_EQ(why_refused({halves, 0, 132, 64}),
            "tensor k has a stride that is no multiple of 16 bytes");
  EXPECT_EQ(why_refused({halves, 0, -128, 64}), "tensor k has a negative stride");
}

}  // namespace
}  // namespace sparkbench
