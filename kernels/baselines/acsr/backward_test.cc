// The chain's backward pass on the emulated machine, against the definition.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/baselines/acsr/keys_of_mask.h"
#include "kernels/baselines/acsr/rows_of_mask.h"
#include "kernels/baselines/acsr/test_chain.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

Problem problem_of(std::string_view spec, int seqlen_q, int seqlen_k, int head_dim,
                   int heads_k = 2) {
  Problem problem{.batch = 1,
                  .heads = 4,
                  .seqlen_q = seqlen_q,
                  .seqlen_k = seqlen_k,
                  .head_dim = head_dim,
                  .heads_k = heads_k};
  problem.sparse = make_sparse_mask(spec, seqlen_q, seqlen_k);
  return problem;
}

struct Case {
  explicit Case(const Problem& of)
      : problem(of),
        inputs(make_inputs(of, Distribution::kNormal, 7)),
        d_o(make_gradient_input(of, Distribution::kNormal, 7)),
        forward(rounded_forward(of, inputs.view(), all_rows(of))) {}

  BackwardInputs view() const {
    return {inputs.q, inputs.k, inputs.v, d_o, forward.o, forward.lse};
  }

  Problem problem;
  OwnedInputs inputs;
  std::vector<Half> d_o;
  RoundedForward forward;
};

constexpr Half kUntouched{0x7fff};

struct Outputs {
  std::vector<Half> dq, dk, dv;
  EmulationReport report;

  bool operator==(const Outputs& other) const {
    const auto same = [](const std::vector<Half>& a, const std::vector<Half>& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(Half)) == 0;
    };
    return same(dq, other.dq) && same(dk, other.dk) && same(dv, other.dv);
  }
};

Outputs run(const Case& of, EmulationOptions options = {}, const BackwardSample& sample = {}) {
  options.profile = &chain_profile();
  Outputs out{std::vector<Half>(of.problem.q_elements(), kUntouched),
              std::vector<Half>(of.problem.k_elements(), kUntouched),
              std::vector<Half>(of.problem.k_elements(), kUntouched),
              {}};
  out.report = emulate_backward(
      chain(), of.problem,
      contiguous_tensors(of.problem, of.inputs.q.data(), of.inputs.k.data(), of.inputs.v.data(),
                         of.forward.o.data(), of.d_o.data(), of.forward.lse.data(), out.dq.data(),
                         out.dk.data(), out.dv.data()),
      options, true, sample);
  return out;
}

void expect_correct(const Problem& problem) {
  const Case of(problem);
  const Outputs out = run(of, {.schedule_seed = 5});
  EXPECT_EQ(out.report.findings_total, 0u)
      << (out.report.findings.empty() ? "" : out.report.findings.front().message);
  for (const SiteCounters& site : out.report.sites) {
    EXPECT_EQ(site.bank_conflicts, 0u) << site.file << ":" << site.line;
  }
  const GradientRows rows = all_gradient_rows(problem);
  const ExactGradients want = exact_backward(problem, of.view(), rows);
  const HalfGradients unfused =
      unfused_backward(problem, of.view(), rows, {chain_profile(), Accumulator::kFp32});
  const GradientErrors error =
      gradient_errors(gather_gradients(problem, {out.dq, out.dk, out.dv}, rows), want);
  EXPECT_EQ(why_incorrect(error, gradient_errors(unfused, want), {}), "")
      << "rel_l2 dq " << error.dq.rel_l2 << ", dk " << error.dk.rel_l2 << ", dv "
      << error.dv.rel_l2;
}

using Shape = std::array<int, 2>;  // seqlen_q, seqlen_k

class AcsrBackward : public testing::TestWithParam<std::tuple<int, Shape>> {};

TEST_P(AcsrBackward, MatchesTheDefinitionForEveryAcsr) {
  const auto [head_dim, lengths] = GetParam();
  auto cell = static_cast<std::size_t>(head_dim + lengths[0]) / 64;
  for (const std::string_view spec :
       {"full", "causal", "window:37", "band:20:5", "blocked:32", "chunk:50", "strided:7",
        "strided:64", "causal-strided:16", "dilated:5:3", "documents:30"}) {
    if (!is_tried(cell++, 3)) continue;
    SCOPED_TRACE(testing::Message() << spec << ", " << lengths[0] << " x " << lengths[1]);
    expect_correct(problem_of(spec, lengths[0], lengths[1], head_dim));
  }
  SCOPED_TRACE("heads by turns");
  expect_correct(problem_of("window:9/strided:3/full", lengths[0], lengths[1], head_dim, 4));
}

/// Rows of 0, 1 and 2 times 64, so that each pattern is tried at each head_dim.
INSTANTIATE_TEST_SUITE_P(
    Lengths, AcsrBackward,
    testing::Combine(testing::Values(64, 128),
                     testing::ValuesIn(with_nightly<Shape>({{1, 1}, {65, 129}, {128, 128}},
                                                           {{63, 127}, {193, 2}}))));
INSTANTIATE_TEST_SUITE_P(HeadDims, AcsrBackward,
                         testing::Combine(testing::ValuesIn(with_nightly<int>({72}, {8})),
                                          testing::Values(Shape{65, 129})));

/// Rows of more values than a warp keeps in registers.
TEST(AcsrBackwardRows, OfManyValuesAreReadTwice) {
  Problem problem = problem_of("full", 4, 2100, 64);
  problem.batch = problem.heads = problem.heads_k = 1;
  expect_correct(problem);
}

TEST(AcsrBackwardBits, DoNotDependOnScheduleOrWorkers) {
  const Case of(problem_of("causal-strided:5", 131, 131, 64));
  const Outputs first = run(of);
  for (const std::uint64_t seed : {1u, 2u}) EXPECT_EQ(run(of, {.schedule_seed = seed}), first);
  EXPECT_EQ(run(of, {.workers = 1}), first);
}

TEST(AcsrBackwardBits, OfASampleAreThoseOfTheWhole) {
  for (const char* const spec : {"window:40", "strided:9"}) {
    SCOPED_TRACE(spec);
    const Case of(problem_of(spec, 300, 300, 64));
    const Problem& problem = of.problem;
    const Outputs whole = run(of);
    // Queries 128 to 255 of head 2, keys 0 to 127 of key head 1.
    const Outputs sample = run(of, {}, {{{1, 2, 0}}, {{0, 1, 0}}});
    EXPECT_TRUE(sample.report.is_sample);
    for (int row = 128; row < 256; ++row) {
      const std::size_t at = row_offset(0, row, 2, 300, problem.heads, 64);
      EXPECT_EQ(std::memcmp(&sample.dq[at], &whole.dq[at], 128), 0) << row;
    }
    for (int key = 0; key < 128; ++key) {
      const std::size_t at = row_offset(0, key, 1, 300, problem.heads_k, 64);
      EXPECT_EQ(std::memcmp(&sample.dk[at], &whole.dk[at], 128), 0) << key;
      EXPECT_EQ(std::memcmp(&sample.dv[at], &whole.dv[at], 128), 0) << key;
    }
    EXPECT_EQ(sample.dv[row_offset(0, 0, 0, 300, problem.heads_k, 64)].bits, kUntouched.bits);
  }
}

/// Each key is in a block, with all rows that see it.
TEST(AcsrKeys, AreInBlocksWithTheirRows) {
  for (const char* const spec : {"causal", "window:40", "strided:7", "strided:200", "dilated:5:4",
                                 "causal-strided:16", "documents:30:40"}) {
    SCOPED_TRACE(spec);
    const Problem problem = problem_of(spec, 300, 270, 64);
    const acsr::MaskRows rows(problem);
    const acsr::MaskKeys keys(problem, rows);
    std::set<int> blocks_of;
    for (int i = 0; i < keys.blocks_of_head(); ++i) {
      const acsr::KeyBlock& block = keys.blocks_of(0)[i];
      std::set<int> seeing;
      for (int row = block.first_row; row < block.end_row; ++row) {
        seeing.insert(rows.rows_of(0)[row].row);
      }
      for (int place = block.first_place; place < block.first_place + acsr::kBlockPlaces; ++place) {
        const int key = block.residue + block.stride * place;
        if (key >= problem.seqlen_k) break;
        EXPECT_TRUE(blocks_of.insert(key).second) << key;
        for (int row = 0; row < problem.seqlen_q; ++row) {
          if (!sees(problem.sparse->pattern, 0, row, key)) continue;
          EXPECT_TRUE(seeing.contains(row)) << row << ", " << key;
        }
      }
    }
    EXPECT_EQ(blocks_of.size(), 270u);
  }
}

TEST(AcsrBackwardSupport, HasTwoValuesOfEachPair) {
  const Problem problem = problem_of("full", 128, 64, 64);
  const std::uint64_t values = 4 * 128 * 64 * 2, rows = 128 * 16, blocks = 32, keys = 32;
  const auto tables = chain().tables(problem, Pass::kBackward);
  EXPECT_EQ(workspace_bytes(chain(), problem, Pass::kBackward, false, tables.get()), 2 * values);
  EXPECT_EQ(tables->bytes().size(), rows + blocks + keys);
  const Problem turns = problem_of("full/causal", 64, 64, 64);
  EXPECT_EQ(
      chain()
          .supports(turns, {.sm = 70, .shared_bytes_per_block = 96 << 10, .is_emulated = true},
                    false)
          .why_not,
      "patterns by turns where heads share keys");
}

}  // namespace
}  // namespace sparkbench
