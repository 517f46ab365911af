#include "reference/tensors/element_type.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

float from_bf16_bits(std::uint16_t bits) {
  return float_from_bits(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace

std::string_view name_of(ElementType element) {
  return element == ElementType::kFp16 ? "fp16" : "bf16";
}

void parse_name(std::string_view name, ElementType& element) {
  for (const ElementType known : {ElementType::kFp16, ElementType::kBf16}) {
    if (name != name_of(known)) continue;
    element = known;
    return;
  }
  throw std::invalid_argument("no element type is called " + std::string(name));
}

std::uint16_t to_bf16_bits(float value) {
  const std::uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  const std::uint32_t odd = (bits >> 16) & 1u;
  return static_cast<std::uint16_t>((bits + 0x7fffu + odd) >> 16);
}

float rounded_to(ElementType element, float value) {
  return element == ElementType::kFp16 ? to_float(to_half(value))
                                       : from_bf16_bits(to_bf16_bits(value));
}

Half to_input(ElementType element, float value) { return to_half(rounded_to(element, value)); }

double unit_of(ElementType element) { return element == ElementType::kFp16 ? 0x1p-10 : 0x1p-7; }

std::vector<Half> as_kernel_has(ElementType element, std::span<const Half> kept) {
  std::vector<Half> words(kept.begin(), kept.end());
  if (element == ElementType::kFp16) return words;
  std::ranges::transform(words, words.begin(),
                         [](Half value) { return Half{to_bf16_bits(to_float(value))}; });
  return words;
}

std::vector<Half> as_host_keeps(ElementType element, std::vector<Half> words) {
  if (element == ElementType::kFp16) return words;
  std::ranges::transform(words, words.begin(),
                         [](Half word) { return to_half(from_bf16_bits(word.bits)); });
  return words;
}

}  // namespace sparkbench
