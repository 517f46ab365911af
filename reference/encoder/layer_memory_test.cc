#include "reference/encoder/layer_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "reference/encoder/test_layer_steps.h"

namespace sparkbench {
namespace {

TEST(LayerMemory, OfInferenceIsThatOfTheWidestStep) {
  const std::uint64_t pass = kTokens * kHidden * 2;
  const auto steps = layer_steps(shape_with(Rest::kFused), problem_with(0), Pass::kForward);
  // The input stays; h is the residual; with G, four times as wide, F is written.
  EXPECT_EQ(peak_bytes_over_weights(steps, {}), (1 + 1 + 4 + 1) * pass);
  // With workspace enough the attention's: x, q, k, v, o, lse.
  const std::uint64_t workspace = 100 * pass;
  EXPECT_EQ(peak_bytes_over_weights(steps, {.forward = workspace}),
            5 * pass + 4 * kTokens * sizeof(float) + workspace);
}

TEST(LayerMemory, OfTrainingHoldsWhatIsKept) {
  const auto steps =
      layer_steps(shape_with(Rest::kFused), problem_with(0.1f), Pass::kForwardBackward);
  const std::uint64_t without = peak_bytes_over_weights(steps, {});
  EXPECT_EQ(peak_bytes_over_weights(steps, {.kept = 1000}), without + 1000);
  const auto unfused =
      layer_steps(shape_with(Rest::kUnfused), problem_with(0.1f), Pass::kForwardBackward);
  EXPECT_GT(peak_bytes_over_weights(unfused, {}), without);
}

TEST(LayerPlaces, HoldNoTwoTensorsInOnePlaceAtOnce) {
  for (const Rest rest : {Rest::kUnfused, Rest::kFused}) {
    for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
      for (const Pass pass : {Pass::kForward, Pass::kForwardBackward}) {
        const auto steps = layer_steps(shape_with(rest, norm), problem_with(0.1f), pass);
        const auto lives = tensor_lives(steps);
        const LayerPlaces places = place_tensors(lives);
        for (const auto& [name, life] : lives) {
          const std::uint64_t begin = places.offset.at(name);
          EXPECT_EQ(begin % 256, 0u);
          EXPECT_LE(begin + life.bytes, places.bytes);
          for (const auto& [other, other_life] : lives) {
            const std::uint64_t other_begin = places.offset.at(other);
            const bool at_once = life.first <= other_life.last && other_life.first <= life.last;
            const bool in_one_place =
                begin < other_begin + other_life.bytes && other_begin < begin + life.bytes;
            EXPECT_FALSE(name != other && at_once && in_one_place) << name << " and " << other;
          }
        }
        const std::uint64_t peak = peak_bytes_over_weights(steps, {});
        EXPECT_GE(places.bytes, peak);
        EXPECT_LE(static_cast<double>(places.bytes), 1.25 * static_cast<double>(peak));
      }
    }
  }
}

TEST(TensorLives, KeepWhatAPassBeginsWithToItsEnd) {
  const auto steps =
      layer_steps(shape_with(Rest::kFused), problem_with(0.1f), Pass::kForwardBackward);
  const auto lives = tensor_lives(steps);
  for (const char* name : {"x", "dy"}) {
    EXPECT_EQ(lives.at(name).first, 0u);
    EXPECT_EQ(lives.at(name).last, steps.size());
  }
  EXPECT_EQ(lives.at("dW1").last, steps.size());
  EXPECT_GT(lives.at("a").first, 0u);
  EXPECT_LT(lives.at("a").last, steps.size());
}

}  // namespace
}  // namespace sparkbench
