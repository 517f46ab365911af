#include "sweeps/axis_value.h"

#include "sweeps/shortest.h"

namespace sparkbench {
namespace {

std::string text_of(std::monostate /*none*/) { return ""; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int value) { return std::to_string(value); }
std::string text_of(float value) { return shortest(value); }
std::string text_of(const std::string& value) { return value; }

}  // namespace

std::string text_of_value(const AxisValue& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
}

}  // namespace sparkbench
