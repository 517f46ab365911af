// The fp64 layer's gradients against finite differences of its own forward pass.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kernels/mask/pattern/sparse_mask.h"
#include "reference/encoder/layer_passes.h"

namespace sparkbench {
namespace {

Problem small_problem(float dropout_p) {
  Problem problem;
  problem.heads = 2;
  problem.seqlen_q = problem.seqlen_k = 5;
  problem.head_dim = 8;
  problem.mask = MaskSpec::causal();
  problem.dropout_p = dropout_p;
  problem.seed = 7;
  return problem;
}

LayerShape small_shape(Activation activation, NormPlace norm) {
  return {.hidden = 16, .ffn = 24, .activation = activation, .norm = norm};
}

using Exact = LayerStages<ExactMath>;

Problem packed_problem(float dropout_p) {
  return with_lengths(
      small_problem(dropout_p),
      std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{{2, 2}, {0, 0}, {3, 3}}));
}

/// sum(y d_y) of the layer: the function that is differentiated.
class Loss {
 public:
  Loss(const LayerShape& shape, const Problem& problem)
      : shape_(shape),
        problem_(problem),
        tensors_(make_layer_tensors(shape, 5, 3)),
        stages_({}, shape, problem, tensors_.weights),
        x_(matrix_of<double>(tensors_.x, 5, 16)),
        d_y_(matrix_of<double>(tensors_.d_y, 5, 16)) {}

  std::map<std::string, Matrix<double>> gradients() const {
    const LayerValues<double> values = layer_forward(stages_, x_, {0, 5}, attention_);
    std::map<std::string, Matrix<double>> all;
    for (auto& [name, gradient] :
         LayerBackward<ExactMath>(stages_, x_, values, attention_).run(d_y_)) {
      all[std::string(name)] = gradient;
    }
    return all;
  }

  /// The derivative by element `index` of tensor `of`.
  double slope(const std::string& of, std::size_t index) {
    constexpr double kStep = 1e-5;
    double& value = parameter(of).values.at(index);
    const double before = value;
    value = before + kStep;
    const double above = loss();
    value = before - kStep;
    const double below = loss();
    value = before;
    return (above - below) / (2 * kStep);
  }

 private:
  Matrix<double>& parameter(const std::string& of) {
    const std::map<std::string, Matrix<double>*> all = {{"dx", &x_},
                                                        {"dWqkv", &stages_.w_qkv},
                                                        {"dbqkv", &stages_.b_qkv},
                                                        {"dWo", &stages_.w_o},
                                                        {"dbo", &stages_.b_o},
                                                        {"dW1", &stages_.w_1},
                                                        {"db1", &stages_.b_1},
                                                        {"dW2", &stages_.w_2},
                                                        {"db2", &stages_.b_2},
                                                        {"dgamma1", &stages_.gamma[0]},
                                                        {"dbeta1", &stages_.beta[0]},
                                                        {"dgamma2", &stages_.gamma[1]},
                                                        {"dbeta2", &stages_.beta[1]}};
    return *all.at(of);
  }
  double loss() const {
    const LayerValues<double> values = layer_forward(stages_, x_, {0, 5}, attention_);
    double sum = 0;
    for (std::size_t i = 0; i < d_y_.values.size(); ++i) {
      sum += d_y_.values[i] * values.y(shape_.norm).values[i];
    }
    return sum;
  }

  LayerShape shape_;
  Problem problem_;
  LayerTensors tensors_;
  Exact stages_;
  Matrix<double> x_, d_y_;
  AttentionFunctions<double> attention_ = exact_attention(problem_);
};

void expect_gradients_of_slopes(Loss loss, const std::string& of) {
  const auto gradients = loss.gradients();
  EXPECT_EQ(gradients.size(), 13u);
  for (const auto& [name, gradient] : gradients) {
    for (std::size_t i = 0; i < gradient.values.size(); i += 7) {
      EXPECT_NEAR(gradient.values[i], loss.slope(name, i), 2e-6) << name << " " << i << " " << of;
    }
  }
}

TEST(ExactLayer, HasTheGradientsOfItsForwardPass) {
  for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
    for (const Activation activation :
         {Activation::kGeluTanh, Activation::kGeluErf, Activation::kRelu}) {
      expect_gradients_of_slopes({small_shape(activation, norm), small_problem(0.25f)},
                                 std::string(name_of(norm)) + std::string(name_of(activation)));
    }
  }
}

TEST(ExactLayer, HasThemOfPackedSequencesAndOfPatterns) {
  const LayerShape shape = small_shape(Activation::kGeluTanh, NormPlace::kPost);
  expect_gradients_of_slopes({shape, packed_problem(0.25f)}, "packed");
  Problem problem = small_problem(0.25f);
  problem.mask = MaskSpec::full();
  problem.sparse = make_sparse_mask("strided:2/full", 5, 5);
  expect_gradients_of_slopes({shape, problem}, "pattern");
}

TEST(ExactLayer, KnowsNoTokensOfOtherSequences) {
  const LayerShape shape = small_shape(Activation::kGeluTanh, NormPlace::kPre);
  const Problem packed = packed_problem(0);
  LayerTensors tensors = make_layer_tensors(shape, 5, 3);
  const Exact stages({}, shape, packed, tensors.weights);
  const auto output_of = [&](const Problem& problem, std::size_t first, std::size_t count) {
    const auto x = rows_from(matrix_of<double>(tensors.x, 5, 16), first, count);
    return layer_forward(stages, x, {0, count}, exact_attention(problem)).y(shape.norm).values;
  };
  std::vector<double> alone = output_of(packed.alone(0), 0, 2);
  const std::vector<double> last = output_of(packed.alone(2), 2, 3);
  alone.insert(alone.end(), last.begin(), last.end());
  EXPECT_EQ(output_of(packed, 0, 5), alone);
}

TEST(ExactLayer, DropsByTheLayersOwnMask) {
  const Dropout dropout = small_problem(0.25f).dropout();
  std::size_t kept = 0, like_the_attention = 0, like_the_other = 0;
  for (std::uint32_t row = 0; row < 64; ++row) {
    for (std::uint32_t column = 0; column < 64; ++column) {
      const bool keeps = layer_keeps(dropout, DropoutSite::kFirst, row, column);
      kept += keeps;
      like_the_attention += keeps == dropout_keeps(dropout, 0, row, column);
      like_the_other += keeps == layer_keeps(dropout, DropoutSite::kSecond, row, column);
    }
  }
  EXPECT_NEAR(static_cast<double>(kept) / 4096, 0.75, 0.03);
  EXPECT_NEAR(static_cast<double>(like_the_attention) / 4096, 0.625, 0.04);  // agreement by chance
  EXPECT_NEAR(static_cast<double>(like_the_other) / 4096, 0.625, 0.04);
}

}  // namespace
}  // namespace sparkbench
