#include "sweeps/case_problem.h"

#include <array>
#include <stdexcept>

namespace sparkbench {
namespace {

constexpr std::array<std::string_view, 3> kPasses = {"fwd", "bwd", "fwd+bwd"};  // as enumerated

}  // namespace

std::string_view name_of(Pass pass) { return kPasses.at(static_cast<std::size_t>(pass)); }

void parse_name(std::string_view name, Pass& pass) {
  for (std::size_t i = 0; i < kPasses.size(); ++i) {
    if (kPasses[i] != name) continue;
    pass = static_cast<Pass>(i);
    return;
  }
  throw std::invalid_argument("unknown name '" + std::string(name) + "'");
}

}  // namespace sparkbench
