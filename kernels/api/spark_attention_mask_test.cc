// Patterns through the C interface, by their text and prepared: the kernels' bits, the definition
// in FP64, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/api/test_api_masks.h"
#include "kernels/testing/test_sparse.h"

namespace sparkbench {
namespace {

Problem problem_without_mask(const spark_attention_problem& of) {
  Problem problem = problem_like(of);
  problem.mask = MaskSpec::full();
  problem.softmax_scale = of.softmax_scale;
  return problem;
}

/// Both passes of a problem on inputs of its own, through the interface.
class BothPasses {
 public:
  explicit BothPasses(const spark_attention_problem& given)
      : given_(given),
        problem_(problem_without_mask(given)),
        inputs_(make_inputs(problem_, Distribution::kNormal, 3)),
        d_o_(make_gradient_input(problem_, Distribution::kNormal, 3)) {}

  Passes run() const {
    Passes out{std::vector<Half>(problem_.q_elements()), std::vector<Half>(problem_.q_elements()),
               std::vector<Half>(problem_.k_elements()), std::vector<Half>(problem_.k_elements()),
               std::vector<float>(problem_.lse_elements())};
    const spark_attention_forward_tensors forward = {query(inputs_.q), key(inputs_.k),
                                                     key(inputs_.v), writable(out.o, query(out.o)),
                                                     out.lse.data()};
    EXPECT_EQ(spark_attention_forward(&given_, &forward, nullptr), SPARK_ATTENTION_OK)
        << spark_attention_last_error();
    const spark_attention_backward_tensors backward = {query(inputs_.q),
                                                       key(inputs_.k),
                                                       key(inputs_.v),
                                                       query(out.o),
                                                       query(d_o_),
                                                       out.lse.data(),
                                                       writable(out.dq, query(out.dq)),
                                                       writable(out.dk, key(out.dk)),
                                                       writable(out.dv, key(out.dv))};
    EXPECT_EQ(spark_attention_backward(&given_, &backward, nullptr, 0, nullptr), SPARK_ATTENTION_OK)
        << spark_attention_last_error();
    return out;
  }

  const Problem& problem() const { return problem_; }
  const OwnedInputs& inputs() const { return inputs_; }
  const std::vector<Half>& d_o() const { return d_o_; }

 private:
  spark_attention_input query(const std::vector<Half>& data) const {
    return tensor_of<spark_attention_input>(data.data(), given_.seqlen_q, given_.heads,
                                            given_.head_dim);
  }
  spark_attention_input key(const std::vector<Half>& data) const {
    return tensor_of<spark_attention_input>(data.data(), given_.seqlen_k, problem_.key_heads(),
                                            given_.head_dim);
  }
  static spark_attention_output writable(std::vector<Half>& data,
                                         const spark_attention_input& like) {
    return {data.data(), like.batch_stride, like.seqlen_stride, like.head_stride};
  }

  spark_attention_problem given_;
  Problem problem_;
  OwnedInputs inputs_;
  std::vector<Half> d_o_;
};

void expect_equal(const Passes& got, const Passes& want) {
  const auto expect_bits = [](const char* name, const auto& a, const auto& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i].bits, b[i].bits) << name << " " << i;
  };
  expect_bits("o", got.o, want.o);
  EXPECT_EQ(got.lse, want.lse);
  expect_bits("dq", got.dq, want.dq);
  expect_bits("dk", got.dk, want.dk);
  expect_bits("dv", got.dv, want.dv);
}

/// Patterns of one run a row: no kernel knows one by a name, and each shows what the window does.
constexpr const char* kWindow = "window:20";
constexpr const char* kWindowAsPattern = "causal-band:19:0";

constexpr const char* kWindowsAsPatterns[] = {kWindowAsPattern, "where:k <= q && q - k < 20",
                                              "where:k <= q && q - k < 20 + 0 * h"};

class SparkAttentionPattern : public testing::TestWithParam<int> {};

TEST_P(SparkAttentionPattern, OfOneRunHasTheDenseKernelsBits) {
  for (const auto accumulator : {SPARK_ATTENTION_ACC_FP32, SPARK_ATTENTION_ACC_FP16}) {
    SCOPED_TRACE(accumulator);
    spark_attention_problem given = with_mask(kWindow, GetParam());
    given.accumulator = accumulator;
    const Passes want = BothPasses(given).run();
    for (const char* const text : kWindowsAsPatterns) {
      given.mask = text;
      given.prepared_mask = nullptr;
      expect_equal(BothPasses(given).run(), want);
      const MaskHandle mask = prepared(text, given.seqlen_q, given.seqlen_k);
      given.mask = nullptr;
      given.prepared_mask = mask.get();
      expect_equal(BothPasses(given).run(), want);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, SparkAttentionPattern, testing::Values(64, 128, 200));

TEST(SparkAttentionMask, WithANameIsTheDenseKernels) {
  spark_attention_problem given = with_mask(kWindow);
  const Passes want = BothPasses(given).run();
  const MaskHandle mask = prepared(kWindow, given.seqlen_q, given.seqlen_k);
  given.mask = nullptr;
  given.prepared_mask = mask.get();
  expect_equal(BothPasses(given).run(), want);
}

double root_mean_square(const std::vector<double>& values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Rounding to halves, of a number itself or of the largest that it is summed from.
template <class T>
void expect_near(const char* name, const std::vector<T>& got, const std::vector<double>& want) {
  const double typical = root_mean_square(want);
  ASSERT_GT(typical, 0.0) << name;
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(to_float(got[i]), want[i], 0x1p-7 * (std::abs(want[i]) + typical))
        << name << " " << i;
  }
}

TEST(SparkAttentionMask, OfAUnionIsTheDefinitionInBothPasses) {
  spark_attention_problem given = with_mask("window:7+causal-strided:5/chunk:32");
  given.batch = 1;
  given.deterministic = 0;
  const BothPasses made(given);
  const int back = given.seqlen_k - given.seqlen_q;
  const std::vector<Picture> pictures = {{given.seqlen_q, given.seqlen_k,
                                          [back](int row, int key) {
                                            const int p = row + back;
                                            return key <= p && (key > p - 7 || (p - key) % 5 == 0);
                                          }},
                                         {given.seqlen_q, given.seqlen_k, [back](int row, int key) {
                                            return (row + back) / 32 == key / 32;
                                          }}};
  const PatternAttention want =
      attention_by_pictures(made.problem(), made.inputs().q.data(), made.inputs().k.data(),
                            made.inputs().v.data(), made.d_o().data(), pictures);
  const Passes got = made.run();
  expect_near("o", got.o, want.o);
  expect_near("dv", got.dv, want.dv);
  expect_near("dq", got.dq, want.dq);
  expect_near("dk", got.dk, want.dk);
  for (std::size_t i = 0; i < want.lse.size(); ++i) ASSERT_NEAR(got.lse[i], want.lse[i], 1e-3);
}

TEST(SparkAttentionMask, IsSharedByThreads) {
  const MaskHandle mask = prepared("window:7+causal-strided:5", 37, 70);
  spark_attention_problem given = with_mask("window:7+causal-strided:5");
  const Passes want = BothPasses(given).run();
  given.mask = nullptr;
  given.prepared_mask = mask.get();
  Passes got[2];
  std::thread other([&] { got[1] = BothPasses(given).run(); });
  got[0] = BothPasses(given).run();
  other.join();
  expect_equal(got[0], want);
  expect_equal(got[1], want);
}

TEST(SparkAttentionMask, OfAFileIsReadWhenItIsMade) {
  const std::string path = testing::TempDir() + "spark_attention_mask_test.zones";
  const auto write = [&](const char* line) { std::ofstream(path) << line << "\n"; };
  write("d=-19:1");
  const std::string text = "zones:" + path;
  spark_attention_problem given = with_mask(text.c_str());
  const MaskHandle mask = prepared(text.c_str(), given.seqlen_q, given.seqlen_k);
  const Passes window = BothPasses(with_mask(kWindow)).run();
  expect_equal(BothPasses(given).run(), window);
  write("d=-9:1");
  const Passes by_text = BothPasses(given).run();
  expect_equal(by_text, BothPasses(with_mask("window:10")).run());
  given.mask = nullptr;
  given.prepared_mask = mask.get();
  expect_equal(BothPasses(given).run(), window);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace sparkbench
