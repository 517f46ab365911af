#include "harness/model/tool/predict.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "harness/model/predict/cycles_file.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr std::string_view kAddressExample = "0x1230";

bool parse_number(std::string_view text, int base, auto& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = [&] {
    if constexpr (std::is_floating_point_v<std::remove_reference_t<decltype(value)>>) {
      return std::from_chars(text.data(), end, value);
    } else {
      return std::from_chars(text.data(), end, value, base);
    }
  }();
  return !text.empty() && error == std::errc{} && stop == end;
}

std::optional<std::uint32_t> parse_address(std::string_view text) {
  std::uint32_t address = 0;
  if (!text.starts_with("0x") || !parse_number(text.substr(2), 16, address)) return std::nullopt;
  return address;
}

/// The address of an instruction of the function.
std::uint32_t address_in(const SassFunction& function, const std::string& flag,
                         const std::string& text) {
  const std::optional<std::uint32_t> address = parse_address(text);
  if (!address) {
    throw UsageError(fmt::format("{}: '{}' is no address; allowed: one such as {}", flag, text,
                                 kAddressExample));
  }
  for (const SassInstruction& one : function.instructions) {
    if (one.address == *address) return *address;
  }
  throw UsageError(fmt::format("{}: {} has no instruction at {}; allowed: 0x0 to {:#x}", flag,
                               function.symbol, text, function.instructions.back().address));
}

struct Assignment {
  std::string name, value;
};

Assignment parse_assignment(const std::string& flag, const std::string& text,
                            std::string_view example) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0) {
    throw UsageError(fmt::format("{}: '{}' gives nothing a value; allowed: one such as {}", flag,
                                 text, example));
  }
  return {text.substr(0, sign), text.substr(sign + 1)};
}

std::map<std::uint32_t, int> parse_trips(const SassFunction& function,
                                         const std::vector<std::string>& texts) {
  std::map<std::uint32_t, int> trips;
  for (const std::string& text : texts) {
    const Assignment trip = parse_assignment("--trips", text, "0x1230=16");
    const std::uint32_t address = address_in(function, "--trips", trip.name);
    int turns = 0;
    if (!parse_number(trip.value, 10, turns) || turns < 1) {
      throw UsageError(
          fmt::format("--trips: '{}' is no number of turns; allowed: 1 and more", trip.value));
    }
    pick_loop(function, address);  // throws if it is not in a loop
    trips[address] = turns;
  }
  return trips;
}

std::set<std::uint32_t> parse_taken(const SassFunction& function,
                                    const std::vector<std::string>& texts) {
  std::set<std::uint32_t> taken;
  for (const std::string& text : texts) {
    const std::uint32_t address = address_in(function, "--taken", text);
    for (const SassInstruction& one : function.instructions) {
      const bool decides = one.target && *one.target > one.address && one.is_conditional();
      if (one.address != address || decides) continue;
      throw UsageError(fmt::format(
          "--taken: {} at {} decides nothing; allowed: branches forward under a predicate",
          one.opcode, text));
    }
    taken.insert(address);
  }
  return taken;
}

BankConflicts parse_conflicts(const SassFunction& function, const std::vector<std::string>& texts) {
  BankConflicts conflicts;
  for (const std::string& text : texts) {
    const Assignment conflict = parse_assignment("--conflict", text, "0xa40=2 or LDS=1.5");
    double factor = 0.0;
    if (!parse_number(conflict.value, 10, factor) || !(factor > 0.0 && factor <= 32.0)) {
      throw UsageError(fmt::format(
          "--conflict: '{}' is no factor; allowed: more than 0, at most 32", conflict.value));
    }
    if (conflict.name.starts_with("0x")) {
      conflicts.of_address[address_in(function, "--conflict", conflict.name)] = factor;
      continue;
    }
    const auto& code = function.instructions;
    if (std::none_of(code.begin(), code.end(),
                     [&](const SassInstruction& one) { return one.opcode == conflict.name; })) {
      throw UsageError(fmt::format("--conflict: {} has no {}; allowed: an address or an opcode",
                                   function.symbol, conflict.name));
    }
    conflicts.of_opcode[conflict.name] = factor;
  }
  return conflicts;
}

std::vector<int> offsets_of(const CodePredictionOptions& options) {
  constexpr int kModelOffset = 400;
  if (!options.offsets.empty()) {
    if (options.blocks < 2) {
      throw UsageError("--offsets: one block starts alone; allowed: with --blocks of 2 and more");
    }
    return options.offsets;
  }
  if (options.is_whole || options.blocks < 2) return {kModelOffset};
  return {kModelOffset, 1000, 2000};
}

SmConstants constants_of(const CodePredictionOptions& options) {
  const std::vector<std::string> known = chip_assumption_names();
  const auto found = std::find(known.begin(), known.end(), options.assumption);
  if (found == known.end()) {
    throw UsageError(unknown_name_message("--assume", options.assumption, known));
  }
  const auto assumption = static_cast<ChipAssumption>(found - known.begin());
  SmConstants constants = with_assumption({}, assumption);
  for (const std::string& text : options.constants) set_constant(constants, "--set", text);
  return constants;
}

}  // namespace

PredictionRequest prediction_request(const CodePredictionOptions& options,
                                     const SassFunction& function) {
  PredictionRequest request;
  request.constants = constants_of(options);
  request.conflicts = parse_conflicts(function, options.conflicts);
  request.threads = options.threads;
  request.blocks = options.blocks;
  request.is_whole = options.is_whole;
  if (!options.loop.empty()) request.loop = address_in(function, "--loop", options.loop);
  request.policy.trips = parse_trips(function, options.trips);
  request.policy.default_trips = options.default_trips;
  request.policy.taken = parse_taken(function, options.taken);
  for (const std::string& text : options.skipped) {
    request.policy.skipped.insert(address_in(function, "--skip", text));
  }
  request.offsets = offsets_of(options);
  request.warm = options.warm;
  request.measured = options.measured;
  return request;
}

}  // namespace sparkbench
