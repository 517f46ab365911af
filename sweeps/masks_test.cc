#include "sweeps/masks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/testing/messages.h"
#include "sweeps/axis_flags.h"
#include "sweeps/grid.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

std::vector<SweepCase> mask_cases_of(const AxisFlags& flags) {
  const std::vector<std::string> kernels = {"a", "b"};
  return expand_grid(
      make_grid_axes({{"--headdim", "64"}, {"--seqlen", "40"}, {"--heads", "2"}, {"--batch", "1"}},
                     flags, kernels),
      0);
}

std::string mask_error_of(const AxisFlags& flags) {
  return message_of<UsageError>([&] { mask_cases_of(flags); });
}

TEST(Masks, ThatKernelsKnowByNameAreNoPatterns) {
  for (const SweepCase& each :
       mask_cases_of({{"--mask", "window:3,causal-window:5,band:1:2,full"}})) {
    EXPECT_EQ(each.problem.sparse, nullptr);
    EXPECT_FALSE(each.problem.pattern_spec);
  }
  EXPECT_EQ(mask_cases_of({{"--mask", "causal-full"}})[0].problem.mask, MaskSpec::causal());
}

TEST(Masks, OtherOnesAreLaidOverTheLengths) {
  const auto cases = mask_cases_of(
      {{"--mask", "sink:4+window:3,full"}, {"--seqlen", "40,50"}, {"--dropout", "0,0.1"}});
  ASSERT_EQ(cases.size(), 16u);
  const CaseProblem& first = cases[0].problem;
  ASSERT_NE(first.sparse, nullptr);
  EXPECT_EQ(first.mask, MaskSpec::full());
  EXPECT_EQ(first.sparse->spec, "sink:4+window:3");
  EXPECT_EQ(first.sparse->pattern.seqlen_k, 40);
  EXPECT_EQ(first.sparse->pairs_of(0),
            10u + 5 + 6 + 34 * 7);                   // rows 4 and 5: sinks in the window
  EXPECT_EQ(cases[2].problem.sparse, first.sparse);  // with dropout: built once
  EXPECT_EQ(cases[8].problem.sparse->pattern.seqlen_k, 50);
  EXPECT_EQ(cases[4].problem.sparse, nullptr);
}

TEST(Masks, ThatNameHeadsAreLaidOverThese) {
  const auto cases =
      mask_cases_of({{"--mask", "where:k <= q + h"}, {"--heads", "3"}, {"--seqlen", "40"}});
  const CaseProblem& problem = cases.at(0).problem;
  EXPECT_EQ(mask_name(problem), "where:k<=q+h");
  ASSERT_EQ(problem.sparse->pattern.unions.size(), 3u);
  EXPECT_EQ(problem.sparse->pairs_of(0), 40u * 41 / 2);
  EXPECT_EQ(problem.sparse->pairs_of(2), 40u * 41 / 2 + 39 + 38);
}

TEST(Masks, ThatDoNotFitTheLengthsAreRefused) {
  const std::string error = mask_error_of({{"--mask", "full,nd:5x8:3x3"}, {"--seqlen", "40,48"}});
  EXPECT_TRUE(error.starts_with("--mask: 'nd:5x8:3x3' of 48 rows and 48 keys: ")) << error;
  EXPECT_EQ(mask_error_of({{"--mask", "nd:5x8:3x3"}}), "");
  EXPECT_TRUE(mask_error_of({{"--mask", "zones:/no/such/file"}}).starts_with("--mask: 'zones:/no"));
}

TEST(Masks, OfPackedSequencesAreThoseOfOneRun) {
  const AxisFlags lengths = {{"--lengths", "uniform:1:9"}, {"--mask", "causal,chunk:4"}};
  EXPECT_EQ(mask_error_of(lengths),
            "--mask: 'chunk:4' is a pattern over one length, but --lengths gives each sequence its "
            "own; allowed with it: " +
                std::string(mask_forms()));
}

TEST(Masks, OfAFileAreNamedByWhatItSays) {
  const std::filesystem::path folder = testing::TempDir();
  const auto id_of = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
    const auto cases =
        mask_cases_of({{"--mask", "window:2/sink:1+zones:" + (folder / name).string()}});
    return mask_in_id(cases[0].problem);
  };
  const std::string id = id_of("zones_a", "d=0:1\n");
  EXPECT_EQ(id.substr(0, 22), "window:2~sink:1+zones-");
  EXPECT_EQ(id.size(), 22u + 16);
  EXPECT_EQ(id_of("zones_b", "d=0:1\n"), id);
  EXPECT_NE(id_of("zones_b", "d=0:2\n"), id);
}

}  // namespace
}  // namespace sparkbench
