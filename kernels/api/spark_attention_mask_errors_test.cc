// What the C interface refuses of masks, and in which words.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/api/test_api_masks.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

std::string why_refused(const spark_attention_problem& given, bool is_packed = false) {
  const auto supports = is_packed ? spark_attention_varlen_supports : spark_attention_supports;
  const spark_attention_status status = supports(&given, SPARK_ATTENTION_FORWARD);
  if (status == SPARK_ATTENTION_OK) return "";
  return std::string(spark_attention_status_name(status)) + ": " + spark_attention_last_error();
}

TEST(SparkAttentionMask, IsRefusedWhereItsTextIsWrong) {
  const std::string text = why_refused(with_mask("window:8+strded:8"));
  EXPECT_EQ(text.find("INVALID_ARGUMENT: mask, from character 10 on: 'strded:8' of "
                      "'window:8+strded:8' is no mask, did you mean 'strided:8'?; allowed: full, "
                      "causal, window:W"),
            0u)
      << text;
  EXPECT_NE(text.find("by turns of heads"), std::string::npos) << text;
  const std::string expression = why_refused(with_mask("sink:1+where:k <= q and k"));
  EXPECT_EQ(expression.find("INVALID_ARGUMENT: mask, from character 21 on: where: an operator is "
                            "missing, at character 8 of 'k <= q and k'"),
            0u)
      << expression;
  const std::string axes = why_refused(with_mask("nd:8x8:3x3"));
  EXPECT_EQ(axes.find("INVALID_ARGUMENT: mask 'nd:8x8:3x3' of 37 rows and 70 keys: the axes 8x8 "
                      "have 64 positions"),
            0u)
      << axes;
  EXPECT_NE(why_refused(with_mask("zones:/nowhere/at/all")).find("/nowhere/at/all"),
            std::string::npos);
}

/// Read at each call of a text: none of them may hang it or take all memory.
TEST(SparkAttentionMask, IsRefusedOfWhatIsNoFile) {
  const TemporaryFolder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::pair<std::string, const char*> refused[] = {{"/dev/zero", "is no regular file"},
                                                         {pipe, "is a pipe, no regular file"},
                                                         {folder.path().string(), "is a folder"},
                                                         {"/proc/self/mem", "cannot be read"}};
  for (const auto& [path, why] : refused) {
    const std::string mask = "sink:1+zones:" + path;
    const std::string text = why_refused(with_mask(mask.c_str()));
    EXPECT_EQ(text.find("INVALID_ARGUMENT: "), 0u) << text;
    EXPECT_NE(text.find("'zones:" + path + "' " + why), std::string::npos) << text;
  }
}

TEST(SparkAttentionMask, CountsHeadsBeforeItMakesAUnionForEach) {
  spark_attention_problem given = with_mask("where:h==k");
  given.heads = given.heads_k = 2'000'000'000;
  EXPECT_NE(why_refused(given).find("there are 2000000000; allowed: at most 65535"),
            std::string::npos)
      << why_refused(given);
}

TEST(SparkAttentionMask, IsUnsupportedWhereNoKernelHasPatterns) {
  EXPECT_EQ(
      why_refused(with_mask("strided:8", 264)),
      "UNSUPPORTED: volta-fp32acc does not support head_dim 264 (multiples of 8 up to 256 are "
      "supported)");
  EXPECT_EQ(why_refused(with_mask("strided:8"), true),
            "UNSUPPORTED: mask 'strided:8' is a pattern over one length, which sequences of any "
            "lengths do not have; allowed: full, causal, window:W (W >= 1), band:L:R (L, R >= 0), "
            "prefix:P (P >= 0)");
  const MaskHandle mask = prepared("window:20", 37, 70);
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
  given.prepared_mask = nullptr;
  given.struct_bytes = offsetof(spark_attention_problem, generation);
  given.generation = "none";
  EXPECT_EQ(why_refused(given), "");
  given.struct_bytes = sizeof given + 8;
  EXPECT_NE(why_refused(given).find("struct_bytes is "), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
