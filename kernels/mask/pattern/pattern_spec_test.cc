#include "kernels/mask/pattern/pattern_spec.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/mask/key_mask.h"
#include "kernels/mask/test_masks.h"
#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

std::string normal_form(const char* text) { return name_of(parse_pattern_spec(text)); }

TEST(PatternSpec, IsReadAsItIsWritten) {
  for (const char* const text : {"full",
                                 "window:256",
                                 "band:20:5",
                                 "prefix:0",
                                 "blocked:128",
                                 "chunk:256",
                                 "strided:64",
                                 "causal-strided:64",
                                 "dilated:128:4",
                                 "fixed:256:32",
                                 "longformer:256:16",
                                 "sink:4+window:128",
                                 "documents:2048",
                                 "documents:3:4:5",
                                 "nd:256x256:80x80",
                                 "nd:9:3",
                                 "nd:30x48x80:18x24x24",
                                 "window:1024/full",
                                 "causal-nd:4x4:3x3+sink:1/full/chunk:2",
                                 "zones:/tmp/a+b/c:d",
                                 "window:3/causal-zones:b"}) {
    EXPECT_EQ(normal_form(text), text);
  }
}

TEST(PatternSpec, HasANormalForm) {
  EXPECT_EQ(normal_form("window:4k"), "window:4096");
  EXPECT_EQ(normal_form("documents:2k+documents:1m"), "documents:2048+documents:1048576");
  EXPECT_EQ(normal_form("causal-window:3"), "window:3");
  EXPECT_EQ(normal_form("causal-full"), "causal");
  EXPECT_EQ(normal_form("causal-prefix:9"), "causal");
  EXPECT_EQ(normal_form("causal-causal-chunk:9"), "causal-chunk:9");
  EXPECT_EQ(normal_form("sink:4+causal-sink:4+window:2"), "sink:4+window:2");
}

TEST(PatternSpec, GivesTodaysMasksTheirMeaning) {
  for (const MaskSpec& mask : kTestMasks) {
    const PatternSpec spec = parse_pattern_spec(name_of(mask));
    EXPECT_EQ(mask_spec_of(spec), mask) << name_of(mask);
    for (const auto& [seqlen_q, seqlen_k] : {std::pair(40, 40), {23, 61}, {61, 23}}) {
      const Pattern pattern = make_pattern(spec, seqlen_q, seqlen_k);
      const KeyMask key_mask = make_key_mask(mask, seqlen_q, seqlen_k);
      for (int row = 0; row < seqlen_q; ++row) {
        for (int key = 0; key < seqlen_k; ++key) {
          ASSERT_EQ(sees(pattern, 0, row, key), key_mask.sees(row, key)) << name_of(mask);
        }
      }
    }
  }
}

TEST(PatternSpec, IsNoMaskOfTodayOtherwise) {
  for (const char* const text :
       {"window:3/full", "window:3+sink:1", "chunk:3", "causal-band:1:1"}) {
    EXPECT_EQ(mask_spec_of(parse_pattern_spec(text)), std::nullopt) << text;
  }
  EXPECT_EQ(mask_spec_of(parse_pattern_spec("causal-full")), MaskSpec::causal());
}

TEST(PatternSpec, HoldsNumbersBeyondAnySequence) {
  const Pattern pattern = parse_pattern("band:2147483647:2147483647+window:2147483647", 4, 4);
  EXPECT_TRUE(sees(pattern, 0, 0, 3));
  for (const char* const text : {"chunk:2147483647", "strided:2147483647", "dilated:2147483647:2",
                                 "longformer:2147483647:2147483647", "sink:2147483647",
                                 "fixed:2147483647:2147483647", "documents:2147483647"}) {
    EXPECT_TRUE(sees(parse_pattern(text, 4, 4), 0, 3, 3)) << text;
  }
}

TEST(PatternSpec, TakesUnionsByTurnsOfHeads) {
  const Pattern pattern = parse_pattern("window:1/full", 3, 3);
  for (int head = 0; head < 4; ++head) EXPECT_EQ(sees(pattern, head, 0, 2), head % 2 == 1) << head;
}

std::string why_refused(const char* text, int seqlen = 16) {
  return message_of<std::invalid_argument>([&] { parse_pattern(text, seqlen, seqlen); });
}

TEST(PatternSpec, SaysWhyATextIsRefused) {
  const std::string allowed = "; allowed: " + std::string(pattern_forms());
  EXPECT_EQ(why_refused("sliding:3"), "'sliding:3' is no mask, did you mean 'window:3'?" + allowed);
  EXPECT_EQ(why_refused("quadrant:3"), "'quadrant:3' is no mask" + allowed);
  EXPECT_EQ(why_refused(""), "'' is no mask" + allowed);
  EXPECT_EQ(why_refused("full+"), "'' of 'full+' is no mask" + allowed);
  EXPECT_EQ(why_refused("full//full"), "'' of 'full//full' is no mask" + allowed);
  EXPECT_EQ(why_refused("causal-"), "'causal-' is no mask, did you mean 'causal'?" + allowed);
  EXPECT_EQ(why_refused("full/window"), "'window' of 'full/window' has 0 numbers, not 1" + allowed);
  EXPECT_EQ(why_refused("documents"), "'documents' has 0 numbers, not 1 or more" + allowed);
  EXPECT_EQ(why_refused("strided:0"), "'strided:0' has a number below 1" + allowed);
  EXPECT_EQ(why_refused("strided:4kk"),
            "'strided:4kk' has no whole number where one is wanted" + allowed);
  EXPECT_EQ(why_refused("chunk:3m"), "");
  EXPECT_EQ(why_refused("chunk:3000m"), "'chunk:3000m' has a number beyond 2147483647" + allowed);
  EXPECT_EQ(why_refused("chunk:2x2"),
            "'chunk:2x2' has 2 numbers in a field of at most 1" + allowed);
  EXPECT_EQ(why_refused("fixed:4:5"), "'fixed:4:5' has more summary keys than a block" + allowed);
  EXPECT_EQ(why_refused("zones:"), "'zones:' names no file" + allowed);
}

TEST(PatternSpec, AsksForTheMaskThatWasMeant) {
  for (const auto& [typed, refused, meant] :
       {std::tuple{"windw:128", "'windw:128'", "window:128"},
        {"windows:3", "'windows:3'", "window:3"},
        {"Causal", "'Causal'", "causal"},
        {"casual-strided:4", "'casual-strided:4'", "causal-strided:4"},
        {"causal-stided:4", "'causal-stided:4'", "causal-strided:4"},
        {"causal_strided:4", "'causal_strided:4'", "causal-strided:4"},
        {"sink:4+windw:1k", "'windw:1k' of 'sink:4+windw:1k'", "window:1k"},
        {"window:1k/ful", "'ful' of 'window:1k/ful'", "full"},
        {"sink:4+window:8/sikn:2+full", "'sikn:2' of 'sink:4+window:8/sikn:2+full'", "sink:2"},
        {"window=128", "'window=128'", "window:128"},
        {"window128", "'window128'", "window:128"},
        {"window-128", "'window-128'", "window:128"},
        {"nd4x4:3x3", "'nd4x4:3x3'", "nd:4x4:3x3"},
        {"causal-longfomer:4", "'causal-longfomer:4'", "causal-longformer:W:G"},
        {"windw", "'windw'", "window:W"},
        {"zone:a", "'zone:a'", "zones:a"}}) {
    EXPECT_EQ(why_refused(typed), std::string(refused) + " is no mask, did you mean '" + meant +
                                      "'?; allowed: " + std::string(pattern_forms()));
  }
}

TEST(PatternSpec, SaysWhereATextIsRefused) {
  const auto position = [](const char* text) {
    try {
      parse_pattern_spec(text);
    } catch (const PatternTextError& error) {
      return static_cast<int>(error.position());
    }
    return -1;
  };
  EXPECT_EQ(position("windows:3"), 0);
  EXPECT_EQ(position("window:3+"), 9);
  EXPECT_EQ(position("window:3/full+causal-strided:0"), 14);
  EXPECT_EQ(position("full"), -1);
}

TEST(PatternSpec, SaysWhyANeighbourhoodIsRefused) {
  const std::string allowed = "; allowed: " + std::string(pattern_forms());
  EXPECT_EQ(why_refused("nd:4x4:3"), "'nd:4x4:3' has a window of 1 axes for 2" + allowed);
  EXPECT_EQ(why_refused("nd:4x4:3x5"), "'nd:4x4:3x5' has a window of 5 on an axis of 4" + allowed);
  EXPECT_EQ(why_refused("nd:2x2x2x2:1x1x1x1"),
            "'nd:2x2x2x2:1x1x1x1' has 4 numbers in a field of at most 3" + allowed);
  EXPECT_EQ(
      why_refused("nd:4x5:3x3"),
      "the axes 4x5 have 20 positions and seqlen_k is 16; allowed: axes of as many positions");
}

TEST(PatternSpec, TakesExpressionsLast) {
  const PatternSpec spec =
      parse_pattern_spec("window:64+where: k <= q && (q - k < 128 || k % 64 == 0)");
  EXPECT_EQ(name_of(spec), "window:64+where:k<=q&&(q-k<128||k%64==0)");
  EXPECT_EQ(parse_pattern_spec(name_of(spec)), spec);
  EXPECT_EQ(name_of(parse_pattern_spec("full/causal-where:q/2==k/2")),
            "full/causal-where:q/2==k/2");
}

/// A row's q is the key at which it stands, as in every other mask.
TEST(PatternSpec, GivesExpressionsTheMeaningOfMasks) {
  for (const auto& [expression, mask] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"where:k<=q", "causal"},
           {"where:k<=q&&q-k<7", "window:7"},
           {"causal-where:q-k<7", "window:7"},
           {"where:abs(q-k)<=3", "band:3:3"},
           {"where:k<=q||k<5", "prefix:5"},
           {"where:k+seqlen_q-seqlen_k<=q+seqlen_q-seqlen_k", "causal"},
           {"sink:2+where:k<=q&&q-k<7", "sink:2+window:7"}}) {
    for (const auto& [seqlen_q, seqlen_k] : {std::pair(70, 70), {30, 90}, {90, 30}}) {
      const Pattern one = parse_pattern(expression, seqlen_q, seqlen_k);
      const Pattern other = parse_pattern(mask, seqlen_q, seqlen_k);
      for (int row = 0; row < seqlen_q; ++row) {
        for (int key = 0; key < seqlen_k; ++key) {
          ASSERT_EQ(sees(one, 0, row, key), sees(other, 0, row, key)) << expression;
        }
      }
    }
  }
}

TEST(PatternSpec, GivesAHeadWhatItsExpressionSays) {
  const Pattern pattern = parse_pattern("full/where:q==k+h", 20, 20, 5);
  ASSERT_EQ(pattern.unions.size(), 5u);
  for (int head = 0; head < 5; ++head) {
    EXPECT_EQ(sees(pattern, head, 9, 4), head % 2 == 0);
    EXPECT_EQ(sees(pattern, head, 9, 9 - head), true);
  }
  EXPECT_THROW(parse_pattern("where:q==k+h", 20, 20), std::invalid_argument);
}

TEST(PatternSpec, SaysWhereAnExpressionIsRefused) {
  for (const auto& [text, position] :
       std::vector<std::pair<std::string_view, std::size_t>>{{"where", 0},
                                                             {"where:", 0},
                                                             {"where:k <=", 10},
                                                             {"sink:4+where:k < qq", 17},
                                                             {"where:k<q+window:3", 10}}) {
    try {
      parse_pattern_spec(text);
      ADD_FAILURE() << text << " is taken";
    } catch (const PatternTextError& error) {
      EXPECT_EQ(error.position(), position) << error.what();
    }
  }
}

}  // namespace
}  // namespace sparkbench
