#include "reference/encoder/layer_memory.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/base/round_up.h"
#include "kernels/base/saturating.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kAlignment = 256;

/// The layer's output, and gradients that others wait for.
bool is_result(std::string_view name) {
  return name == "y" || name == "dx" || name.starts_with("dW") || name.starts_with("dnorm") ||
         name.starts_with("dbias");
}

/// A tensor with its range of bytes.
struct Placed {
  TensorLife life;
  std::uint64_t begin = 0, end = 0;
};

bool overlap(const TensorLife& a, const TensorLife& b) {
  return a.first <= b.last && b.first <= a.last;
}

std::uint64_t lowest_place(const std::vector<Placed>& placed, const TensorLife& life,
                           std::uint64_t bytes) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  taken.reserve(placed.size());
  for (const Placed& other : placed) {
    if (overlap(other.life, life)) taken.emplace_back(other.begin, other.end);
  }
  std::sort(taken.begin(), taken.end());
  std::uint64_t place = 0;
  for (const auto& [begin, end] : taken) {
    if (begin >= place + bytes) break;
    place = std::max(place, end);
  }
  return place;
}

}  // namespace

std::map<std::string, TensorLife> tensor_lives(const std::vector<LayerStep>& steps) {
  std::map<std::string, TensorLife> lives;
  const auto use = [&](const LayerTensor& tensor, std::size_t step, bool is_written) {
    if (tensor.is_weight) return;
    const auto [life, is_new] = lives.emplace(tensor.name, TensorLife{step, step, tensor.bytes});
    const bool was_there = is_new && !is_written;
    if (was_there) life->second.first = 0;
    if (was_there || is_result(tensor.name)) life->second.last = steps.size();
    life->second.last = std::max(life->second.last, step);
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const LayerTensor& tensor : steps[i].reads) use(tensor, i, false);
    for (const LayerTensor& tensor : steps[i].writes) use(tensor, i, true);
  }
  return lives;
}

std::uint64_t peak_bytes_over_weights(const std::vector<LayerStep>& steps,
                                      const AttentionMemory& attention) {
  const std::map<std::string, TensorLife> lives = tensor_lives(steps);
  const auto is_attention = [](const LayerStep& step) { return step.kind == StepKind::kAttention; };
  const auto first = std::find_if(steps.begin(), steps.end(), is_attention);
  const auto last = std::find_if(steps.rbegin(), steps.rend(), is_attention).base();
  std::uint64_t peak = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::uint64_t held = 0;
    for (const auto& [name, life] : lives) {
      if (life.first <= i && i <= life.last) held = saturating_sum({held, life.bytes});
    }
    const auto here = steps.begin() + static_cast<std::ptrdiff_t>(i);
    // A backward pass by itself begins with what is kept.
    const bool is_kept = here < last && (here >= first || first->is_backward);
    if (is_kept) held = saturating_sum({held, attention.kept});
    if (is_attention(*here)) {
      held = saturating_sum({held, here->is_backward ? attention.backward : attention.forward});
    }
    peak = std::max(peak, held);
  }
  return peak;
}

LayerPlaces place_tensors(const std::map<std::string, TensorLife>& lives) {
  std::vector<std::pair<std::string, TensorLife>> in_order(lives.begin(), lives.end());
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.second.first, b.second.bytes, a.first) <
           std::tuple(b.second.first, a.second.bytes, b.first);
  });
  LayerPlaces places;
  std::vector<Placed> placed;
  placed.reserve(in_order.size());
  for (const auto& [name, life] : in_order) {
    const std::uint64_t bytes = round_up(life.bytes, kAlignment);
    const std::uint64_t begin = lowest_place(placed, life, bytes);
    placed.push_back({life, begin, begin + bytes});
    places.offset[name] = begin;
    places.bytes = std::max(places.bytes, begin + bytes);
  }
  return places;
}

}  // namespace sparkbench
