#include "harness/model/tool/predict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <new>
#include <ostream>
#include <set>

#include "harness/model/predict/v100_constants.h"
#include "harness/model/sass/cuobjdump.h"
#include "harness/model/sass/function_name.h"
#include "harness/model/sm/prediction_report.h"
#include "kernels/base/files/input_file.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr int kMostOffset = 1'000'000, kMostPasses = 10'000, kMostTurns = 1'000'000;

std::string read_listing(const std::string& path) {
  try {
    constexpr std::uint64_t kMostBytes = 1 << 30;
    return read_file(path, Pipes::kRead, kMostBytes);
  } catch (const std::invalid_argument& error) {
    throw UsageError(
        fmt::format("--listing: {} {}; allowed: a file that cuobjdump -sass or nvdisasm -hex wrote",
                    path, error.what()));
  }
}

/// "--listing: FILE".
std::string source_of(const CodePredictionOptions& options) {
  return options.binary.empty() ? "--listing: " + options.listing : "--binary: " + options.binary;
}

/// "; it has code for sm_80 and sm_90", or "" if there is no code at all.
std::string architectures_of(const std::vector<SassFunction>& functions) {
  std::set<std::string> names;
  for (const SassFunction& one : functions) {
    if (!one.instructions.empty()) names.insert(fmt::format("sm_{}", one.sm));
  }
  return names.empty() ? "" : fmt::format(" (it has some for {})", fmt::join(names, ", "));
}

/// The sm_70 functions of the given input.
std::vector<SassFunction> read_functions(const CodePredictionOptions& options) {
  const bool is_binary = !options.binary.empty();
  const std::string listing = is_binary
                                  ? read_sass(find_cuobjdump(options.cuobjdump), options.binary)
                                  : read_listing(options.listing);
  std::vector<SassFunction> functions = parse_sass_listing(listing);
  const std::string architectures = architectures_of(functions);
  std::erase_if(functions, [](const SassFunction& one) {
    return one.sm != kModelledSm || one.instructions.empty();
  });
  if (functions.empty()) {
    throw UsageError(fmt::format(
        "{} has no machine code for sm_{}, the modelled one{}; allowed: {}", source_of(options),
        kModelledSm, architectures,
        is_binary ? "what was compiled for it" : "what cuobjdump -sass or nvdisasm -hex prints"));
  }
  return functions;
}

std::string join_symbols(const std::vector<const SassFunction*>& functions) {
  std::vector<std::string> symbols;
  symbols.reserve(functions.size());
  for (const SassFunction* function : functions) symbols.push_back(function->symbol);
  return fmt::format("{}", fmt::join(symbols, ", "));
}

/// The function whose name equals or contains the given one.
const SassFunction& function_named(const std::vector<SassFunction>& functions,
                                   const std::string& name) {
  std::vector<const SassFunction*> all, found;
  for (const SassFunction& function : functions) {
    const std::string spelled = demangled(function.symbol);
    if (function.symbol == name || spelled == name) return function;
    all.push_back(&function);
    const bool has_it =
        function.symbol.find(name) != std::string::npos || spelled.find(name) != std::string::npos;
    if (has_it) found.push_back(&function);
  }
  if (found.size() == 1) return *found.front();
  if (found.empty()) {
    throw UsageError(fmt::format("--function: '{}' is in the name of none; allowed: {}", name,
                                 join_symbols(all)));
  }
  throw UsageError(fmt::format("--function: '{}' is in the names of {}; allowed: one of {}", name,
                               found.size(), join_symbols(found)));
}

/// Throws UsageError for code that no compiler produced, whose control flow cannot be followed.
LoopPrediction predict_or_refuse(const CodePredictionOptions& options, const SassFunction& function,
                                 const PredictionRequest& request) {
  try {
    return predict_loop(function, request);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) throw;
    throw UsageError(
        fmt::format("{}: {}: its code cannot be followed: {}; allowed: a compiler's code",
                    source_of(options), function.symbol, error.what()));
  }
}

}  // namespace

ExitCode predict_code(const CodePredictionOptions& options, const TableOptions& table,
                      const Streams& streams) {
  const TableView view = table_view(table, streams.out);
  const std::vector<SassFunction> functions = read_functions(options);
  if (options.function.empty()) {
    streams.out << (options.is_json ? format_functions_json(functions)
                                    : format_functions(functions, view));
    return ExitCode::kOk;
  }
  const SassFunction& function = function_named(functions, options.function);
  const PredictionRequest request = prediction_request(options, function);
  const LoopPrediction prediction = predict_or_refuse(options, function, request);
  std::vector<ConstantSensitivity> changes;
  if (options.has_sensitivity) changes = sensitivity_of(function, request, prediction);
  if (options.is_json) {
    streams.out << format_prediction_json(function, request, prediction, changes);
    return ExitCode::kOk;
  }
  streams.out << format_prediction(function, request, prediction, view);
  if (options.has_sensitivity) streams.out << format_sensitivity(changes);
  if (options.is_annotated) {
    streams.out << annotated_code(function, prediction, options.is_full, view);
  }
  return ExitCode::kOk;
}

void add_code_flags(CLI::App& command, CodePredictionOptions& options) {
  CLI::Option* binary =
      command
          .add_option("--binary", options.binary,
                      "executable, library, archive, object or cubin with sm_70 code")
          ->type_name("FILE");
  CLI::Option* listing = command
                             .add_option("--listing", options.listing,
                                         "what cuobjdump -sass or nvdisasm -hex printed of one")
                             ->type_name("FILE");
  binary->excludes(listing);
  command.add_option("--cuobjdump", options.cuobjdump, "the disassembler; default: on PATH")
      ->type_name("FILE");
  CLI::Option* function = command.add_option(
      "--function", options.function, "part of a function's name; without it they are listed");
  const auto add = [&](const char* flag, auto& value, const char* help) {
    return command.add_option(flag, value, help)->needs(function);
  };
  CLI::Option* threads = add("--threads", options.threads, "threads per block");
  function->needs(threads);
  add("--blocks", options.blocks, "resident blocks per SM [1]");
  CLI::Option* loop = add("--loop", options.loop,
                          "address of a loop's head or branch back; default: the one with "
                          "the most tensor work");
  CLI::Option* whole =
      command.add_flag("--whole", options.is_whole, "from entry to end instead of a loop");
  whole->needs(function)->excludes(loop);
  add("--trips", options.trips, "ADDRESS=TURNS of a loop inside, by its head or branch back");
  add("--default-trip", options.default_trips, "turns of the other loops [4]")
      ->check(CLI::Range(1, kMostTurns));
  add("--taken", options.taken, "addresses of branches forward to take; others fall through");
  add("--skip", options.skipped, "addresses of instructions that count as predicated off");
  add("--conflict", options.conflicts, "ADDRESS=FACTOR or OPCODE=FACTOR: bank conflicts");
  add("--set", options.constants, "NAME=VALUE of a machine constant (harness/model/sm/README.md)");
  add("--assume", options.assumption,
      "assumption about the chip: forwarded, no-reuse, supply-16, supply-8 [forwarded]");
  add("--offsets", options.offsets,
      "cycles between the starts of an SM's blocks; several give the mean [400,1000,2000]")
      ->delimiter(',')
      ->check(CLI::Range(0, kMostOffset));
  add("--warm", options.warm, "passes before measuring [2]")->check(CLI::Range(0, kMostPasses));
  add("--iterations", options.measured, "passes measured [8]")->check(CLI::Range(1, kMostPasses));
  CLI::Option* annotate =
      command.add_flag("--annotate", options.is_annotated, "show the code that waits longest");
  annotate->needs(function);
  command.add_flag("--full", options.is_full, "show all code of the path")->needs(annotate);
  command
      .add_flag("--sensitivity", options.has_sensitivity,
                "show the effect of each uncertain constant")
      ->needs(function);
  command.add_flag("--json", options.is_json, "one JSON document")->excludes(annotate);
}

}  // namespace sparkbench
