// Coordinates in the dropout mask for a pattern that runs as strided passes: kernels draw by those
// of the definition, and no two pairs share any.
#include "kernels/strided/pass_dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/strided/pattern_launches.h"

namespace sparkbench {
namespace {

Problem problem_of(std::string_view spec, int batch, int heads, int seqlen) {
  return {.batch = batch,
          .heads = heads,
          .seqlen_q = seqlen,
          .seqlen_k = seqlen,
          .dropout_p = 0.3f,
          .seed = 4,
          .sparse = make_sparse_mask(spec, seqlen, seqlen)};
}

using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

Place numbers(const DropoutPlace& place) { return {place.sequence, place.row, place.column}; }

bool sees(const Problem& problem, int row, int key) {
  return problem.sparse ? sees(problem.sparse->pattern, 0, row, key)
                        : problem.key_mask().sees(row, key);
}

/// Visits (entry, head, row, key, place) of each pair that a pass's kernels draw for, as a kernel
/// counts: sequences of a launch from 0, rows and columns of its view.
template <class Visit>
void for_pairs_of_launches(const Problem& problem, TokenHeads heads, Visit visit) {
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    for (const ViewLaunch& launch : view_launches(problem, pass, heads)) {
      const Problem& of = launch.problem;
      for (int sequence = 0; sequence < of.batch * of.heads; ++sequence) {
        const auto own = static_cast<std::uint32_t>(sequence);
        ASSERT_EQ(of.first_dropout_sequence & own, 0u);
        const int member = sequence / of.heads, head = sequence % of.heads;
        const bool has_residues = launch.axes == ViewAxes::kResiduesAsBatch;
        const int entry = has_residues ? launch.first_batch : member;
        const int residue = launch.first_token + (has_residues ? member : head / problem.heads);
        for (int row = 0; row < of.seqlen_q; ++row) {
          for (int key = 0; key < of.seqlen_k; ++key) {
            if (!sees(of, row, key)) continue;
            visit(entry, head % problem.heads, row * launch.stride + residue,
                  key * launch.stride + residue,
                  DropoutPlace{of.first_dropout_sequence | own, static_cast<std::uint32_t>(row),
                               static_cast<std::uint32_t>(key)});
          }
        }
      }
    }
  }
}

class PassDropout : public testing::TestWithParam<std::string_view> {};

TEST_P(PassDropout, HasEachPairInAPlaceOfItsOwn) {
  for (const auto& [batch, heads, token_heads] : {std::tuple{1, 1, TokenHeads::kAny},
                                                  {3, 3, TokenHeads::kAny},
                                                  {5, 2, TokenHeads::kAny},
                                                  {3, 3, TokenHeads::kAdjacent},
                                                  {5, 2, TokenHeads::kAdjacent}}) {
    const Problem problem = problem_of(GetParam(), batch, heads, 390);
    ASSERT_TRUE(has_mask_passes(problem));
    const DropoutViews views = dropout_views_of(problem);
    std::set<Place> places;
    std::size_t pairs = 0;
    for_pairs_of_launches(problem, token_heads,
                          [&](int entry, int head, int row, int key, const DropoutPlace& place) {
                            ++pairs;
                            ASSERT_TRUE(places.insert(numbers(place)).second) << row << " " << key;
                            ASSERT_EQ(numbers(views.place(entry, head, row, key)), numbers(place))
                                << entry << " " << head << " " << row << " " << key;
                          });
    const auto all = static_cast<std::uint64_t>(batch) * static_cast<std::uint64_t>(heads);
    EXPECT_EQ(pairs, all * problem.sparse->pairs_of(0));
  }
}

INSTANTIATE_TEST_SUITE_P(, PassDropout,
                         testing::Values("strided:7", "causal-strided:2", "dilated:9:4",
                                         "window:20+causal-strided:8", "band:3:5+strided:4",
                                         "window:20+causal-strided:3", "dilated:60:3"),
                         [](const auto& of) { return "pattern" + std::to_string(of.index); });

/// Two views of the stride 3 over 10 tokens, by hand: 3 residues, one of which has a line more.
TEST(PassDropoutPlaces, AreTheNumbersOfTheDefinition) {
  const std::vector<MaskPass> passes{{3, {{0, 1, 4}, {1, 2, 3}}}};
  const DropoutViews views = *dropout_views(passes, 2, 3);
  // View 1: one residue of 3 heads, u = 4.
  EXPECT_EQ(numbers(views.place(0, 2, 9, 3)), (Place{0x10000002, 3, 1}));
  EXPECT_EQ(numbers(views.place(1, 0, 0, 6)), (Place{0x10000004, 0, 2}));
  // View 2: two residues of 3 heads, u = 8.
  EXPECT_EQ(numbers(views.place(0, 1, 1, 4)), (Place{0x20000001, 0, 1}));
  EXPECT_EQ(numbers(views.place(1, 2, 8, 2)), (Place{0x2000000d, 2, 0}));
  // No view has unequal residues.
  EXPECT_EQ(numbers(views.place(1, 2, 8, 3)), (Place{5, 8, 3}));
}

TEST(PassDropoutPlaces, WithoutPassesAreThoseOfTheSequence) {
  for (const std::string_view spec : {"window:9+sink:2", "longformer:8:4"}) {
    const Problem problem = problem_of(spec, 2, 3, 100);
    EXPECT_EQ(numbers(dropout_views_of(problem).place(1, 2, 40, 50)), (Place{5, 40, 50}));
  }
}

TEST(PassDropoutPlaces, AreNoneWhere28BitsAreTooFew) {
  // 2^6 residues and heads of an entry.
  EXPECT_TRUE(has_mask_passes(problem_of("strided:4", 1 << 22, 16, 600)));
  const Problem too_many = problem_of("strided:4", (1 << 22) + 1, 16, 600);
  EXPECT_FALSE(has_mask_passes(too_many));
  EXPECT_EQ(dropout_views_of(too_many).count, 0);
  Problem without_dropout = too_many;
  without_dropout.dropout_p = 0.0f;
  EXPECT_TRUE(has_mask_passes(without_dropout));
}

TEST(PassDropoutPlaces, AreNoneWhereThereAreTooManyZones) {
  const auto passes_of = [](int zones) {
    SparseMask mask;
    mask.pattern = empty_pattern(200, 200);
    mask.pattern.unions = {std::vector<Term>(static_cast<std::size_t>(zones))};
    return std::vector<MaskPass>{
        {2, {{0, 2, 200, MaskSpec::full(), std::make_shared<const SparseMask>(mask)}}}};
  };
  EXPECT_TRUE(dropout_views(passes_of(kMostDropoutZones), 1, 1).has_value());
  EXPECT_FALSE(dropout_views(passes_of(kMostDropoutZones + 1), 1, 1).has_value());
}

TEST(PassDropoutPlaces, OfSequencesAreThoseOfTheWholeMask) {
  Dropout dropout = make_dropout(0.4f, 77);
  dropout.offset = {3, 0x12345678};
  for (const std::uint32_t first : {0x10000000u, 0x40000040u}) {
    for (std::uint32_t sequence = 0; sequence < 5; ++sequence) {
      EXPECT_EQ(dropped_of_block(of_sequences(dropout, first), sequence, {16, 64}),
                dropped_of_block(dropout, first | sequence, {16, 64}));
    }
  }
}

/// Within four standard deviations.
TEST(PassDropoutPlaces, DropTheAskedShareOfEachPass) {
  const Problem problem = problem_of("window:64+causal-strided:8", 4, 4, 1000);
  const Dropout dropout = problem.dropout();
  std::size_t pairs[2] = {}, kept[2] = {};
  for_pairs_of_launches(problem, TokenHeads::kAny,
                        [&](int, int, int, int, const DropoutPlace& place) {
                          const bool is_of_view = place.sequence >> kViewNumberBit != 0;
                          ++pairs[is_of_view];
                          kept[is_of_view] += dropout_keeps(dropout, place) ? 1 : 0;
                        });
  const double p = dropout.applied_p();
  for (const int pass : {0, 1}) {
    const auto all = static_cast<double>(pairs[pass]);
    EXPECT_NEAR(static_cast<double>(kept[pass]) / all, 1 - p, 4 * std::sqrt(p * (1 - p) / all));
  }
}

}  // namespace
}  // namespace sparkbench
