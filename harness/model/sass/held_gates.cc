#include "harness/model/sass/held_gates.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "kernels/base/closest_name.h"
#include "kernels/base/files/input_file.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

bool is_gate(const std::string& name) {
  const auto known = gate_names();
  return std::find(known.begin(), known.end(), name) != known.end();
}

HeldGates parse(const nlohmann::json& document) {
  auto held = document.get<HeldGates>();
  for (const auto& [kernel, gates] : held) {
    for (const std::string& gate : gates) {
      if (is_gate(gate)) continue;
      throw std::invalid_argument(fmt::format("{} has an unknown gate '{}'{}; allowed: {}", kernel,
                                              gate, did_you_mean(closest_name(gate, gate_names())),
                                              fmt::join(gate_names(), ", ")));
    }
  }
  return held;
}

/// Why the gate no longer holds; nothing when it does.
std::string break_of(const KernelInspection& kernel, const std::string& name) {
  const auto gate = std::find_if(kernel.gates.begin(), kernel.gates.end(),
                                 [&](const GateResult& result) { return result.name == name; });
  if (gate == kernel.gates.end()) return "the kernel has no main loop to judge";
  if (!gate->value) return gate->reason;
  if (*gate->holds()) return {};
  return fmt::format("{:.4g}, allowed: at {} {:.4g}", *gate->value,
                     gate->is_minimum ? "least" : "most", gate->limit);
}

const KernelInspection* find(std::span<const KernelInspection> kernels, const std::string& name) {
  const auto found =
      std::find_if(kernels.begin(), kernels.end(), [&](const KernelInspection& kernel) {
        return kernel.instance && !kernel.loops.empty() && kernel.name == name;
      });
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace

HeldGates held_gates(std::span<const KernelInspection> kernels) {
  HeldGates held;
  for (const KernelInspection& kernel : kernels) {
    if (!kernel.instance || kernel.loops.empty()) continue;
    std::vector<std::string>& gates = held[kernel.name];
    for (const GateResult& gate : kernel.gates) {
      if (gate.holds().value_or(false)) gates.emplace_back(gate.name);
    }
  }
  return held;
}

std::string format_held_gates(const HeldGates& held) {
  std::string text;
  for (const auto& [kernel, gates] : held) {
    text += fmt::format("{}\n  {}: {}", text.empty() ? "{" : ",", nlohmann::json(kernel).dump(),
                        nlohmann::json(gates).dump());
  }
  return text.empty() ? "{}\n" : text + "\n}\n";
}

HeldGates read_held_gates(const std::filesystem::path& path) {
  constexpr std::uint64_t kMostBytes = 16 << 20;
  std::string text;
  try {
    text = read_file(path, Pipes::kRefused, kMostBytes);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--gates: {} {}; allowed: a file that --write-gates wrote",
                                 path.string(), error.what()));
  }
  try {
    return parse(nlohmann::json::parse(text));
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("--gates: {}: {}; allowed: a file that --write-gates wrote",
                                 path.string(), error.what()));
  }
}

std::vector<std::string> broken_gates(const HeldGates& held,
                                      std::span<const KernelInspection> kernels,
                                      std::string_view glob) {
  std::vector<std::string> broken;
  for (const auto& [name, gates] : held) {
    const bool is_selected =
        glob_matches(glob, name) || glob_matches(glob, name.substr(0, name.find('/')));
    if (!is_selected) continue;
    const KernelInspection* const kernel = find(kernels, name);
    if (kernel == nullptr) {
      broken.push_back(fmt::format("{}: the binary has no such kernel with a main loop", name));
      continue;
    }
    for (const std::string& gate : gates) {
      const std::string why = break_of(*kernel, gate);
      if (!why.empty()) broken.push_back(fmt::format("{}: {}: {}", name, gate, why));
    }
  }
  return broken;
}

}  // namespace sparkbench
