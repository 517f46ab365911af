#include "reference/inputs/inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

#include "kernels/base/philox.h"
#include "reference/parallel.h"

namespace sparkbench {
namespace {

constexpr int kRounds = 10;
constexpr int kChannelsPerOutlier = 32;
constexpr std::uint32_t kNoBatch = 0xffffffffu;  // a batch index that no tensor has

using Four = std::array<float, 4>;

/// The random words of channels 4 * quad ... 4 * quad + 3 of row (batch, s, head).
PhiloxBlock random_words(const InputStream& stream, std::uint32_t batch, std::uint32_t s,
                         std::uint32_t head, std::uint32_t quad) {
  const std::uint32_t tensor = static_cast<std::uint32_t>(stream.tensor) << 24;
  return philox4x32<kRounds>({{tensor | quad, s, head, batch}}, philox_key(stream.seed));
}

/// Box-Muller transform of two words to two normal numbers. Computed in fp64, so that differences
/// between platforms in the last place of log and cos do not reach the fp16 result.
void box_muller(std::uint32_t radius_word, std::uint32_t angle_word, float* normal) {
  const double uniform = (radius_word + 1.0) * 0x1p-32;  // (0, 1]
  const double radius = std::sqrt(-2.0 * std::log(uniform));
  const double angle = 2.0 * std::numbers::pi * 0x1p-32 * angle_word;
  normal[0] = static_cast<float>(radius * std::cos(angle));
  normal[1] = static_cast<float>(radius * std::sin(angle));
}

Four normal_four(const PhiloxBlock& random) {
  Four four;
  box_muller(random.word[0], random.word[1], &four[0]);
  box_muller(random.word[2], random.word[3], &four[2]);
  return four;
}

Four uniform_four(const PhiloxBlock& random) {
  Four four;
  for (std::size_t i = 0; i < 4; ++i) {
    four[i] = static_cast<float>(static_cast<std::int32_t>(random.word[i])) * 0x1p-31f;
  }
  return four;
}

/// The scale of every channel of a head.
std::vector<float> channel_scales(const InputStream& stream, int head, int head_dim) {
  std::vector<float> scales(static_cast<std::size_t>(head_dim), stream.scale);
  if (stream.distribution != Distribution::kOutliers) return scales;
  for (int begin = 0; begin < head_dim; begin += kChannelsPerOutlier) {
    const PhiloxBlock random =
        random_words(stream, kNoBatch, 0, static_cast<std::uint32_t>(head),
                     static_cast<std::uint32_t>(begin / kChannelsPerOutlier));
    const int channel = begin + static_cast<int>(random.word[0] % kChannelsPerOutlier);
    if (channel < head_dim) scales[static_cast<std::size_t>(channel)] *= kOutlierScale;
  }
  return scales;
}

/// Writes row (batch, s, head) to `row`, multiplied by the head's channel scales.
void fill_row(const InputStream& stream, const std::array<int, 3>& batch_s_head,
              std::span<const float> scales, std::span<Half> row) {
  const auto [batch, s, head] = batch_s_head;
  for (std::size_t begin = 0; begin < row.size(); begin += 4) {
    const PhiloxBlock random =
        random_words(stream, static_cast<std::uint32_t>(batch), static_cast<std::uint32_t>(s),
                     static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(begin / 4));
    const Four four =
        stream.distribution == Distribution::kUniform ? uniform_four(random) : normal_four(random);
    const std::size_t channels = std::min<std::size_t>(4, row.size() - begin);
    for (std::size_t i = 0; i < channels; ++i) {
      row[begin + i] = to_input(stream.element, four[i] * scales[begin + i]);
    }
  }
}

}  // namespace

std::vector<Half> make_input(const InputStream& stream, const TensorShape& shape) {
  const auto heads = static_cast<std::size_t>(shape.heads);
  const auto head_dim = static_cast<std::size_t>(shape.head_dim);
  std::vector<std::vector<float>> scales;
  scales.reserve(heads);
  for (int head = 0; head < shape.heads; ++head) {
    scales.push_back(channel_scales(stream, head, shape.head_dim));
  }
  const std::size_t tokens = shape.tokens();
  std::vector<Half> tensor(tokens * heads * head_dim);
  parallel_for(tokens, [&](std::size_t token) {
    const int batch = sequence_of_token(shape, token);
    const int s = static_cast<int>(token - shape.tokens_before(batch));
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t offset = (token * heads + head) * head_dim;
      fill_row(stream, {batch, s, static_cast<int>(head)}, scales[head],
               std::span(tensor).subspan(offset, head_dim));
    }
  });
  return tensor;
}

std::vector<Half> make_input_head(const InputStream& stream, const TensorShape& shape, int batch,
                                  int head) {
  const auto head_dim = static_cast<std::size_t>(shape.head_dim);
  const std::vector<float> scales = channel_scales(stream, head, shape.head_dim);
  const auto seqlen = static_cast<std::size_t>(shape.seqlen_of(batch));
  std::vector<Half> slice(seqlen * head_dim);
  parallel_for(seqlen, [&](std::size_t s) {
    fill_row(stream, {batch, static_cast<int>(s), head}, scales,
             std::span(slice).subspan(s * head_dim, head_dim));
  });
  return slice;
}

OwnedInputs make_inputs(const Problem& problem, Distribution distribution, std::uint64_t seed,
                        float scale, ElementType element) {
  const auto make = [&](InputTensor tensor, const TensorShape& shape) {
    return make_input({distribution, seed, tensor, scale, element}, shape);
  };
  return {make(InputTensor::kQ, query_shape(problem)), make(InputTensor::kK, key_shape(problem)),
          make(InputTensor::kV, key_shape(problem))};
}

std::vector<Half> make_gradient_input(const Problem& problem, Distribution distribution,
                                      std::uint64_t seed, ElementType element) {
  return make_input({distribution, seed, InputTensor::kDO, 1.0f, element}, query_shape(problem));
}

bool all_finite(std::span<const Half> tensor) {
  return std::none_of(tensor.begin(), tensor.end(),
                      [](Half element) { return (element.bits & 0x7c00u) == 0x7c00u; });
}

}  // namespace sparkbench
