#include "sweeps/case_problem.h"

#include <array>
#include <stdexcept>

namespace sparkbench {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 3> kPasses = {"fwd", "bwd", "fwd+bwd"};
constexpr std::array<std::string_view, 2> kDropoutScales = {"applied", "asked"};

template <class Value, std::size_t kCount>
Value named(std::string_view name, const std::array<std::string_view, kCount>& names) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) return static_cast<Value>(i);
  }
  throw std::invalid_argument("unknown name '" + std::string(name) + "'");
}

}  // namespace

std::string_view name_of(Pass pass) { return kPasses.at(static_cast<std::size_t>(pass)); }

void parse_name(std::string_view name, Pass& pass) { pass = named<Pass>(name, kPasses); }

std::string_view name_of(DropoutScale scale) {
  return kDropoutScales.at(static_cast<std::size_t>(scale));
}

void parse_name(std::string_view name, DropoutScale& scale) {
  scale = named<DropoutScale>(name, kDropoutScales);
}

}  // namespace sparkbench
