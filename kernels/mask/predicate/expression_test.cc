#include "kernels/mask/predicate/expression.h"

#include <gtest/gtest.h>

#include "kernels/mask/predicate/evaluate.h"
#include "kernels/mask/predicate/test_expressions.h"

namespace sparkbench {
namespace {

/// At q = 10, k = 3, h = 2, seqlen_q = 20, seqlen_k = 30.
Whole value(std::string_view text) { return value_of(parse_expression(text), {10, 3, 2, 20, 30}); }

TEST(Expression, ComputesAsCDoes) {
  EXPECT_EQ(value("k <= q && (q - k < 128 || k % 64 == 0)"), 1);
  EXPECT_EQ(value("q - k - h"), 5);
  EXPECT_EQ(value("1 + 2 * q"), 21);
  EXPECT_EQ(value("k - q"), -7);
  EXPECT_EQ(value("(k - q) / 2"), -3);
  EXPECT_EQ(value("(k - q) % 2"), -1);
  EXPECT_EQ(value("(k - q) >> 1"), -4);
  EXPECT_EQ(value("1 << h << k"), 32);
  EXPECT_EQ(value("~q + -k"), -14);
  EXPECT_EQ(value("!q + !0"), 1);
  EXPECT_EQ(value("q & 6 | 1 ^ 3"), 2 | (1 ^ 3));
  EXPECT_EQ(value("0x1F + seqlen_q + seqlen_k"), 81);
  EXPECT_EQ(value("abs(k - q)"), 7);
  EXPECT_EQ(value("q && h || k > 5"), 1);
  EXPECT_EQ(value("(q != 10) == (k == 4)"), 1);
}

TEST(Expression, HasAMeaningWhereCHasNone) {
  const std::string most = "9223372036854775807";
  EXPECT_EQ(value("q / (k - 3)"), 0);
  EXPECT_EQ(value("q % (k - 3)"), 10);
  EXPECT_EQ(value("-q % (k - 3)"), -10);
  EXPECT_EQ(value(most + " + 1 < 0"), 1);
  EXPECT_EQ(value("(-" + most + " - 1) / (h - 3) == -" + most + " - 1"), 1);
  EXPECT_EQ(value("(-" + most + " - 1) % (h - 3)"), 0);
  EXPECT_EQ(value("abs(-" + most + " - 1) < 0"), 1);
  EXPECT_EQ(value("1 << 64 + h"), 4);
  EXPECT_EQ(value("1 << -1 < 0"), 1);
  EXPECT_EQ(value("-1 >> 63"), -1);
}

TEST(Expression, HasANormalForm) {
  const auto normal = [](std::string_view text) { return text_of(parse_expression(text)); };
  EXPECT_EQ(normal(" k<=q  && ((q - k) < 0x80) "), "k<=q&&q-k<128");
  EXPECT_EQ(normal("q - (k - h)"), "q-(k-h)");
  EXPECT_EQ(normal("(q - k) - h"), "q-k-h");
  EXPECT_EQ(normal("q - -k"), "q-(-k)");
  EXPECT_EQ(normal("!(q == k)"), "!(q==k)");
  EXPECT_EQ(normal("q && k || h"), "(q&&k)||h");
  EXPECT_EQ(normal("(k & 1) == 0"), "(k&1)==0");
  EXPECT_EQ(normal("1 & (k == 0)"), "1&(k==0)");
  EXPECT_EQ(normal("abs((q))"), "abs(q)");
}

TEST(Expression, IsReadFromItsNormalForm) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    const Expression drawn = drawn_expression(random);
    const std::string text = text_of(drawn);
    try {
      EXPECT_EQ(parse_expression(text), drawn) << text;
    } catch (const ExpressionError& error) {
      EXPECT_NE(std::string(error.what()).find("divisor 0"), std::string::npos) << error.what();
    }
  }
}

struct Refusal {
  std::string_view text;
  std::size_t position;
  std::string_view says;
};

TEST(Expression, RefusesWithThePosition) {
  const Refusal refusals[] = {
      {"", 0, "no expression"},
      {"k <=", 4, "an operand is missing"},
      {"k <= q q", 7, "an operator is missing"},
      {"k = q", 2, "did you mean '=='?"},
      {"(k < q", 0, "'(' is not closed"},
      {"k < q)", 5, "')' closes nothing"},
      {"0 <= q - k < 128", 11, "compares what a comparison said"},
      {"k & 1 == 0", 2, "binds less than a comparison"},
      {"k % 0", 4, "divisor 0"},
      {"k / (2 - 2)", 4, "divisor 0"},
      {"k < 64k", 6, "runs into 'k'"},
      {"k < 1.5", 5, "runs into '.'"},
      {"k < 010", 4, "begins with 0"},
      {"k < 9223372036854775808", 4, "beyond 9223372036854775807"},
      {"seqlen < k", 0, "did you mean 'seqlen_q'?"},
      {"k < seqlen_kk", 4, "did you mean 'seqlen_k'?"},
      {"kv_idx <= q", 0, "did you mean 'k'?"},
      {"k <= Q", 5, "did you mean 'q'?"},
      {"k <= q and q", 7, "an operator is missing"},
      {"k ? q : 0", 2, "no operator here"},
      {"abs k", 4, "no '(' behind"},
      {"k; q", 1, "';' is no operator"},
      {"@k", 0, "before '@'"},
  };
  for (const Refusal& refusal : refusals) {
    try {
      parse_expression(refusal.text);
      ADD_FAILURE() << refusal.text << " is taken";
    } catch (const ExpressionError& error) {
      EXPECT_EQ(error.position(), refusal.position) << error.what();
      EXPECT_NE(std::string(error.what()).find(refusal.says), std::string::npos) << error.what();
    }
  }
}

TEST(Expression, RefusesWhatIsTooLongOrTooDeep) {
  std::string sum = "q";
  for (int i = 1; i < kMostExpressionNodes; ++i) sum += "+k";
  EXPECT_THROW(parse_expression(sum), ExpressionError);
  EXPECT_THROW(parse_expression(std::string(5000, '(') + "q"), ExpressionError);
  EXPECT_THROW(parse_expression(std::string(5000, '-') + "q"), ExpressionError);
  std::string waiting = "q", behind;
  for (int i = 0; i <= kMostWaitingValues; ++i) waiting += "-(q", behind += ")";
  EXPECT_THROW(parse_expression(waiting + behind), ExpressionError);
}

}  // namespace
}  // namespace sparkbench
