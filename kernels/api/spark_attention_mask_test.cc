// Patterns through the C interface, by their text and prepared: the kernels' bits, the definition
// in FP64, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/api/test_api.h"
#include "kernels/volta/test_sparse.h"

namespace sparkbench {
namespace {

struct DestroyMask {
  void operator()(spark_attention_mask* mask) const { spark_attention_mask_destroy(mask); }
};
using MaskHandle = std::unique_ptr<spark_attention_mask, DestroyMask>;

MaskHandle prepared(const char* text, int seqlen_q, int seqlen_k) {
  spark_attention_mask* mask = nullptr;
  EXPECT_EQ(spark_attention_mask_create(text, seqlen_q, seqlen_k, &mask), SPARK_ATTENTION_OK)
      << spark_attention_last_error();
  return MaskHandle(mask);
}

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

spark_attention_problem with_mask(const char* mask, int head_dim = 64) {
  spark_attention_problem given = emulated_problem(head_dim);
  given.mask = mask;
  given.deterministic = 1;
  return given;
}

/// A pattern of one run a row: no kernel knows it by a name, and it shows what the window does.
constexpr const char* kWindow = "window:20";
constexpr const char* kWindowAsPattern = "causal-band:19:0";

class SparkAttentionPattern : public testing::TestWithParam<int> {};

TEST_P(SparkAttentionPattern, OfOneRunHasTheDenseKernelsBits) {
  for (const auto accumulator : {SPARK_ATTENTION_ACC_FP32, SPARK_ATTENTION_ACC_FP16}) {
    SCOPED_TRACE(accumulator);
    spark_attention_problem given = with_mask(kWindow, GetParam());
    given.accumulator = accumulator;
    const Passes want = BothPasses(given).run();
    given.mask = kWindowAsPattern;
    expect_equal(BothPasses(given).run(), want);
    const MaskHandle mask = prepared(kWindowAsPattern, given.seqlen_q, given.seqlen_k);
    given.mask = nullptr;
    given.prepared_mask = mask.get();
    expect_equal(BothPasses(given).run(), want);
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, SparkAttentionPattern, testing::Values(64, 128));

TEST(SparkAttentionMask, WithANameIsTheDenseKernels) {
  spark_attention_problem given = with_mask(kWindow);
  const Passes want = BothPasses(given).run();
  const MaskHandle mask = prepared(kWindow, given.seqlen_q, given.seqlen_k);
  given.mask = nullptr;
  given.prepared_mask = mask.get();
  expect_equal(BothPasses(given).run(), want);
  given.head_dim = 256;  // which patterns do not have
  EXPECT_EQ(spark_attention_supports(&given, SPARK_ATTENTION_BACKWARD), SPARK_ATTENTION_OK)
      << spark_attention_last_error();
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

std::string why_refused(const spark_attention_problem& given, bool is_packed = false) {
  const auto supports = is_packed ? spark_attention_varlen_supports : spark_attention_supports;
  const spark_attention_status status = supports(&given, SPARK_ATTENTION_FORWARD);
  if (status == SPARK_ATTENTION_OK) return "";
  return std::string(spark_attention_status_name(status)) + ": " + spark_attention_last_error();
}

TEST(SparkAttentionMask, IsRefusedWhereItsTextIsWrong) {
  const std::string text = why_refused(with_mask("window:8+strded:8"));
  EXPECT_EQ(text.find("INVALID_ARGUMENT: mask, from character 10 on: 'strded:8' of "
                      "'window:8+strded:8' is no mask; allowed: full, causal, window:W"),
            0u)
      << text;
  EXPECT_NE(text.find("by turns of heads"), std::string::npos) << text;
  const std::string axes = why_refused(with_mask("nd:8x8:3x3"));
  EXPECT_EQ(axes.find("INVALID_ARGUMENT: mask 'nd:8x8:3x3' of 37 rows and 70 keys: the axes 8x8 "
                      "have 64 positions"),
            0u)
      << axes;
  EXPECT_NE(why_refused(with_mask("zones:/nowhere/at/all")).find("/nowhere/at/all"),
            std::string::npos);
}

TEST(SparkAttentionMask, IsUnsupportedWhereNoKernelHasPatterns) {
  EXPECT_EQ(why_refused(with_mask("strided:8", 256)),
            "UNSUPPORTED: volta-fp32acc does not support a pattern with head_dim 256 (multiples of "
            "8 up to 128 are supported)");
  spark_attention_problem mixed = with_mask("strided:8");
  mixed.accumulator = SPARK_ATTENTION_ACC_MIXED;
  EXPECT_EQ(why_refused(mixed),
            "UNSUPPORTED: volta-mixedacc does not support masks that are patterns (volta-fp32acc "
            "and volta-fp16acc take them)");
  EXPECT_EQ(why_refused(with_mask("strided:8"), true),
            "UNSUPPORTED: mask 'strided:8' is a pattern over one length, which sequences of any "
            "lengths do not have; allowed: full, causal, window:W (W >= 1), band:L:R (L, R >= 0), "
            "prefix:P (P >= 0)");
  const MaskHandle mask = prepared(kWindow, 37, 70);
  spark_attention_problem packed = with_mask(nullptr);
  packed.prepared_mask = mask.get();
  EXPECT_EQ(why_refused(packed, true),
            "UNSUPPORTED: sequences of any lengths have no prepared_mask, which is of one length; "
            "allowed: a mask by its text");
}

TEST(SparkAttentionMask, IsRefusedForOtherProblems) {
  const MaskHandle mask = prepared("strided:8", 37, 71);
  spark_attention_problem given = with_mask(nullptr);
  given.prepared_mask = mask.get();
  EXPECT_EQ(why_refused(given),
            "INVALID_ARGUMENT: prepared_mask is of 37 rows and 71 keys, and the problem has 37 "
            "rows and 70 keys");
  given.mask = "causal";
  EXPECT_EQ(why_refused(given),
            "INVALID_ARGUMENT: mask is 'causal' beside a prepared_mask; allowed: one of them");
}

TEST(SparkAttentionMask, IsNotMadeOfNothing) {
  spark_attention_mask* mask = nullptr;
  const auto why_not = [&](const char* text, int seqlen_q, int seqlen_k) {
    EXPECT_EQ(spark_attention_mask_create(text, seqlen_q, seqlen_k, &mask),
              SPARK_ATTENTION_INVALID_ARGUMENT);
    EXPECT_EQ(mask, nullptr);
    return std::string(spark_attention_last_error());
  };
  EXPECT_EQ(why_not(nullptr, 1, 1), "text is null; allowed: a mask's text");
  EXPECT_EQ(why_not("full", 0, 1), "seqlen_q is 0; allowed: 1 to 1073741823");
  EXPECT_EQ(why_not("full+", 1, 1).find("mask, from character 6 on: '' of 'full+' is no mask"), 0u);
  EXPECT_EQ(spark_attention_mask_create("full", 1, 1, nullptr), SPARK_ATTENTION_INVALID_ARGUMENT);
  spark_attention_mask_destroy(nullptr);
}

TEST(SparkAttentionMask, IsMadeReadyOnceItIsGiven) {
  spark_attention_problem given = with_mask("strided:8");
  EXPECT_EQ(spark_attention_prepare(&given, SPARK_ATTENTION_FORWARD),
            SPARK_ATTENTION_INVALID_ARGUMENT);
  EXPECT_STREQ(spark_attention_last_error(),
               "prepared_mask is null; allowed: what spark_attention_mask_create() made");
  const MaskHandle mask = prepared("strided:8", 37, 70);
  given.mask = nullptr;
  given.prepared_mask = mask.get();
  EXPECT_EQ(spark_attention_prepare(&given, SPARK_ATTENTION_BACKWARD), SPARK_ATTENTION_OK);
}

TEST(SparkAttentionProblemStruct, MayBeAnOlderHeaders) {
  spark_attention_problem given = with_mask("causal");
  given.struct_bytes = offsetof(spark_attention_problem, prepared_mask);
  // What lies behind an older struct is none of the library's business.
  given.prepared_mask = reinterpret_cast<spark_attention_mask*>(std::uintptr_t{1});
  EXPECT_EQ(why_refused(given), "");
  given.struct_bytes = sizeof given + 8;
  EXPECT_NE(why_refused(given).find("struct_bytes is "), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
