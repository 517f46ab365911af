#include "sweeps/shortest.h"

#include <array>
#include <charconv>
#include <cmath>

namespace sparkbench {
namespace {

template <class Float>
std::string to_shortest(Float value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 32> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), result.ptr};
}

}  // namespace

std::string shortest(double value) { return to_shortest(value); }
std::string shortest(float value) { return to_shortest(value); }

double widen_as_written(float value) {
  if (!std::isfinite(value)) return value;
  const std::string text = shortest(value);
  double widened = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), widened);
  return widened;
}

}  // namespace sparkbench
