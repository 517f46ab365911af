#include "harness/commands/predict_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <ostream>

#include "harness/cycles/annotation.h"
#include "harness/cycles/chip_assumption.h"
#include "harness/cycles/loop_prediction.h"
#include "harness/cycles/prediction_report.h"
#include "harness/inspect/cuobjdump.h"
#include "harness/inspect/function_name.h"
#include "harness/inspect/instruction_class.h"
#include "results/store/input_file.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr std::string_view kAddressExample = "0x1230";

std::string read_listing(const std::string& path) {
  try {
    return read_file(path, Pipes::kRead);
  } catch (const std::invalid_argument& error) {
    throw UsageError(
        fmt::format("--listing: {} {}; allowed: a file that cuobjdump -sass or nvdisasm -hex wrote",
                    path, error.what()));
  }
}

/// The sm_70 functions of what was given.
std::vector<SassFunction> read_functions(const CodePredictionOptions& options) {
  const bool is_binary = !options.binary.empty();
  const std::string listing = is_binary
                                  ? read_sass(find_cuobjdump(options.cuobjdump), options.binary)
                                  : read_listing(options.listing);
  std::vector<SassFunction> functions = parse_sass_listing(listing);
  std::erase_if(functions, [](const SassFunction& one) {
    return one.sm != kModelledSm || one.instructions.empty();
  });
  if (functions.empty()) {
    throw UsageError(fmt::format(
        "{} has no machine code for sm_{}; allowed: {}",
        is_binary ? "--binary: " + options.binary : "--listing: " + options.listing, kModelledSm,
        is_binary ? "what was compiled for it" : "what cuobjdump -sass or nvdisasm -hex prints"));
  }
  return functions;
}

/// The one whose name is, or else has, the given one.
const SassFunction& function_named(const std::vector<SassFunction>& functions,
                                   const std::string& name) {
  std::vector<const SassFunction*> found;
  std::vector<std::string> names;
  for (const SassFunction& function : functions) {
    const std::string demangled_name = demangled(function.symbol);
    if (function.symbol == name || demangled_name == name) return function;
    const bool has_it = function.symbol.find(name) != std::string::npos ||
                        demangled_name.find(name) != std::string::npos;
    if (has_it) found.push_back(&function);
    names.push_back(has_it || found.empty() ? function.symbol : "");
  }
  if (found.size() == 1) return *found.front();
  if (found.empty()) {
    throw UsageError(fmt::format("--function: '{}' is in the name of none; allowed: {}", name,
                                 fmt::join(names, ", ")));
  }
  names.clear();
  for (const SassFunction* function : found) names.push_back(function->symbol);
  throw UsageError(fmt::format("--function: '{}' is in the names of {}; allowed: one of {}", name,
                               found.size(), fmt::join(names, ", ")));
}

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

/// Of an instruction of the function.
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
    pick_loop(function, address);  // refuses what is none
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
      if (one.address != address || (one.target && one.is_conditional())) continue;
      throw UsageError(
          fmt::format("--taken: {} at {} decides nothing; allowed: branches under a "
                      "predicate",
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
  constexpr int model_offset = 400;
  if (!options.offsets.empty()) {
    if (options.blocks < 2) {
      throw UsageError("--offsets: one block starts alone; allowed: with --blocks of 2 and more");
    }
    return options.offsets;
  }
  if (options.is_whole || options.blocks < 2) return {model_offset};
  return {model_offset, 1000, 2000};
}

SmConstants constants_of(const CodePredictionOptions& options) {
  const auto assumption = chip_assumption_named(options.assumption);
  if (!assumption) {
    throw UsageError(unknown_name_message("--assume", options.assumption, chip_assumption_names()));
  }
  SmConstants constants = with_assumption({}, *assumption);
  for (const std::string& text : options.constants) set_constant(constants, "--set", text);
  return constants;
}

PredictionRequest request_of(const CodePredictionOptions& options, const SassFunction& function) {
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

}  // namespace

ExitCode predict_code(const CodePredictionOptions& options, const Streams& streams) {
  const std::vector<SassFunction> functions = read_functions(options);
  if (options.function.empty()) {
    streams.out << format_functions(functions);
    return ExitCode::kOk;
  }
  const SassFunction& function = function_named(functions, options.function);
  const PredictionRequest request = request_of(options, function);
  const LoopPrediction prediction = predict_loop(function, request);
  std::vector<ConstantSensitivity> changes;
  if (options.has_sensitivity) changes = sensitivity_of(function, request, prediction);
  if (options.is_json) {
    streams.out << format_prediction_json(function, request, prediction, changes);
    return ExitCode::kOk;
  }
  streams.out << format_prediction(function, request, prediction);
  if (options.has_sensitivity) streams.out << format_sensitivity(changes);
  if (options.is_annotated) {
    streams.out << annotated_code(function, prediction, options.is_full);
  }
  return ExitCode::kOk;
}

void add_code_flags(CLI::App& command, CodePredictionOptions& options) {
  CLI::Option* binary = command.add_option(
      "--binary", options.binary, "executable, library, archive, object or cubin with sm_70 code");
  CLI::Option* listing = command.add_option("--listing", options.listing,
                                            "what cuobjdump -sass or nvdisasm -hex printed of one");
  binary->excludes(listing);
  command.add_option("--cuobjdump", options.cuobjdump, "the disassembler; default: on PATH")
      ->needs(binary);
  CLI::Option* function = command.add_option(
      "--function", options.function, "part of a function's name; without it they are listed");
  const auto add = [&](const char* flag, auto& value, const char* help) {
    return command.add_option(flag, value, help)->needs(function);
  };
  CLI::Option* threads = add("--threads", options.threads, "threads of a block");
  function->needs(threads);
  add("--blocks", options.blocks, "blocks that an SM holds [1]");
  CLI::Option* loop = add("--loop", options.loop,
                          "address of a loop's head or branch back; default: the one with "
                          "the most tensor work");
  CLI::Option* whole =
      command.add_flag("--whole", options.is_whole, "from entry to end instead of a loop");
  whole->needs(function)->excludes(loop);
  add("--trips", options.trips, "ADDRESS=TURNS of a loop inside, by its head or branch back");
  add("--default-trip", options.default_trips, "turns of the other loops [4]")
      ->check(CLI::PositiveNumber);
  add("--taken", options.taken, "addresses of branches forward to take; others fall through");
  add("--skip", options.skipped, "addresses of instructions whose predicate is false");
  add("--conflict", options.conflicts, "ADDRESS=FACTOR or OPCODE=FACTOR: bank conflicts");
  add("--set", options.constants, "NAME=VALUE of a machine constant (harness/cycles/README.md)");
  add("--assume", options.assumption,
      "what is not known of the chip: forwarded, no-reuse, supply-16, supply-8 [forwarded]");
  add("--offsets", options.offsets,
      "cycles between the starts of an SM's blocks; of several the mean [400,1000,2000]")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  add("--warm", options.warm, "passes before measuring [2]")->check(CLI::NonNegativeNumber);
  add("--iterations", options.measured, "passes measured [8]")->check(CLI::PositiveNumber);
  CLI::Option* annotate =
      command.add_flag("--annotate", options.is_annotated, "the code that waits longest");
  annotate->needs(function);
  command.add_flag("--full", options.is_full, "all of the path's code")->needs(annotate);
  command.add_flag("--sensitivity", options.has_sensitivity, "what each constant in doubt matters")
      ->needs(function);
  command.add_flag("--json", options.is_json, "one JSON document")->excludes(annotate);
}

}  // namespace sparkbench
