#include "reference/encoder/layer_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "kernels/mask/pattern/sparse_mask.h"
#include "reference/encoder/test_layer_steps.h"

namespace sparkbench {
namespace {

std::uint64_t flops_of(const std::vector<LayerStep>& steps, StepKind kind) {
  std::uint64_t flops = 0;
  for (const LayerStep& step : steps) flops += step.kind == kind ? step.flops : 0;
  return flops;
}

std::vector<std::string> names_of(const std::vector<LayerStep>& steps) {
  std::vector<std::string> names;
  for (const LayerStep& step : steps) {
    names.push_back(std::string(name_of(step.stage)) + " " + std::string(step.name));
  }
  return names;
}

TEST(LayerSteps, OfAFusedLayerAreOneAStage) {
  const auto steps = layer_steps(shape_with(Rest::kFused), problem_with(0.1f), Pass::kForward);
  std::vector<Stage> stages;
  for (const LayerStep& step : steps) stages.push_back(step.stage);
  EXPECT_EQ(stages, std::vector<Stage>(kStages.begin(), kStages.end()));
}

TEST(LayerSteps, ComeInTheOrderOfTheStages) {
  for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
    const auto order = stages_in_order(norm);
    std::vector<Stage> stages;
    for (const LayerStep& step :
         layer_steps(shape_with(Rest::kUnfused, norm), problem_with(0.1f), Pass::kForward)) {
      if (stages.empty() || stages.back() != step.stage) stages.push_back(step.stage);
    }
    EXPECT_EQ(stages, std::vector<Stage>(order.begin(), order.end())) << name_of(norm);
  }
}

TEST(LayerSteps, OfAnUnfusedLayerAreOneAnOperation) {
  const auto names =
      names_of(layer_steps(shape_with(Rest::kUnfused), problem_with(0.1f), Pass::kForward));
  EXPECT_EQ(names, std::vector<std::string>(
                       {"qkv Q, K, V = x Wqkv", "qkv bias", "mha attention", "proj A = O Wo",
                        "proj bias", "ln1 dropout", "ln1 residual", "ln1 LayerNorm", "ff1 U = H W1",
                        "ff1 bias", "ff1 activation", "ff2 F = G W2", "ff2 bias", "ln2 dropout",
                        "ln2 residual", "ln2 LayerNorm"}));
}

TEST(LayerSteps, LeaveOutWhatThereIsNot) {
  const auto names = names_of(layer_steps(shape_with(Rest::kUnfused, NormPlace::kPost, false),
                                          problem_with(0), Pass::kForwardBackward));
  for (const std::string& name : names) {
    EXPECT_EQ(name.find("bias"), std::string::npos) << name;
    EXPECT_EQ(name.find("dropout"), std::string::npos) << name;
  }
}

TEST(LayerSteps, HaveTheProductsOfTheDefinition) {
  const std::uint64_t of_pass = 2 * kTokens * (4 * kHidden * kHidden + 2 * kHidden * kFfn);
  for (const Rest rest : {Rest::kUnfused, Rest::kFused}) {
    for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
      const auto count = [&](Pass pass) {
        return flops_of(layer_steps(shape_with(rest, norm), problem_with(0.1f), pass),
                        StepKind::kProduct);
      };
      EXPECT_EQ(count(Pass::kForward), of_pass);
      EXPECT_EQ(count(Pass::kBackward), 2 * of_pass);
      EXPECT_EQ(count(Pass::kForwardBackward), 3 * of_pass);
    }
  }
}

TEST(LayerSteps, CreditACausalAttentionWithHalf) {
  const std::uint64_t full = attention_flops(problem_with(0), false);
  EXPECT_EQ(full, 4u * 4 * 4 * 128 * 128 * 64);
  EXPECT_EQ(attention_flops(problem_with(0, MaskSpec::causal()), false), full / 2);
  EXPECT_EQ(attention_flops(problem_with(0), true), full / 2 * 5);
}

Problem packed_problem(std::vector<SequenceLength> lengths) {
  return with_lengths(problem_with(0, MaskSpec::causal()),
                      std::make_shared<const SequenceLengths>(std::move(lengths)));
}

TEST(LayerSteps, OfPackedSequencesAreOfTheTokensOfAll) {
  const Problem packed = packed_problem({{100, 100}, {0, 0}, {12, 12}, {400, 400}});
  EXPECT_EQ(attention_flops(packed, false), 2u * 4 * (100 * 100 + 12 * 12 + 400 * 400) * 64);
  const auto of_packed = layer_steps(shape_with(Rest::kFused), packed, Pass::kForwardBackward);
  const auto of_alike =
      layer_steps(shape_with(Rest::kFused), problem_with(0), Pass::kForwardBackward);
  ASSERT_EQ(of_packed.size(), of_alike.size());  // both of 512 tokens
  for (std::size_t i = 0; i < of_alike.size(); ++i) {
    EXPECT_EQ(of_packed[i].bytes(), of_alike[i].bytes()) << of_alike[i].name;
    if (of_alike[i].kind == StepKind::kAttention) continue;
    EXPECT_EQ(of_packed[i].flops, of_alike[i].flops) << of_alike[i].name;
  }
}

TEST(LayerSteps, CreditAPatternWithWhatIsVisible) {
  Problem problem = problem_with(0);
  problem.sparse = std::make_shared<const SparseMask>(SparseMask{"", {}, {1000, 20}});
  EXPECT_EQ(attention_flops(problem, false), 4u * 4 * (2 * 1000 + 2 * 20) * 64);
}

TEST(LayerSteps, ReadNothingThatNobodyWrote) {
  for (const Rest rest : {Rest::kUnfused, Rest::kFused}) {
    for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
      for (const float dropout_p : {0.0f, 0.1f}) {
        std::set<std::string> there = {"x", "dy"};
        for (const LayerStep& step :
             layer_steps(shape_with(rest, norm), problem_with(dropout_p), Pass::kForwardBackward)) {
          for (const LayerTensor& tensor : step.reads) {
            EXPECT_TRUE(tensor.is_weight || there.contains(tensor.name))
                << step.name << " reads " << tensor.name;
          }
          for (const LayerTensor& tensor : step.writes) there.insert(tensor.name);
        }
        EXPECT_TRUE(there.contains("y") && there.contains("dx"));
      }
    }
  }
}

TEST(LayerSteps, MoveFewerBytesFused) {
  std::map<Rest, std::uint64_t> passes;  // over [tokens, hidden], of what is no product
  for (const Rest rest : {Rest::kUnfused, Rest::kFused}) {
    for (const LayerStep& step :
         layer_steps(shape_with(rest), problem_with(0.1f), Pass::kForward)) {
      if (step.kind == StepKind::kRows) passes[rest] += step.bytes() / (kTokens * kHidden * 2);
    }
  }
  EXPECT_EQ(passes[Rest::kFused], 6u);
  EXPECT_EQ(passes[Rest::kUnfused], 40u);
}

TEST(LayerSteps, HaveWeightsOfTheirBytes) {
  EXPECT_EQ(weight_bytes(shape_with(Rest::kFused)),
            2 * (4 * kHidden * kHidden + 2 * kHidden * kFfn + 9 * kHidden + kFfn));
}

TEST(LayerShape, RefusesAnotherAttention) {
  const LayerShape shape = shape_with(Rest::kFused);
  EXPECT_EQ(why_no_layer(shape, problem_with(0)), "");
  Problem problem = problem_with(0);
  problem.seqlen_k = 64;
  EXPECT_EQ(why_no_layer(shape, problem), "it has other keys than rows");
  EXPECT_EQ(why_no_layer(shape, packed_problem({{0, 0}, {7, 7}})), "");
  EXPECT_EQ(why_no_layer(shape, packed_problem({{7, 7}, {7, 8}})), "it has other keys than rows");
  problem = problem_with(0);
  problem.heads_k = 2;
  EXPECT_EQ(why_no_layer(shape, problem), "its heads share keys");
  problem = problem_with(0);
  problem.heads = 3;
  EXPECT_THROW(layer_steps(shape, problem, Pass::kForward), std::invalid_argument);
}

TEST(LayerShape, HasNamesThatReadBack) {
  for (const char* name : {"gelu-tanh", "gelu-erf", "relu"}) {
    Activation activation{};
    parse_name(name, activation);
    EXPECT_EQ(name_of(activation), name);
  }
  Rest rest{};
  EXPECT_THROW(parse_name("some", rest), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
