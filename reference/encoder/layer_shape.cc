#include "reference/encoder/layer_shape.h"

#include <array>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

constexpr std::array<std::string_view, 3> kActivations = {"gelu-tanh", "gelu-erf", "relu"};
constexpr std::array<std::string_view, 2> kNormPlaces = {"post", "pre"};
constexpr std::array<std::string_view, 3> kRests = {"unfused", "fused", "eager"};

template <class Enum, std::size_t kCount>
void find_name(const std::array<std::string_view, kCount>& names, std::string_view name,
               const char* what, Enum& value) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names.at(i) != name) continue;
    value = static_cast<Enum>(i);
    return;
  }
  throw std::invalid_argument(std::string("no ") + what + " is called '" + std::string(name) + "'");
}

bool has_other_keys(const Problem& problem) {
  if (!problem.lengths) return problem.seqlen_k != problem.seqlen_q;
  for (int i = 0; i < problem.batch; ++i) {
    if (problem.seqlen_k_of(i) != problem.seqlen_q_of(i)) return true;
  }
  return false;
}

}  // namespace

std::string_view name_of(Activation activation) {
  return kActivations.at(static_cast<std::size_t>(activation));
}
std::string_view name_of(NormPlace norm) { return kNormPlaces.at(static_cast<std::size_t>(norm)); }
std::string_view name_of(Rest rest) { return kRests.at(static_cast<std::size_t>(rest)); }

void parse_name(std::string_view name, Activation& activation) {
  find_name(kActivations, name, "activation", activation);
}
void parse_name(std::string_view name, NormPlace& norm) {
  find_name(kNormPlaces, name, "place of LayerNorm", norm);
}
void parse_name(std::string_view name, Rest& rest) { find_name(kRests, name, "rest", rest); }

bool has_activation_in_epilogue(const LayerShape& shape) {
  return shape.rest == Rest::kFused && shape.activation != Activation::kGeluErf;
}

std::string_view why_no_layer(const LayerShape& shape, const Problem& problem) {
  if (has_other_keys(problem)) return "it has other keys than rows";
  if (problem.key_heads() != problem.heads) return "its heads share keys";
  if (problem.heads * problem.head_dim != shape.hidden) return "its heads do not make up hidden";
  return "";
}

}  // namespace sparkbench
