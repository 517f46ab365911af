#include "harness/model/sass/kernel_resources.h"

#include <fmt/core.h>

#include <charconv>
#include <stdexcept>

#include "harness/model/sass/text_lines.h"

namespace sparkbench {
namespace {

/// The number after "REG:" in "REG:255 STACK:184 SHARED:0 LOCAL:0 ..."
int field(std::string_view line, std::string_view name, const std::string& symbol) {
  const std::size_t at = line.find(name);
  int value = 0;
  if (at != std::string_view::npos) {
    const std::string_view digits = line.substr(at + name.size());
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec == std::errc{}) return value;
  }
  throw std::runtime_error(
      fmt::format("cuobjdump -res-usage: {} has no {} in '{}'", symbol, name, trimmed(line)));
}

}  // namespace

std::vector<ResourceUsage> parse_resource_usage(std::string_view listing) {
  std::vector<ResourceUsage> usages;
  std::optional<int> sm;
  std::string symbol;  // whose line comes next
  for_each_line(listing, [&](std::string_view line) {
    if (const auto digits = after_prefix(line, "arch = sm_"); !digits.empty()) {
      std::from_chars(digits.data(), digits.data() + digits.size(), sm.emplace(0));
    } else if (!symbol.empty()) {
      usages.push_back({symbol,
                        sm,
                        {.registers = field(line, "REG:", symbol),
                         .stack_bytes = field(line, "STACK:", symbol),
                         .local_bytes = field(line, "LOCAL:", symbol),
                         .shared_bytes = field(line, "SHARED:", symbol)}});
      symbol.clear();
    } else if (auto name = after_prefix(line, "Function "); name.ends_with(':')) {
      symbol = name.substr(0, name.size() - 1);
    }
  });
  if (!symbol.empty()) field("", "REG:", symbol);
  return usages;
}

const KernelResources& resources_of(std::span<const ResourceUsage> usages, std::string_view symbol,
                                    int sm) {
  for (const ResourceUsage& usage : usages) {
    if (usage.symbol == symbol && usage.sm.value_or(sm) == sm) return usage.resources;
  }
  throw std::runtime_error(
      fmt::format("cuobjdump -res-usage does not know {} of sm_{}", symbol, sm));
}

}  // namespace sparkbench
