// The fused kernel's dQ on the emulated H100: bit for bit that of the dQ kernel, and dK and dV with
// it.
#include "kernels/hopper/backward/carried_kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/hopper/backward/test_dq_forms.h"
#include "kernels/hopper/dq_form.h"
#include "kernels/problem/tensors.h"
#include "kernels/testing/nightly.h"

namespace sparkbench::hopper {
namespace {

void expect_same(const Gradients& carried, const Gradients& alone) {
  EXPECT_TRUE(same_bits(carried.dq, alone.dq));
  EXPECT_TRUE(same_bits(carried.dk, alone.dk));
  EXPECT_TRUE(same_bits(carried.dv, alone.dv));
}

bool is_served(const Problem& problem) { return find_carried(problem) != nullptr; }

/// Each mask with dropout or without, swapped in the next `cell`; nightly both.
void expect_dq_alone(Problem problem, std::initializer_list<MaskSpec> masks, std::size_t cell) {
  constexpr float kDropouts[] = {0.0f, 0.17f};
  for (const MaskSpec& mask : masks) {
    ++cell;
    for (std::size_t d = 0; d < std::size(kDropouts); ++d) {
      if (!is_tried(cell + d, 2)) continue;
      problem.mask = mask;
      problem.dropout_p = kDropouts[d];
      SCOPED_TRACE(testing::Message() << problem.head_dim << ", " << problem.seqlen_q << " tokens, "
                                      << name_of(mask) << ", dropout " << problem.dropout_p);
      ASSERT_TRUE(is_served(problem));
      const Case made = make_case(problem);
      expect_same(run(made, DqForm::kCarried), run(made, DqForm::kAlone));
    }
  }
}

Problem problem_of(int head_dim, int seqlen, const MaskSpec& mask) {
  return {.batch = 2,
          .heads = 3,
          .seqlen_q = seqlen,
          .seqlen_k = seqlen,
          .head_dim = head_dim,
          .mask = mask,
          .seed = 11};
}

/// Key runs have a few blocks each, which begin and end within heads and batch entries.
class HopperCarriedBackward : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(HopperCarriedBackward, HasTheBitsOfDqAlone) {
  const auto [head_dim, seqlen] = GetParam();
  expect_dq_alone(problem_of(head_dim, seqlen, {}),
                  {MaskSpec::window(1), MaskSpec::window(64), MaskSpec::window(129),
                   MaskSpec::band(64, 64), MaskSpec::band(0, 100), MaskSpec::band(17, 3)},
                  static_cast<std::size_t>(seqlen / 64));
}

INSTANTIATE_TEST_SUITE_P(Lengths, HopperCarriedBackward,
                         testing::Combine(testing::Values(64),
                                          testing::ValuesIn(with_nightly<int>({1, 65, 500},
                                                                              {64, 129}))));
INSTANTIATE_TEST_SUITE_P(HeadDims, HopperCarriedBackward,
                         testing::Combine(testing::ValuesIn(with_nightly<int>({80, 128},
                                                                              {8, 40, 96, 104})),
                                          testing::ValuesIn(with_nightly<int>({330}, {450}))));

/// The longest windows whose carried steps have room in shared memory; longer ones take another
/// DqForm.
TEST(HopperCarriedBackwardOfLongWindows, HasTheBitsOfDqAlone) {
  for (const int head_dim : with_nightly<int>({64, 128}, {32, 80})) {
    Problem problem = problem_of(head_dim, 900, MaskSpec::window(1));
    problem.batch = 1;
    problem.heads = 2;
    int keys = 1;
    for (; keys + 64 < problem.seqlen_k; keys += 64) {
      problem.mask = MaskSpec::window(keys + 64);
      if (!is_served(problem)) break;
    }
    problem.mask = MaskSpec::window(keys);
    ASSERT_TRUE(is_served(problem));
    EXPECT_GE(keys, 129) << head_dim;
    const Case made = make_case(problem);
    expect_same(run(made, DqForm::kCarried), run(made, DqForm::kAlone));
  }
}

/// Short sequences, whatever their rows see.
TEST(HopperCarriedBackwardOfShortSequences, HasTheBitsOfDqAlone) {
  for (const auto& [head_dim, most] : {std::pair{64, 256}, {80, 128}, {128, 128}}) {
    std::size_t cell = 0;
    for (const int seqlen : {1, most - 70, most}) {
      Problem problem = problem_of(head_dim, seqlen, {});
      problem.heads = 5;
      expect_dq_alone(problem, {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(200)},
                      cell++);
    }
    EXPECT_FALSE(is_served(problem_of(head_dim, most + 1, MaskSpec::full())));
  }
}

/// Bands before a row's own key, as a window over a pattern's other tokens leaves them: the first
/// rows see no key, and no row sees the last keys.
TEST(HopperCarriedBackwardOfStrictBands, HasTheBitsOfDqAlone) {
  for (const int head_dim : {64, 128}) {
    std::size_t cell = 0;
    for (const int seqlen : with_nightly<int>({66, 128, 330}, {450})) {
      expect_dq_alone(problem_of(head_dim, seqlen, {}),
                      {MaskSpec::band(70, -1), MaskSpec::band(128, -1)}, cell++);
    }
  }
  // The farthest from a row's own key at which a step's last query still sees the step's first key.
  const Case furthest = make_case(problem_of(64, 320, MaskSpec::band(100, -63)));
  ASSERT_TRUE(is_served(furthest.problem));
  expect_same(run(furthest, DqForm::kCarried), run(furthest, DqForm::kAlone));
  EXPECT_FALSE(is_served(problem_of(64, 320, MaskSpec::band(100, -64))));
  EXPECT_FALSE(is_served(problem_of(64, 319, MaskSpec::band(100, -63))));
  // No step sees the tile of the last key.
  EXPECT_FALSE(is_served(problem_of(64, 129, MaskSpec::band(70, -1))));
}

TEST(HopperCarriedBackwardOfSchedules, HasTheSameBits) {
  const Case made = make_case(problem_of(64, 330, MaskSpec::window(100)));
  const Gradients alone = run(made, DqForm::kAlone);
  for (const std::uint64_t seed : with_nightly<std::uint64_t>({0, 1}, {2, 3})) {
    SCOPED_TRACE(seed);
    expect_same(run(made, DqForm::kCarried, seed), alone);
  }
}

TEST(HopperCarriedBackwardOfSamples, IsThatOfTheWhole) {
  for (const MaskSpec& mask : {MaskSpec::window(150), MaskSpec::band(70, 90)}) {
    const Problem problem = problem_of(64, 700, mask);
    const Case made = make_case(problem);
    const Gradients whole = run(made, DqForm::kAlone);
    const Gradients some =
        run(made, DqForm::kCarried, 0, {{{1, 2, 0}, {5, 0, 1}, {0, 1, 0}}, {{2, 1, 0}}});
    const auto expect_rows = [&](const std::vector<Half>& got, const std::vector<Half>& want,
                                 int batch, int head, int first, int end) {
      for (int row = first; row < end; ++row) {
        const std::size_t at = row_offset(batch, row, head, 700, 3, 64);
        EXPECT_EQ(std::memcmp(&got[at], &want[at], 64 * sizeof(Half)), 0) << row;
      }
    };
    expect_rows(some.dq, whole.dq, 0, 2, 128, 256);
    expect_rows(some.dq, whole.dq, 1, 0, 640, 700);
    expect_rows(some.dq, whole.dq, 0, 1, 0, 128);
    expect_rows(some.dk, whole.dk, 0, 1, 256, 384);
    expect_rows(some.dv, whole.dv, 0, 1, 256, 384);
    EXPECT_EQ(some.dq[row_offset(1, 0, 2, 700, 3, 64)].bits, kPoison.bits);
  }
}

TEST(HopperDqForm, IsCarriedInWindowsOfWhichAllStepsFit) {
  Problem window = problem_of(64, 8192, MaskSpec::window(128));
  EXPECT_EQ(dq_form(window, false), DqForm::kCarried);
  EXPECT_EQ(dq_form(window, true), DqForm::kCarried);
  EXPECT_EQ(packed_dq_form(window, 4, false), DqForm::kAlone);
  window.head_dim = 128;
  EXPECT_EQ(dq_form(window, false), DqForm::kCarried);
  window.head_dim = 136;
  EXPECT_EQ(dq_form(window, false), DqForm::kAlone);
  window.head_dim = 64;
  window.mask = MaskSpec::window(1024);
  EXPECT_EQ(dq_form(window, false), DqForm::kAlone);
  // With grouped keys a block has one query head's rows after another's.
  window.mask = MaskSpec::window(128);
  window.heads_k = 1;
  EXPECT_EQ(dq_form(window, false), DqForm::kAlone);
  // No block has rows that see no key.
  window.heads_k = 0;
  window.seqlen_q = 9000;
  EXPECT_EQ(dq_form(window, false), DqForm::kAlone);
}

}  // namespace
}  // namespace sparkbench::hopper
