#include "harness/inspect/kernel_instance.h"

#include <cxxabi.h>
#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <vector>

#include "harness/inspect/text_lines.h"
#include "kernels/volta/forward_config.h"

namespace sparkbench {
namespace {

struct KernelFamily {
  std::string_view function;
  std::string_view pass;
  int products;     // S, P V; S, dP, dV, dK; S, dP, dQ
  bool may_add_dq;  // says so in a template argument, and then has one product more
};

constexpr KernelFamily kFamilies[] = {{"attention_forward_kernel", "fwd", 2, false},
                                      {"attention_backward_kernel", "bwd", 4, true},
                                      {"attention_backward_dq_kernel", "bwd-dq", 3, false}};

/// The innermost list of template arguments, which the configuration takes.
std::vector<std::string> template_arguments(std::string_view function) {
  const std::size_t close = function.find('>');
  if (close == std::string_view::npos) return {};
  const std::size_t open = function.rfind('<', close);
  if (open == std::string_view::npos) return {};
  return split(function.substr(open + 1, close - open - 1), ',');
}

std::optional<int> whole_number(std::string_view digits) {
  int value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (digits.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// "(sparkbench::Accumulator)1"
std::optional<Accumulator> accumulator_of(std::string_view argument) {
  const std::size_t at = argument.rfind(')');
  if (at == std::string_view::npos) return std::nullopt;
  const auto value = whole_number(argument.substr(at + 1));
  if (!value || *value < 0 || *value > 1) return std::nullopt;
  return static_cast<Accumulator>(*value);
}

std::string kernel_name(const KernelInstance& instance) {
  if (instance.pv_accumulator != instance.accumulator) return "volta-mixedacc";
  if (instance.output == Accumulator::kFp16) return "volta-fp16acc-o16";
  return instance.accumulator == Accumulator::kFp16 ? "volta-fp16acc" : "volta-fp32acc";
}

/// Takes out of a forward kernel's arguments what its name says otherwise: the accumulators, and
/// the warps that its head_dim asks for.
void take_usual_forward_arguments(std::vector<std::string>& rest, KernelInstance& instance) {
  if (rest.size() == 3) {
    instance.pv_accumulator = accumulator_of(rest[1]).value_or(instance.accumulator);
    instance.output = accumulator_of(rest[2]).value_or(instance.output);
    rest.resize(1);
  }
  const bool has_usual_warps =
      !rest.empty() && whole_number(rest[0]) == volta::forward_warps(instance.head_dim);
  if (has_usual_warps) rest.erase(rest.begin());
}

std::optional<KernelInstance> instance_of(const KernelFamily& family,
                                          const std::vector<std::string>& arguments) {
  const std::size_t known = family.may_add_dq ? 4 : 3;
  if (arguments.size() < known) return std::nullopt;
  const auto accumulator = accumulator_of(arguments[0]);
  const auto head_dim = whole_number(arguments[1]);
  if (!accumulator || !head_dim) return std::nullopt;
  const bool adds_dq = family.may_add_dq && arguments[3] == "true";
  std::vector<std::string> rest(arguments.begin() + static_cast<std::ptrdiff_t>(known),
                                arguments.end());
  KernelInstance instance{.kernel = "",
                          .pass = std::string(family.pass),
                          .accumulator = *accumulator,
                          .pv_accumulator = *accumulator,
                          .head_dim = *head_dim,
                          .has_dropout = arguments[2] == "true",
                          .adds_dq = adds_dq,
                          .variant = "",
                          .products = family.products + (adds_dq ? 1 : 0)};
  if (family.pass == "fwd") take_usual_forward_arguments(rest, instance);
  for (const std::string& argument : rest) instance.variant += "/" + argument;
  instance.kernel = kernel_name(instance);
  return instance;
}

}  // namespace

std::string KernelInstance::name() const {
  return fmt::format("{}/{}/d{}{}{}{}", kernel, pass, head_dim, has_dropout ? "/dropout" : "",
                     pass == "bwd" && !adds_dq ? "/deterministic" : "", variant);
}

std::optional<KernelInstance> parse_kernel_instance(std::string_view function) {
  for (const KernelFamily& family : kFamilies) {
    const std::size_t at = function.find(family.function);
    const std::size_t end = at + family.function.size();
    if (at == std::string_view::npos || end >= function.size() || function[end] != '<') continue;
    return instance_of(family, template_arguments(function.substr(end)));
  }
  return std::nullopt;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : symbol;
}

std::string short_name(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string name(function.substr(0, function.find('<')));
  for (std::size_t at = name.find(kAnonymous); at != std::string::npos;
       at = name.find(kAnonymous)) {
    name.erase(at, kAnonymous.size());
  }
  name.erase(std::min(name.find('('), name.size()));
  const std::size_t begin = name.find_last_of(": ");
  const std::size_t arguments = std::min(function.find('<'), function.size());
  const std::size_t close = function.rfind('>');
  if (begin != std::string::npos) name.erase(0, begin + 1);
  if (close != std::string_view::npos && close > arguments) {
    name += function.substr(arguments, close - arguments + 1);
  }
  return name;
}

}  // namespace sparkbench
