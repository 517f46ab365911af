// sparkbench check-arithmetic: compares recorded dot products and special functions, or a GPU, with
// the emulator's arithmetic.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <sstream>

#include "harness/cli/commands.h"
#include "harness/cli/options/table_options.h"
#include "harness/devices/arithmetic_check.h"
#include "harness/devices/device.h"
#include "harness/devices/special_function_check.h"
#include "results/render/text_table.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct CheckOptions {
  std::string profile;  // empty: the device's own
  std::vector<std::string> vector_files;
  std::string device;  // empty: the recorded results are checked
};

struct VectorFile {
  std::string path;
  std::vector<VectorRow> rows;
};

/// Loads all files before anything is printed.
std::vector<VectorFile> load_files(const std::vector<std::string>& paths) {
  std::vector<VectorFile> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) files.push_back({path, load_vector_file(path)});
  return files;
}

/// Prints the first misses, and how many more there are.
void print_misses(const ReplayResult& result, const char* source, std::ostream& out) {
  for (const Miss& miss : result.first_misses) {
    const bool is_f32 = miss.accumulator == Accumulator::kFp32;
    const int digits = is_f32 ? 8 : 4;
    out << fmt::format("  line {}{} {}: {} {:0{}x}, computed {:0{}x}\n", miss.line,
                       miss.kind.empty() ? "" : " (" + miss.kind + ")", is_f32 ? "fp32" : "fp16",
                       source, miss.expected, digits, miss.computed, digits);
  }
  const std::size_t misses = 2 * result.rows - result.reproduced_f32 - result.reproduced_f16;
  if (misses > result.first_misses.size()) {
    out << fmt::format("  and {} more\n", misses - result.first_misses.size());
  }
}

ExitCode check_recordings(const CheckOptions& options, std::ostream& out) {
  const ArithmeticProfile& profile = find_profile(options.profile);
  bool all_reproduced = true;
  for (const VectorFile& file : load_files(options.vector_files)) {
    const ReplayResult result = replay(profile, file.rows);
    out << fmt::format("{}: {} of {} rows reproduced (fp32), {} of {} (fp16)\n", file.path,
                       result.reproduced_f32, result.rows, result.reproduced_f16, result.rows);
    print_misses(result, "expected", out);
    all_reproduced = all_reproduced && result.all_reproduced();
  }
  return all_reproduced ? ExitCode::kOk : ExitCode::kFinding;
}

ExitCode check_gpu(const CheckOptions& options, std::ostream& out) {
  require_gpu_name(options.device);
  const ArithmeticProfile* const asked =
      options.profile.empty() ? nullptr : &find_profile(options.profile);
  const std::vector<VectorFile> files = load_files(options.vector_files);
  const std::unique_ptr<Device> device = open_device(options.device);
  bool all_equal = true;
  for (const VectorFile& file : files) {
    const ArithmeticProfile& native = native_profile(*device->info().sm, file.rows[0].a.size());
    const ArithmeticProfile& profile = asked != nullptr ? *asked : native;
    const ReplayResult result = replay(profile, ask_gpu(file.rows));
    out << fmt::format(
        "{}: GPU equals the model in {} of {} rows (fp32), {} of {} (fp16): {} on {}\n", file.path,
        result.reproduced_f32, result.rows, result.reproduced_f16, result.rows, profile.name,
        device->info().name);
    print_misses(result, "GPU", out);
    all_equal = all_equal && result.all_reproduced();
  }
  return all_equal ? ExitCode::kOk : ExitCode::kFinding;
}

ExitCode check_arithmetic(const CheckOptions& options, std::ostream& out) {
  if (options.profile == kSpecialFunctionProfile) {
    return check_special_functions(options.vector_files, options.device, out);
  }
  if (options.vector_files.empty()) {
    throw UsageError("--vectors: required; only --profile sfu with --device needs no file");
  }
  if (!options.device.empty()) return check_gpu(options, out);
  if (options.profile.empty()) {
    throw UsageError("--profile: needed to check recordings; with --device the GPU determines it");
  }
  return check_recordings(options, out);
}

ExitCode run_check_arithmetic_command(const CheckOptions& options, std::ostream& out) {
  std::ostringstream said;
  const ExitCode code = check_arithmetic(options, said);
  out << wrapped(said.str(), table_view({}, out));
  return code;
}

}  // namespace

void add_check_arithmetic_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("check-arithmetic");
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("--profile", options->profile,
                      "a tensor core: volta, turing, ampere, hopper or fma884 (default: the "
                      "device's own); or sfu, the special functions");
  command->add_option("--vectors", options->vector_files,
                      "CSV files of recorded dot products or, with --profile sfu, of functions");
  command->add_option(
      "--device", options->device,
      "cuda:N: compare with this GPU on the files' inputs; with --profile sfu and no "
      "file, every function on floats from the whole range");
  command->callback([options, &invocation, &action] {
    action = [options, &invocation] {
      return run_check_arithmetic_command(*options, invocation.streams.out);
    };
  });
}

}  // namespace sparkbench
