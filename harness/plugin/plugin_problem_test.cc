#include "harness/plugin/plugin_problem.h"

#include <gtest/gtest.h>

#include "harness/plugin/test_problem.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

sparkbench_problem asked(const Problem& problem, Pass pass = Pass::kForward,
                         const TensorFormat& format = {}) {
  return *PluginProblem(problem, format, pass, false, {}).get();
}

TEST(PluginProblem, HasEveryField) {
  Problem problem = small_problem();
  problem.dropout_p = 0.1f;
  problem.seed = 77;
  problem.dropout_offset = std::uint64_t{5} << 40;
  const PluginProblem made(problem, {}, Pass::kForwardBackward, true, {SPARKBENCH_CUDA, 90, 3});
  const sparkbench_problem& c = *made.get();
  EXPECT_EQ(c.struct_bytes, sizeof c);
  EXPECT_EQ(c.backend, SPARKBENCH_CUDA);
  EXPECT_EQ(c.sm, 90);
  EXPECT_EQ(c.device, 3);
  EXPECT_EQ(c.dtype, SPARKBENCH_FP16);
  EXPECT_EQ(c.pass, SPARKBENCH_FORWARD_BACKWARD);
  EXPECT_EQ(c.deterministic, 1);
  EXPECT_EQ(c.batch, 2);
  EXPECT_EQ(c.heads, 6);
  EXPECT_EQ(c.heads_k, 2);
  EXPECT_EQ(c.seqlen_q, 5);
  EXPECT_EQ(c.seqlen_k, 9);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.softmax_scale, 0.25f);
  EXPECT_EQ(c.dropout_p, 26.0f / 256);
  EXPECT_EQ(c.dropout_scale, 256.0f / 230);
  EXPECT_EQ(c.seed, 77u);
  EXPECT_EQ(c.dropout_offset, std::uint64_t{5} << 40);
  EXPECT_EQ(c.cu_seqlens_q, nullptr);
  EXPECT_EQ(c.total_q, 10);
  EXPECT_EQ(c.total_k, 18);
  EXPECT_EQ(asked(small_problem()).heads_k, 2);
  problem.heads_k = 0;
  EXPECT_EQ(asked(problem).heads_k, 6);
  EXPECT_EQ(asked(problem, Pass::kBackward).pass, SPARKBENCH_BACKWARD);
  EXPECT_EQ(asked(problem, Pass::kForward, {.element = ElementType::kBf16}).dtype, SPARKBENCH_BF16);
  EXPECT_EQ(asked(problem).layout, SPARKBENCH_BSHD);
  const auto layout_of = [&](TensorLayout layout) {
    return asked(problem, Pass::kForward, {ElementType::kFp16, layout}).layout;
  };
  EXPECT_EQ(layout_of(TensorLayout::kBhsd), SPARKBENCH_BHSD);
  EXPECT_EQ(layout_of(TensorLayout::kQkvPacked), SPARKBENCH_QKV_PACKED);
  EXPECT_EQ(layout_of(TensorLayout::kKBhsd), SPARKBENCH_K_BHSD);
}

TEST(PluginProblem, HasTheHostsBackendWithoutAGpu) {
  EXPECT_EQ(asked(small_problem()).backend, SPARKBENCH_HOST);
  EXPECT_EQ(asked(small_problem()).sm, 0);
  EXPECT_EQ(asked(small_problem()).device, -1);
}

TEST(PluginProblem, HasEachMaskAsBounds) {
  struct Expected {
    MaskSpec mask;
    int32_t kind, left, right, prefix;
    const char* text;
  };
  const Expected cases[] = {
      {MaskSpec::full(), SPARKBENCH_MASK_FULL, -1, -1, 0, "full"},
      {MaskSpec::causal(), SPARKBENCH_MASK_BAND, -1, 0, 0, "causal"},
      {MaskSpec::window(3), SPARKBENCH_MASK_BAND, 2, 0, 0, "window:3"},
      {MaskSpec::band(2, 1), SPARKBENCH_MASK_BAND, 2, 1, 0, "band:2:1"},
      {MaskSpec::prefix(4), SPARKBENCH_MASK_PREFIX, -1, -1, 4, "prefix:4"},
  };
  for (const auto& [mask, kind, left, right, prefix, text] : cases) {
    Problem problem = small_problem();
    problem.mask = mask;
    const PluginProblem made(problem, {}, Pass::kForward, false, {});
    const sparkbench_problem& c = *made.get();
    EXPECT_EQ(c.mask_kind, kind) << text;
    EXPECT_EQ(c.mask_left, left) << text;
    EXPECT_EQ(c.mask_right, right) << text;
    EXPECT_EQ(c.mask_prefix, prefix) << text;
    EXPECT_STREQ(c.mask, text);
    for (int q = 0; q < problem.seqlen_q; ++q) {
      for (int k = 0; k < problem.seqlen_k; ++k) {
        const int p = q + problem.seqlen_k - problem.seqlen_q;
        const bool in_band = (left < 0 || k >= p - left) && (right < 0 || k <= p + right);
        const bool is_seen = kind == SPARKBENCH_MASK_PREFIX ? k <= p || k < prefix : in_band;
        EXPECT_EQ(c.sees(c.mask_context, 1, 5, q, k), is_seen) << text << " " << q << " " << k;
      }
    }
    EXPECT_EQ(c.sees(c.mask_context, 0, 0, 5, 0), 0) << "beyond the last row";
    EXPECT_EQ(c.sees(c.mask_context, 0, 0, 0, -1), 0);
    EXPECT_EQ(c.sees(c.mask_context, 2, 0, 0, 0), 0);
  }
}

TEST(PluginProblem, HasAPatternByEachHead) {
  Problem problem = small_problem();
  problem.seqlen_q = problem.seqlen_k = 12;
  problem.sparse = make_sparse_mask("strided:3/full", 12, 12, problem.heads);
  const PluginProblem made(problem, {}, Pass::kForward, false, {});
  const sparkbench_problem& c = *made.get();
  EXPECT_EQ(c.mask_kind, SPARKBENCH_MASK_PATTERN);
  EXPECT_STREQ(c.mask, "strided:3/full");
  int seen[2] = {};
  for (int q = 0; q < 12; ++q) {
    for (int k = 0; k < 12; ++k) {
      for (const int head : {0, 1}) {
        const bool expected = sees(problem.sparse->pattern, head, q, k);
        EXPECT_EQ(c.sees(c.mask_context, 0, head, q, k), expected);
        seen[head] += expected;
      }
    }
  }
  EXPECT_LT(seen[0], seen[1]);
}

TEST(PluginProblem, HasTheLengthsOfEachSequence) {
  Problem problem = small_problem();
  problem.mask = MaskSpec::causal();
  problem = with_lengths(problem, std::make_shared<SequenceLengths>(
                                      std::vector<SequenceLength>{{3, 4}, {0, 2}, {5, 5}}));
  const PluginProblem made(problem, {}, Pass::kForward, false, {});
  const sparkbench_problem& c = *made.get();
  EXPECT_EQ(c.batch, 3);
  EXPECT_EQ(c.seqlen_q, 5);
  EXPECT_EQ(c.seqlen_k, 5);
  EXPECT_EQ(c.total_q, 8);
  EXPECT_EQ(c.total_k, 11);
  EXPECT_EQ(std::vector<int>(c.cu_seqlens_q, c.cu_seqlens_q + 4), (std::vector<int>{0, 3, 3, 8}));
  EXPECT_EQ(std::vector<int>(c.cu_seqlens_k, c.cu_seqlens_k + 4), (std::vector<int>{0, 4, 6, 11}));
  EXPECT_EQ(c.sees(c.mask_context, 0, 0, 0, 1), 1);  // of 3 rows and 4 keys
  EXPECT_EQ(c.sees(c.mask_context, 0, 0, 0, 2), 0);
  EXPECT_EQ(c.sees(c.mask_context, 1, 0, 0, 0), 0);  // without rows
  EXPECT_EQ(c.sees(c.mask_context, 2, 0, 0, 1), 0);
  EXPECT_EQ(c.sees(c.mask_context, 2, 0, 1, 1), 1);
}

/// Whether sees_keys() says of each row what sees() says of each of its keys.
void expect_same_of_rows(const sparkbench_problem& c, int sequence, int rows, int keys) {
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(keys) + 1, 7);
  for (int head = 0; head < c.heads; ++head) {
    for (int q = 0; q < rows; ++q) {
      c.sees_keys(c.mask_context, sequence, head, q, seen.data());
      for (int k = 0; k < keys; ++k) {
        EXPECT_EQ(seen[static_cast<std::size_t>(k)], c.sees(c.mask_context, sequence, head, q, k));
      }
      EXPECT_EQ(seen.back(), 7) << "beyond the last key";
    }
  }
}

TEST(PluginProblem, SaysWhatARowSeesAtOnce) {
  Problem problem = small_problem();
  problem.mask = MaskSpec::band(2, 1);
  const PluginProblem band(problem, {}, Pass::kForward, false, {});
  EXPECT_EQ(band.get()->mask_per_head, 0);
  expect_same_of_rows(*band.get(), 1, problem.seqlen_q, problem.seqlen_k);
  problem.mask = MaskSpec::full();
  problem.seqlen_q = problem.seqlen_k = 70;
  problem.sparse = make_sparse_mask("strided:3/full", 70, 70, problem.heads);
  const PluginProblem pattern(problem, {}, Pass::kForward, false, {});
  EXPECT_EQ(pattern.get()->mask_per_head, 1);
  expect_same_of_rows(*pattern.get(), 0, 70, 70);
  Problem lengths = small_problem();
  lengths.mask = MaskSpec::causal();
  lengths = with_lengths(lengths, std::make_shared<SequenceLengths>(
                                      std::vector<SequenceLength>{{3, 4}, {0, 2}, {5, 5}}));
  const PluginProblem varlen(lengths, {}, Pass::kForward, false, {});
  expect_same_of_rows(*varlen.get(), 0, 3, 4);
  expect_same_of_rows(*varlen.get(), 2, 5, 5);
}

TEST(PluginProblem, HasALayerAroundItsAttention) {
  const LayerShape shape{.hidden = 96, .ffn = 7, .norm = NormPlace::kPre, .rest = Rest::kFused};
  const PluginProblem made(small_problem(), {}, Pass::kForward, false, {}, &shape);
  const sparkbench_layer& layer = *made.get()->layer;
  EXPECT_EQ(layer.struct_bytes, sizeof layer);
  EXPECT_EQ(layer.hidden, 96);
  EXPECT_EQ(layer.ffn, 7);
  EXPECT_EQ(layer.activation, SPARKBENCH_GELU_TANH);
  EXPECT_EQ(layer.is_pre_norm, 1);
  EXPECT_EQ(layer.has_bias, 1);
  EXPECT_EQ(layer.rest_is_fused, 1);
  EXPECT_EQ(asked(small_problem()).layer, nullptr);
}

TEST(OwnOutputs, AreCopiedInTheOrderOfAContiguousTensor) {
  constexpr TensorShape kShape{2, 3, 2, 4};
  std::vector<Half> heads_first(elements_of(kShape));
  const TensorView<Half> view{heads_first.data(), 2 * 3 * 4, 4, 3 * 4};
  std::uint16_t number = 0;
  for_each_row(kShape, [&](int b, int s, int h) {
    for (int d = 0; d < kShape.head_dim; ++d) view.row(b, s, h)[d].bits = number++;
  });
  EXPECT_TRUE(is_dense(view, kShape));
  const std::vector<Half> copy = contiguous_copy(view, kShape);
  for (std::uint16_t i = 0; i < number; ++i) EXPECT_EQ(copy[i].bits, i);
  const TensorView<Half> part_of_more{heads_first.data(), 3 * 2 * 8, 2 * 8, 8};
  EXPECT_FALSE(is_dense(part_of_more, kShape));
  EXPECT_EQ(span_bytes(part_of_more, kShape), (11u * 8 + 4) * sizeof(Half));
  EXPECT_EQ(span_bytes(part_of_more, {0, 3, 2, 4}), 0u);
}

}  // namespace
}  // namespace sparkbench
