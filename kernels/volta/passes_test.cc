// Patterns that run as strided passes over residues, on the emulated V100: compared with the dense
// kernel over gathered tensors, with the definition in FP64, and in parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/strided/kernel_passes.h"
#include "kernels/strided/pattern_launches.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_sparse_checks.h"

namespace sparkbench {
namespace {

Picture picture_of(const Problem& problem) {
  return Picture(problem.seqlen_q, problem.seqlen_k,
                 [&](int row, int key) { return sees(problem.sparse->pattern, 0, row, key); });
}

constexpr std::string_view kPatterns[] = {
    "strided:7",           "causal-strided:3",
    "dilated:9:4",         "window:20+causal-strided:8",
    "band:3:5+strided:4",  "window:20+causal-strided:3",
    "causal-dilated:90:3",
};

/// A third of the instances for each pattern, the next third for the next pattern; nightly all.
class VoltaPasses : public testing::TestWithParam<std::size_t> {};

TEST_P(VoltaPasses, AreThePatternByItsDefinition) {
  std::size_t cell = GetParam();
  for (const auto& [head_dim, dropout_p] :
       {std::pair{64, 0.0f}, {40, 0.2f}, {64, 0.2f}, {128, 0.0f}, {256, 0.2f}}) {
    for (const bool is_deterministic : {false, true}) {
      if (!is_tried(cell++, 3)) continue;
      const Problem problem = with_pattern({.heads = 2,
                                            .seqlen_q = 390,
                                            .seqlen_k = 390,
                                            .head_dim = head_dim,
                                            .dropout_p = dropout_p,
                                            .softmax_scale = 0.02f,
                                            .seed = 5,
                                            .heads_k = 1},
                                           kPatterns[GetParam()]);
      SCOPED_TRACE(testing::Message() << "head_dim " << head_dim << ", dropout " << dropout_p
                                      << (is_deterministic ? ", deterministic" : ""));
      ASSERT_TRUE(has_mask_passes(problem));
      expect_as_by_pictures("volta-fp32acc", problem, {picture_of(problem)}, is_deterministic);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, VoltaPasses, testing::Range(std::size_t{0}, std::size(kPatterns)),
                         [](const auto& of) {
                           std::string name(kPatterns[of.param]);
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

/// Tokens residue, residue + stride, ... of contiguous [1, seqlen, heads, head_dim].
std::vector<Half> gathered(const std::vector<Half>& tensor, int row_elements, int stride,
                           int residue, int lines) {
  std::vector<Half> rows;
  for (int line = 0; line < lines; ++line) {
    const auto first = tensor.begin() + std::ptrdiff_t{line * stride + residue} * row_elements;
    rows.insert(rows.end(), first, first + row_elements);
  }
  return rows;
}

using KernelAndHeadDim = std::tuple<std::string_view, int>;

class VoltaPassesBits : public testing::TestWithParam<KernelAndHeadDim> {};

TEST_P(VoltaPassesBits, AreTheDenseKernelsOverGatheredTensors) {
  constexpr int kStride = 3, kLines = 130, kSeqlen = kStride * kLines;
  const auto [kernel, head_dim] = GetParam();
  const Problem whole =
      with_pattern({.heads = 2, .seqlen_q = kSeqlen, .seqlen_k = kSeqlen, .head_dim = head_dim},
                   "causal-strided:3");
  const PatternRun run_of_whole(kernel, whole);
  const Passes got = run(run_of_whole, true);
  Problem dense = whole;
  dense.sparse = nullptr;
  dense.mask = MaskSpec::causal();
  dense.seqlen_q = dense.seqlen_k = kLines;
  const int row = whole.heads * whole.head_dim;
  for (int residue = 0; residue < kStride; ++residue) {
    const auto lines_of = [&](const std::vector<Half>& tensor) {
      return gathered(tensor, row, kStride, residue, kLines);
    };
    const std::vector<Half> q = lines_of(run_of_whole.inputs().q),
                            k = lines_of(run_of_whole.inputs().k),
                            v = lines_of(run_of_whole.inputs().v),
                            d_o = lines_of(run_of_whole.d_o());
    std::vector<Half> o(q.size()), dq(q.size()), dk(q.size()), dv(q.size());
    std::vector<float> lse(dense.lse_elements());
    const EmulationOptions options{.profile = &arithmetic_profile("volta")};
    emulate_forward(run_of_whole.kernel(), dense,
                    contiguous_tensors(dense, q.data(), k.data(), v.data(), o.data(), lse.data()),
                    options, {});
    EXPECT_TRUE(same_bits(o, lines_of(got.o)));
    emulate_backward(run_of_whole.kernel(), dense,
                     contiguous_tensors(dense, q.data(), k.data(), v.data(), o.data(), d_o.data(),
                                        lse.data(), dq.data(), dk.data(), dv.data()),
                     options, true, {});
    EXPECT_TRUE(same_bits(dq, lines_of(got.dq)));
    EXPECT_TRUE(same_bits(dk, lines_of(got.dk)));
    EXPECT_TRUE(same_bits(dv, lines_of(got.dv)));
    for (int head = 0; head < whole.heads; ++head) {
      for (int line = 0; line < kLines; ++line) {
        EXPECT_EQ(lse[lse_offset(0, head, line, whole.heads, kLines)],
                  got.lse[lse_offset(0, head, line * kStride + residue, whole.heads, kSeqlen)]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, VoltaPassesBits,
                         testing::Values(KernelAndHeadDim{"volta-fp16acc", 64},
                                         KernelAndHeadDim{"volta-fp16acc", 128},
                                         KernelAndHeadDim{"volta-fp16acc", 256},
                                         KernelAndHeadDim{"volta-fp32acc", 256}));

/// A launch has the residues of a batch entry, or the batch entries of a residue: each entry has
/// the bits that it has by itself.
TEST(VoltaPassesOfABatch, HaveTheBitsOfItsEntriesAlone) {
  for (const int batch : {2, 5}) {
    Problem problem =
        with_pattern({.batch = batch, .heads = 2, .seqlen_q = 301, .seqlen_k = 301, .head_dim = 32},
                     "window:9+causal-strided:3");
    const PatternRun of_all("volta-fp32acc", problem);
    const Passes all = run(of_all, true);
    const std::size_t of_entry = problem.q_elements() / static_cast<std::size_t>(batch);
    Problem one = problem;
    one.batch = 1;
    for (int i = 0; i < batch; ++i) {
      const std::size_t first = static_cast<std::size_t>(i) * of_entry;
      std::vector<Half> o(of_entry), dq(of_entry), dk(of_entry), dv(of_entry);
      std::vector<float> lse(one.lse_elements());
      const EmulationOptions options{.profile = &arithmetic_profile("volta")};
      const OwnedInputs& in = of_all.inputs();
      emulate_forward(of_all.kernel(), one,
                      contiguous_tensors(one, in.q.data() + first, in.k.data() + first,
                                         in.v.data() + first, o.data(), lse.data()),
                      options, {});
      emulate_backward(
          of_all.kernel(), one,
          contiguous_tensors(one, in.q.data() + first, in.k.data() + first, in.v.data() + first,
                             o.data(), of_all.d_o().data() + first, lse.data(), dq.data(),
                             dk.data(), dv.data()),
          options, true, {});
      const auto entry = [&](const auto& of_batch) {
        using Values = std::decay_t<decltype(of_batch)>;
        const auto size = of_batch.size() / static_cast<std::size_t>(batch);
        const auto begin = of_batch.begin() + static_cast<std::ptrdiff_t>(size) * i;
        return Values(begin, begin + static_cast<std::ptrdiff_t>(size));
      };
      EXPECT_TRUE(same_bits(o, entry(all.o)));
      EXPECT_TRUE(same_bits(lse, entry(all.lse)));
      EXPECT_TRUE(same_bits(dq, entry(all.dq)));
      EXPECT_TRUE(same_bits(dk, entry(all.dk)));
      EXPECT_TRUE(same_bits(dv, entry(all.dv)));
    }
  }
}

/// Rows of a sample of tiles: all that is asked of them.
TEST(VoltaPassesOfASample, HaveTheBitsOfTheWhole) {
  const Problem problem =
      with_pattern({.batch = 2, .heads = 2, .seqlen_q = 530, .seqlen_k = 530, .head_dim = 64},
                   "window:9+causal-strided:5");
  const PatternRun made("volta-fp32acc", problem);
  const Passes whole = run(made, true);
  Passes part = whole;
  const auto clear = [](auto& values) {
    std::fill(values.begin(), values.end(), typename std::decay_t<decltype(values)>::value_type{});
  };
  clear(part.o);
  clear(part.lse);
  const EmulationOptions options{.profile = &arithmetic_profile("volta")};
  const std::vector<SampleTile> tiles{{2, 1, 0}, {4, 0, 1}};
  expect_clean(emulate_forward(made.kernel(), problem, made.forward(part), options, tiles));
  const auto rows_of = [&](const SampleTile& tile, auto&& compare) {
    const int first = tile[0] * kSampleRows;
    for (int row = first; row < std::min(first + kSampleRows, problem.seqlen_q); ++row) {
      compare(row);
    }
  };
  const auto same_row = [&](const std::vector<Half>& a, const std::vector<Half>& b, int batch,
                            int row, int head) {
    const std::size_t at =
        row_offset(batch, row, head, problem.seqlen_q, problem.heads, problem.head_dim);
    return std::equal(a.begin() + static_cast<std::ptrdiff_t>(at),
                      a.begin() + static_cast<std::ptrdiff_t>(at) + problem.head_dim,
                      b.begin() + static_cast<std::ptrdiff_t>(at),
                      [](Half x, Half y) { return x.bits == y.bits; });
  };
  for (const SampleTile& tile : tiles) {
    rows_of(tile, [&](int row) {
      EXPECT_TRUE(same_row(whole.o, part.o, tile[2], row, tile[1])) << row;
      const std::size_t at = lse_offset(tile[2], tile[1], row, problem.heads, problem.seqlen_q);
      EXPECT_EQ(whole.lse[at], part.lse[at]);
    });
  }
  part.o = whole.o;
  part.lse = whole.lse;
  clear(part.dq);
  clear(part.dk);
  clear(part.dv);
  const BackwardSample sample{{{1, 0, 1}}, {{3, 1, 0}}};
  expect_clean(
      emulate_backward(made.kernel(), problem, made.backward(part), options, true, sample));
  rows_of(sample.query_tiles[0],
          [&](int row) { EXPECT_TRUE(same_row(whole.dq, part.dq, 1, row, 0)) << row; });
  rows_of(sample.key_tiles[0], [&](int row) {
    EXPECT_TRUE(same_row(whole.dk, part.dk, 0, row, 1)) << row;
    EXPECT_TRUE(same_row(whole.dv, part.dv, 0, row, 1)) << row;
  });
}

template <class T>
std::vector<T> entry_of(const std::vector<T>& of_batch, int batch, int entry) {
  const auto size = static_cast<std::ptrdiff_t>(of_batch.size()) / batch;
  const auto begin = of_batch.begin() + size * entry;
  return std::vector<T>(begin, begin + size);
}

/// Each entry of a batch has residues, and so sequences, of its own.
TEST(VoltaPassesDropout, OfABatchIsTheDefinitionsOfEachEntry) {
  constexpr int kBatch = 3;
  const Problem problem = with_pattern({.batch = kBatch,
                                        .heads = 2,
                                        .seqlen_q = 301,
                                        .seqlen_k = 301,
                                        .head_dim = 32,
                                        .dropout_p = 0.3f,
                                        .softmax_scale = 0.02f,
                                        .seed = 9},
                                       "window:9+causal-strided:2");
  const PatternRun made("volta-fp32acc", problem);
  const Passes got = run(made, true);
  Problem one = problem;
  one.batch = 1;
  for (int entry = 0; entry < kBatch; ++entry) {
    const auto of = [&](const std::vector<Half>& all) { return entry_of(all, kBatch, entry); };
    const std::vector<Half> q = of(made.inputs().q), k = of(made.inputs().k),
                            v = of(made.inputs().v), d_o = of(made.d_o());
    const PatternAttention want = attention_by_pictures(one, q.data(), k.data(), v.data(),
                                                        d_o.data(), {picture_of(one)}, entry);
    const auto rms = [&](const std::vector<double>& values) {
      return [of_all = root_mean_square(values)](std::size_t) { return of_all; };
    };
    expect_near("o", kOfHalves, want.o, of(got.o), rms(want.o));
    expect_near("dv", kOfHalves, want.dv, of(got.dv), rms(want.dv));
    expect_near("dq", kOfHalves, want.dq, of(got.dq),
                [&](std::size_t i) { return want.dq_slack[i]; });
    expect_near("dk", kOfHalves, want.dk, of(got.dk),
                [&](std::size_t i) { return want.dk_slack[i]; });
  }
}

/// An offset in memory, which kernels load, is the problem's; another one drops other elements.
TEST(VoltaPassesDropout, TakesItsOffsetFromMemory) {
  Problem problem = with_pattern(
      {.heads = 2, .seqlen_q = 300, .seqlen_k = 300, .head_dim = 64, .dropout_p = 0.2f},
      "window:9+causal-strided:8");
  const Passes without = run(PatternRun("volta-fp32acc", problem), true);
  problem.dropout_offset = 0x500000007;
  const PatternRun made("volta-fp32acc", problem);
  const Passes want = run(made, true);
  EXPECT_FALSE(same_bits(without.o, want.o));
  problem.dropout_offset = 0;
  const PatternRun in_memory("volta-fp32acc", problem);
  Passes got = want;
  const DropoutOffset offset{7, 5};
  const EmulationOptions options{.profile = &arithmetic_profile("volta")};
  ForwardTensors forward = in_memory.forward(got);
  BackwardTensors backward = in_memory.backward(got);
  forward.dropout_offset = backward.dropout_offset = &offset;
  expect_clean(emulate_forward(in_memory.kernel(), problem, forward, options, {}));
  expect_clean(emulate_backward(in_memory.kernel(), problem, backward, options, true, {}));
  EXPECT_TRUE(same_bits(want.o, got.o));
  EXPECT_TRUE(same_bits(want.dq, got.dq));
  EXPECT_TRUE(same_bits(want.dk, got.dk));
  EXPECT_TRUE(same_bits(want.dv, got.dv));
}

TEST(PassesWorkspace, HasTheResultsOfPassesBehindTheFirst) {
  const Problem one = with_pattern(
      {.batch = 2, .heads = 4, .seqlen_q = 512, .seqlen_k = 512, .head_dim = 64}, "strided:4");
  const Problem two = with_pattern(one, "window:9+causal-strided:4");
  const std::uint64_t lse = one.lse_elements() * sizeof(float);
  const std::uint64_t o = one.q_elements() * sizeof(Half);
  EXPECT_EQ(PassesWorkspace(one, Pass::kForward, 0).bytes, lse);
  EXPECT_EQ(PassesWorkspace(two, Pass::kForward, 0).bytes, 2 * lse + o);
  EXPECT_EQ(PassesWorkspace(one, Pass::kBackward, 1000).bytes, lse + 1024);
  EXPECT_EQ(PassesWorkspace(two, Pass::kBackward, 1000).bytes, lse + 3 * o + 1024);
}

}  // namespace
}  // namespace sparkbench
