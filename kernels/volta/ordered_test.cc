// Patterns over a grid in the Volta kernels on the emulated V100, in an order of the grid's tokens:
// by their definition in FP64, and by tensors that are in that order already.
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/mask/pattern/ordered_pattern.h"
#include "kernels/mask/pattern/test_orders.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_sparse_checks.h"

namespace sparkbench {
namespace {

struct GridCase {
  const char* spec;
  int extent[kOrderAxes];

  int tokens() const { return extent[0] * extent[1] * extent[2]; }
};
/// Windows at borders, tiles that share tokens with others, and three axes.
constexpr GridCase kRaggedGrids[] = {{"nd:17x19:5x4", {1, 17, 19}},
                                     {"nd:5x9x7:3x3x3", {5, 9, 7}},
                                     {"causal-nd:13x21:6x9+nd:13x21:3x3", {1, 13, 21}}};
/// Whole tiles alone.
constexpr GridCase kWholeGrids[] = {{"nd:16x32:5x7", {1, 16, 32}}, {"nd:4x8x16:3x5x5", {4, 8, 16}}};

/// The pattern, walked in these orders whether or not it is less work.
Problem in_order_of(Problem problem, const GridCase& grid, const GridOrder& of_rows,
                    const GridOrder& of_keys) {
  problem.seqlen_q = problem.seqlen_k = grid.tokens();
  SparseMask mask = *make_sparse_mask(grid.spec, grid.tokens(), grid.tokens());
  mask.passes.clear();
  mask.in_order = std::make_shared<const Pattern>(in_order(mask.pattern, of_rows, of_keys));
  problem.sparse = std::make_shared<const SparseMask>(std::move(mask));
  return problem;
}

std::vector<Picture> picture_of(const Problem& problem) {
  return {Picture(problem.seqlen_q, problem.seqlen_k,
                  [&](int row, int key) { return sees(problem.sparse->pattern, 0, row, key); })};
}

TEST(VoltaOrder, OfAGridIsThePatternByItsDefinition) {
  Random random(30);
  std::size_t cell = 0;
  for (const GridCase& grid : kRaggedGrids) {
    const std::vector<GridOrder> orders = orders_of(grid.extent);
    ASSERT_FALSE(orders.empty()) << grid.spec;
    for (const auto& [kernel, head_dim, dropout_p] : {std::tuple{"volta-fp32acc", 64, 0.0f},
                                                      {"volta-fp32acc", 40, 0.2f},
                                                      {"volta-fp32acc", 128, 0.2f},
                                                      {"volta-fp32acc", 200, 0.2f},
                                                      {"volta-fp16acc", 64, 0.2f},
                                                      {"volta-fp16acc", 128, 0.0f},
                                                      {"volta-fp16acc", 256, 0.2f}}) {
      const GridOrder& order =
          orders[static_cast<std::size_t>(draw(random, 0, static_cast<int>(orders.size()) - 1))];
      const GridOrder of_keys = counted_first_along(draw(random, 0, kOrderAxes - 1), order);
      const bool is_fp32 = std::string_view(kernel) == "volta-fp32acc";
      const Problem problem = in_order_of({.heads = 2,
                                           .head_dim = head_dim,
                                           .dropout_p = dropout_p,
                                           .softmax_scale = is_fp32 ? 0.02f : 0.005f,
                                           .seed = 4,
                                           .heads_k = 1},
                                          grid, order, of_keys);
      for (const bool is_deterministic : {false, true}) {
        if (!is_tried(cell++, 3)) continue;
        SCOPED_TRACE(testing::Message()
                     << kernel << ", " << grid.spec << ", " << name_of_order(order) << ", keys "
                     << name_of_order(of_keys) << ", head_dim " << head_dim
                     << (is_deterministic ? ", deterministic" : ""));
        expect_as_by_pictures(kernel, problem, picture_of(problem), is_deterministic);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Rows of [token, heads, head_dim] by positions, or back.
std::vector<Half> permuted(const std::vector<Half>& halves, const GridOrder& order, bool is_back) {
  const std::size_t row = halves.size() / static_cast<std::size_t>(order.tokens());
  std::vector<Half> other(halves.size());
  for (int token = 0; token < order.tokens(); ++token) {
    const std::size_t of_token = static_cast<std::size_t>(token) * row,
                      of_position = static_cast<std::size_t>(order.position_of(token)) * row;
    std::copy_n(halves.begin() + static_cast<std::ptrdiff_t>(is_back ? of_position : of_token), row,
                other.begin() + static_cast<std::ptrdiff_t>(is_back ? of_token : of_position));
  }
  return other;
}

/// The same pairs as bits of positions, for tensors that are in this order.
Problem by_positions(Problem problem) {
  const Pattern& walked = problem.sparse->walked();
  SparseMask mask;
  mask.spec = "by positions";
  mask.pattern = empty_pattern(walked.seqlen_q, walked.seqlen_k);
  Term term;
  term.bits = bits_of(walked, 0);
  mask.pattern.unions = {{term}};
  problem.sparse = std::make_shared<const SparseMask>(std::move(mask));
  return problem;
}

struct PermutedTensors {
  std::vector<Half> q, k, v, d_o, o, dq, dk, dv;
  std::vector<float> lse;
};

/// Whose tiles lie side by side on two axes.
GridOrder order_of_two_axes(const GridCase& grid) {
  const std::vector<GridOrder> orders = orders_of(grid.extent);
  return *std::find_if(orders.begin(), orders.end(), [](const GridOrder& order) {
    return order.counted_first == 2 && order.tiles_of_axis(1) > 1 && order.tiles_of_axis(2) > 1;
  });
}

TEST(VoltaOrder, HasTheBitsOfPermutedTensors) {
  for (std::size_t g = 0; g < std::size(kWholeGrids); ++g) {
    const GridCase& grid = kWholeGrids[g];
    std::size_t cell = g;  // by turns with one grid and with the other
    for (const auto& [kernel, head_dim, dropout_p] : {std::tuple{"volta-fp32acc", 64, 0.17f},
                                                      {"volta-fp16acc", 64, 0.0f},
                                                      {"volta-fp32acc", 128, 0.17f},
                                                      {"volta-fp32acc", 256, 0.17f}}) {
      if (!is_tried(cell++, std::size(kWholeGrids))) continue;
      const GridOrder of_rows = order_of_two_axes(grid), of_keys = counted_first_along(1, of_rows);
      ASSERT_EQ(of_rows.positions(), of_rows.tokens());
      ASSERT_NE(of_rows.token_of(kOrderTile), of_keys.token_of(kOrderTile));
      SCOPED_TRACE(testing::Message()
                   << kernel << ", " << grid.spec << ", " << name_of_order(of_rows) << ", keys "
                   << name_of_order(of_keys) << ", head_dim " << head_dim);
      const Problem problem =
          in_order_of({.heads = 2, .head_dim = head_dim, .dropout_p = dropout_p, .seed = 9}, grid,
                      of_rows, of_keys);
      const PatternRun made(kernel, problem);
      const Passes got = run(made, true);

      const Problem other = by_positions(problem);
      PermutedTensors t{
          permuted(made.inputs().q, of_rows, false), permuted(made.inputs().k, of_keys, false),
          permuted(made.inputs().v, of_keys, false), permuted(made.d_o(), of_rows, false)};
      for (std::vector<Half>* const out : {&t.o, &t.dq, &t.dk, &t.dv}) {
        out->resize(problem.q_elements());
      }
      t.lse.resize(problem.lse_elements());
      const EmulationOptions options{.profile = &arithmetic_profile("volta")};
      made.kernel().forward.emulate(
          other,
          contiguous_tensors(other, t.q.data(), t.k.data(), t.v.data(), t.o.data(), t.lse.data()),
          options, {});
      made.kernel().backward.emulate(
          other,
          contiguous_tensors(other, t.q.data(), t.k.data(), t.v.data(), t.o.data(), t.d_o.data(),
                             t.lse.data(), t.dq.data(), t.dk.data(), t.dv.data()),
          options, true, {});
      EXPECT_TRUE(same_bits(got.o, permuted(t.o, of_rows, true)));
      EXPECT_TRUE(same_bits(got.dq, permuted(t.dq, of_rows, true)));
      EXPECT_TRUE(same_bits(got.dk, permuted(t.dk, of_keys, true)));
      EXPECT_TRUE(same_bits(got.dv, permuted(t.dv, of_keys, true)));
    }
  }
}

/// A sample of rows and keys, as tokens, has the bits that all of them have.
TEST(VoltaOrder, OfASampleHasTheBitsOfAll) {
  const GridCase grid{"nd:17x19:5x4", {1, 17, 19}};
  const GridOrder order = orders_of(grid.extent).front();
  const Problem problem = in_order_of({.heads = 2, .head_dim = 64, .dropout_p = 0.2f, .seed = 5},
                                      grid, order, counted_first_along(1, order));
  const PatternRun made("volta-fp32acc", problem);
  const EmulationOptions options{.profile = &arithmetic_profile("volta")};
  Passes all = run(made, true), some = all;
  const SampleTile tile = {1, 1, 0};
  std::fill(some.o.begin(), some.o.end(), Half{0});
  std::fill(some.dq.begin(), some.dq.end(), Half{0});
  std::fill(some.dk.begin(), some.dk.end(), Half{0});
  expect_clean(made.kernel().forward.emulate(problem, made.forward(some), options, {&tile, 1}));
  some.o = all.o;
  some.lse = all.lse;
  Passes forward = all;
  forward.o.assign(all.o.size(), Half{0});
  expect_clean(made.kernel().forward.emulate(problem, made.forward(forward), options, {&tile, 1}));
  expect_clean(made.kernel().backward.emulate(problem, made.backward(some), options, true,
                                              {{tile}, {tile}}));
  for (int token = kSampleRows; token < 2 * kSampleRows; ++token) {
    const std::size_t at = row_offset(0, token, 1, problem.seqlen_q, problem.heads, 64);
    for (std::size_t i = at; i < at + 64; ++i) {
      ASSERT_EQ(forward.o[i].bits, all.o[i].bits) << token;
      ASSERT_EQ(some.dq[i].bits, all.dq[i].bits) << token;
      ASSERT_EQ(some.dk[i].bits, all.dk[i].bits) << token;
    }
  }
}

/// The masks that people ask for are walked so.
TEST(VoltaOrder, IsTakenForNeighbourhoods) {
  for (const auto& [spec, seqlen] :
       {std::pair{"nd:56x56:7x7", 3136}, {"nd:64x64:20x20", 4096}, {"nd:10x16x16:6x8x8", 2560}}) {
    const auto mask = make_sparse_mask(spec, seqlen, seqlen);
    ASSERT_NE(mask->in_order, nullptr) << spec;
    EXPECT_TRUE(mask->passes.empty()) << spec;
  }
}

}  // namespace
}  // namespace sparkbench
