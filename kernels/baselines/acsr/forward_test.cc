// The chain on the emulated machine, against the definition.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels/baselines/acsr/test_chain.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused.h"

namespace sparkbench {
namespace {

struct ForwardOutputs {
  std::vector<Half> o;
  std::vector<float> lse;
  EmulationReport report;
};

constexpr Half kUnwritten{0x7fff};

ForwardOutputs run(const Problem& problem, const OwnedInputs& inputs, EmulationOptions options = {},
                   std::span<const SampleTile> tiles = {}) {
  options.profile = &chain_profile();
  ForwardOutputs outputs;
  outputs.o.assign(problem.q_elements(), kUnwritten);
  outputs.lse.assign(problem.lse_elements(), -7.0f);
  outputs.report =
      emulate_forward(chain(), problem,
                      contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                         outputs.o.data(), outputs.lse.data()),
                      options, tiles);
  return outputs;
}

void expect_clean(const EmulationReport& report) {
  EXPECT_EQ(report.findings_total, 0u)
      << (report.findings.empty() ? "" : report.findings.front().message);
  for (const SiteCounters& site : report.sites) {
    EXPECT_EQ(site.bank_conflicts, 0u) << site.file << ":" << site.line;
  }
}

void expect_forward_correct(const Problem& problem) {
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
  const ForwardOutputs outputs = run(problem, inputs, {.schedule_seed = 5});
  expect_clean(outputs.report);
  const std::vector<QueryRow> rows = all_rows(problem);
  const ForwardInputs views{inputs.q, inputs.k, inputs.v};
  const ExactRows want = exact_forward(problem, views, rows);
  const ForwardRows unfused =
      unfused_forward(problem, views, rows, {chain_profile(), Accumulator::kFp32});
  const ErrorMetrics error =
      error_metrics(gather_rows(problem, outputs.o, outputs.lse, rows), want);
  EXPECT_EQ(why_incorrect(error, error_metrics(unfused, want), {}), "")
      << "rel_l2 " << error.rel_l2 << ", lse " << error.lse_max_abs;
}

Problem forward_problem(std::string_view spec, int seqlen_q, int seqlen_k, int head_dim) {
  Problem problem{.batch = 1,
                  .heads = 4,
                  .seqlen_q = seqlen_q,
                  .seqlen_k = seqlen_k,
                  .head_dim = head_dim,
                  .heads_k = 2};
  problem.sparse = make_sparse_mask(spec, seqlen_q, seqlen_k);
  return problem;
}

using Shape = std::array<int, 2>;  // seqlen_q, seqlen_k

class AcsrForward : public testing::TestWithParam<std::tuple<int, Shape>> {};

TEST_P(AcsrForward, MatchesTheDefinitionForEveryAcsr) {
  const auto [head_dim, lengths] = GetParam();
  auto cell = static_cast<std::size_t>(head_dim + lengths[0]) / 64;
  for (const std::string_view spec :
       {"full", "causal", "window:37", "band:20:5", "prefix:9", "blocked:32", "chunk:50",
        "strided:7", "strided:64", "causal-strided:16", "dilated:5:3", "documents:30",
        "window:9/strided:3/full"}) {
    if (!is_tried(cell++, 3)) continue;
    SCOPED_TRACE(testing::Message() << spec << ", " << lengths[0] << " x " << lengths[1]);
    Problem problem = forward_problem(spec, lengths[0], lengths[1], head_dim);
    if (problem.sparse->pattern.unions.size() > 1) problem.heads_k = problem.heads;
    expect_forward_correct(problem);
  }
}

/// Rows of 0, 1 and 2 times 64, so that each pattern is tried at each head_dim.
INSTANTIATE_TEST_SUITE_P(
    Lengths, AcsrForward,
    testing::Combine(testing::Values(64, 128),
                     testing::ValuesIn(with_nightly<Shape>({{1, 1}, {127, 63}, {129, 65}},
                                                           {{128, 64}, {131, 131}, {2, 193}}))));
INSTANTIATE_TEST_SUITE_P(HeadDims, AcsrForward,
                         testing::Combine(testing::ValuesIn(with_nightly<int>({72}, {8, 40, 120})),
                                          testing::Values(Shape{129, 65})));

/// Rows of more values than a warp keeps in registers.
TEST(AcsrForwardRows, OfManyValuesAreReadTwice) {
  for (const char* const spec : {"full", "strided:2"}) {
    SCOPED_TRACE(spec);
    Problem problem = forward_problem(spec, 4, 4200, 64);
    problem.batch = problem.heads = problem.heads_k = 1;
    expect_forward_correct(problem);
  }
}

/// A mask that is no pattern.
TEST(AcsrForwardMasks, AreTakenWithoutAPattern) {
  Problem problem = forward_problem("full", 70, 131, 64);
  problem.sparse = nullptr;
  problem.mask = MaskSpec::window(20);
  expect_forward_correct(problem);
}

bool same_bits(const ForwardOutputs& a, const ForwardOutputs& b) {
  return std::memcmp(a.o.data(), b.o.data(), a.o.size() * sizeof(Half)) == 0 &&
         std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

TEST(AcsrForwardBits, DoNotDependOnScheduleOrWorkers) {
  const Problem problem = forward_problem("causal-strided:5", 131, 131, 64);
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const ForwardOutputs first = run(problem, inputs);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    EXPECT_TRUE(same_bits(first, run(problem, inputs, {.schedule_seed = seed})));
  }
  EXPECT_TRUE(same_bits(first, run(problem, inputs, {.workers = 1})));
}

/// A pattern and the mask that it is.
TEST(AcsrForwardBits, AreThoseOfAnotherNameOfTheMask) {
  const Problem window = forward_problem("window:37", 131, 131, 64);
  const OwnedInputs inputs = make_inputs(window, Distribution::kNormal, 3);
  const ForwardOutputs want = run(window, inputs);
  EXPECT_TRUE(same_bits(want, run(forward_problem("band:36:0", 131, 131, 64), inputs)));
  EXPECT_TRUE(same_bits(run(forward_problem("full", 131, 131, 64), inputs),
                        run(forward_problem("band:130:130", 131, 131, 64), inputs)));
}

TEST(AcsrForwardBits, OfASampleAreThoseOfTheWhole) {
  for (const char* const spec : {"window:40", "strided:9"}) {
    const Problem problem = forward_problem(spec, 300, 300, 64);
    const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
    const ForwardOutputs whole = run(problem, inputs);
    const SampleTile tile{1, 2, 0};  // rows 128 to 255
    const ForwardOutputs sample = run(problem, inputs, {}, {&tile, 1});
    EXPECT_TRUE(sample.report.is_sample);
    for (const QueryRow& row : all_rows(problem)) {
      const std::size_t at = row_offset(row.batch, row.row, row.head, problem.seqlen_q,
                                        problem.heads, problem.head_dim);
      const bool is_head = row.batch == 0 && row.head == 2;
      if (is_head && row.row / kSampleRows == 1) {
        EXPECT_EQ(sample.o[at].bits, whole.o[at].bits);
        EXPECT_EQ(sample.lse[row.lse_index(problem)], whole.lse[row.lse_index(problem)]);
      } else if (!is_head) {
        EXPECT_EQ(sample.o[at].bits, kUnwritten.bits);
      }
    }
  }
}

TEST(AcsrForwardBits, AreZeroAndMinusInfinityWithoutAKey) {
  const Problem problem = forward_problem("causal", 131, 70, 64);
  const ForwardOutputs outputs = run(problem, make_inputs(problem, Distribution::kNormal, 3));
  for (const QueryRow& row : all_rows(problem)) {
    if (row.row >= 131 - 70) continue;
    EXPECT_EQ(outputs.lse[row.lse_index(problem)], -std::numeric_limits<float>::infinity());
    const std::size_t at =
        row_offset(row.batch, row.row, row.head, problem.seqlen_q, problem.heads, problem.head_dim);
    for (int d = 0; d < problem.head_dim; ++d) EXPECT_EQ(outputs.o[at + d].bits & 0x7fff, 0);
  }
}

TEST(AcsrForwardBits, ShowANanWhereItIsSeen) {
  const Problem problem = forward_problem("strided:3", 131, 131, 64);
  OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  inputs.q[row_offset(0, 100, 2, problem.seqlen_q, problem.heads, problem.head_dim)] = Half{0x7e00};
  const ForwardOutputs outputs = run(problem, inputs);
  for (const QueryRow& row : all_rows(problem)) {
    const bool expected = row.head == 2 && row.row == 100;
    EXPECT_EQ(std::isnan(outputs.lse[row.lse_index(problem)]), expected) << row.row;
  }
}

/// Tensors whose heads lie before rows, with room between rows.
TEST(AcsrForwardTensors, MayBeStrided) {
  const Problem problem = forward_problem("dilated:4:3", 131, 131, 64);
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const ForwardOutputs want = run(problem, inputs);
  constexpr int kRow = 80;
  const auto strided = [&](auto* data, int seqlen, int heads) {
    return TensorView<std::remove_pointer_t<decltype(data)>>{
        data, std::int64_t{kRow} * seqlen * heads, kRow, std::int64_t{kRow} * seqlen};
  };
  const auto spread = [&](const std::vector<Half>& from, int seqlen, int heads) {
    std::vector<Half> to(static_cast<std::size_t>(problem.batch * seqlen * heads) * kRow);
    const auto view = strided(to.data(), seqlen, heads);
    for (int b = 0; b < problem.batch; ++b) {
      for (int s = 0; s < seqlen; ++s) {
        for (int h = 0; h < heads; ++h) {
          std::memcpy(view.row(b, s, h),
                      from.data() + row_offset(b, s, h, seqlen, heads, problem.head_dim),
                      static_cast<std::size_t>(problem.head_dim) * sizeof(Half));
        }
      }
    }
    return to;
  };
  const std::vector<Half> q = spread(inputs.q, problem.seqlen_q, problem.heads),
                          k = spread(inputs.k, problem.seqlen_k, problem.heads_k),
                          v = spread(inputs.v, problem.seqlen_k, problem.heads_k);
  std::vector<Half> o(q.size(), kUnwritten);
  ForwardOutputs got{{}, std::vector<float>(problem.lse_elements()), {}};
  const ForwardTensors tensors{strided(q.data(), problem.seqlen_q, problem.heads),
                               strided(k.data(), problem.seqlen_k, problem.heads_k),
                               strided(v.data(), problem.seqlen_k, problem.heads_k),
                               strided(o.data(), problem.seqlen_q, problem.heads), got.lse.data()};
  expect_clean(emulate_forward(chain(), problem, tensors, {.profile = &chain_profile()}, {}));
  EXPECT_EQ(spread(want.o, problem.seqlen_q, problem.heads).size(), o.size());
  const auto view = strided(o.data(), problem.seqlen_q, problem.heads);
  for (const QueryRow& row : all_rows(problem)) {
    EXPECT_EQ(std::memcmp(view.row(row.batch, row.row, row.head),
                          want.o.data() + row_offset(row.batch, row.row, row.head, problem.seqlen_q,
                                                     problem.heads, 64),
                          64 * sizeof(Half)),
              0);
  }
  EXPECT_EQ(got.lse, want.lse);
}

/// Scores and probabilities are written once, and read twice and once.
TEST(AcsrForwardBits, AreOfTheBytesOfTheAlgorithm) {
  Problem problem = forward_problem("full", 128, 256, 64);
  problem.batch = problem.heads = problem.heads_k = 1;
  const Counters counters =
      run(problem, make_inputs(problem, Distribution::kNormal, 3)).report.counters;
  const std::uint64_t values = 128 * 256 * 2 / 32, row = 64 * 2 / 32;  // sectors
  EXPECT_EQ(counters.global_sectors_written, 2 * values + 128 * row + 128);
  EXPECT_EQ(counters.mma_m8n8k4, 4u * 128 * 256 * 64 / 2048);
  EXPECT_EQ(counters.barriers, 2u * 2 * 4);
}

std::string why_not(const Problem& problem, int sm = 70) {
  return chain()
      .supports(problem, {.sm = sm, .shared_bytes_per_block = 96 << 10, .is_emulated = true}, false)
      .why_not;
}

TEST(AcsrSupport, SaysWhyNot) {
  const auto of = [&](const Problem& problem) { return why_not(problem); };
  EXPECT_EQ(of(forward_problem("strided:7", 64, 64, 64)), "");
  EXPECT_EQ(of(forward_problem("sink:2+window:4", 64, 64, 64)),
            "the mask sink:2+window:4, which is no ACSR: the keys of row 6 are in no arithmetic "
            "progression");
  EXPECT_EQ(of(forward_problem("full", 64, 64, 136)),
            "head_dim 136 (multiples of 8 up to 128 are supported)");
  Problem drops = forward_problem("full", 64, 64, 64);
  drops.dropout_p = 0.1f;
  EXPECT_EQ(of(drops), "dropout: the chain has none, as SPLAT has none");
}

TEST(AcsrSupportOfGpus, IsOfThoseThatHaveTheInstruction) {
  const Problem problem = forward_problem("strided:7", 64, 64, 64);
  EXPECT_EQ(why_not(problem, 61), "compute capabilities below 7.0");
}

TEST(AcsrWorkspace, IsTheValues) {
  const Problem problem = forward_problem("full", 128, 64, 64);
  const std::uint64_t values = 4 * 128 * 64 * 2, rows = 128 * 16, blocks = 32;
  const auto tables = chain().tables(problem, Pass::kForward);
  EXPECT_EQ(workspace_bytes(chain(), problem, Pass::kForward, false, tables.get()), values);
  EXPECT_EQ(tables->bytes().size(), rows + blocks);
  EXPECT_THROW(chain().tables(forward_problem("sink:2+window:4", 64, 64, 64), Pass::kForward),
               std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
