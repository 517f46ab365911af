#include "harness/model/tool/predict.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <ostream>
#include <utility>

#include "harness/build_info.h"
#include "harness/environment_error.h"
#include "harness/model/measure/measured_cycles.h"
#include "harness/model/sass/cuobjdump.h"
#include "harness/model/tool/cycles_table.h"
#include "harness/model/tool/instance_choice.h"
#include "kernels/base/files/input_file.h"
#include "results/store/output_file.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Instances = std::vector<const KernelInstance*>;

/// Throws UsageError if the glob selects none.
Instances selected_instances(const std::string& asked) {
  const std::string glob = asked.empty() ? "*" : asked;
  Instances selected = v100_instances();
  std::vector<std::string> known;
  known.reserve(selected.size());
  for (const KernelInstance* instance : selected) known.emplace_back(instance->id);
  std::erase_if(selected, [&](const KernelInstance* instance) {
    return !glob_matches(glob, std::string(instance->id)) &&
           !glob_matches(glob, std::string(instance->kernel()));
  });
  if (selected.empty()) throw UsageError(unknown_instance_message(glob, known));
  return selected;
}

/// For the measured code; "" if unknown.
std::string toolkit_of(const InstancePredictionOptions& options, const std::string& binary) {
  if (!options.toolkit.empty()) return options.toolkit;
  return binary.empty() ? kCudaToolkit : "";
}

CyclesFile held_cycles(std::string_view flag, const std::string& path) {
  try {
    constexpr std::uint64_t kMostBytes = 64 << 20;
    return cycles_from_json(read_file(path, Pipes::kRefused, kMostBytes));
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: {}: {}", flag, path, error.what()));
  }
}

/// The file whose other instances are kept. Throws UsageError if it does not exist, or if another
/// toolkit compiled their code.
CyclesFile kept_cycles(const InstancePredictionOptions& options, const std::string& binary) {
  if (is_standard_output(options.new_file)) {
    throw UsageError(
        "--write: with --kernel the other kernels' cycles are kept, which standard output has "
        "not; allowed: a file of cycles, or all kernels");
  }
  CyclesFile kept = held_cycles("--write", options.new_file);
  const std::string toolkit = toolkit_of(options, binary);
  if (!toolkit.empty() && toolkit != kept.toolkit) {
    throw UsageError(fmt::format(
        "--write: {} has cycles of code of CUDA {}, and this code is of CUDA {}; allowed: the "
        "same, or all kernels",
        options.new_file, kept.toolkit, toolkit));
  }
  return kept;
}

/// Throws EnvironmentError if the program was built without code for the modelled SM.
void require_own_code() {
  const std::string_view architectures = kCudaArchitectures;
  if (architectures.find("70") != std::string_view::npos && kCudaToolkit[0] != '\0') return;
  throw EnvironmentError(
      "this program has no code for sm_70, which the model reads; build it with "
      "CMAKE_CUDA_ARCHITECTURES=70 (CUDA 12.9 or older), or name such a binary with --binary");
}

CyclesFile measure(const Instances& instances, const InstancePredictionOptions& options,
                   const std::string& binary, const std::string& cuobjdump) {
  if (binary.empty()) require_own_code();
  const std::string toolkit = toolkit_of(options, binary);
  if (!options.new_file.empty() && toolkit.empty()) {
    throw UsageError(
        "--toolkit: required, because the code is not this program's; allowed: the version of "
        "CUDA that compiled it (11.8)");
  }
  const std::filesystem::path path =
      binary.empty() ? running_executable() : std::filesystem::path(binary);
  return measure_cycles(read_code(find_cuobjdump(cuobjdump), path), instances, toolkit);
}

std::vector<std::string> ids_in(const CyclesFile& file, const Instances& instances) {
  std::vector<std::string> ids;
  for (const KernelInstance* instance : instances) {
    if (file.find(instance->id) != nullptr) ids.emplace_back(instance->id);
  }
  return ids;
}

ExitCode report_differences(const std::vector<std::string>& differences, const std::string& path,
                            const Streams& streams) {
  for (const std::string& line : differences) {
    streams.err << fmt::format("sparkbench-model: {} does not match this code: {}\n", path, line);
  }
  if (differences.empty()) return ExitCode::kOk;
  streams.err << fmt::format(
      "sparkbench-model: write it again with: sparkbench-model predict --write {}\n", path);
  return ExitCode::kFinding;
}

}  // namespace

void add_instance_flags(CLI::App& command, InstancePredictionOptions& options) {
  command
      .add_option("--kernel", options.kernel,
                  "glob of kernel or instance names: volta-fp32acc, volta-*/fwd/d64*; with "
                  "--write the file's other cycles are kept")
      ->type_name("GLOB");
  CLI::Option* check =
      command
          .add_option("--check", options.check_file,
                      "compute the cycles again: fail if this file of cycles differs")
          ->type_name("FILE");
  CLI::Option* write = command
                           .add_option("--write", options.new_file,
                                       "compute the cycles again and write them to this file")
                           ->type_name("FILE");
  write->excludes(check);
  command
      .add_option(
          "--toolkit", options.toolkit,
          "the version of CUDA that compiled the code; default for this program's code: its own")
      ->needs(write);
}

ExitCode predict_instances(const InstancePredictionOptions& options, const std::string& binary,
                           const std::string& cuobjdump, const TableOptions& table,
                           const Streams& streams) {
  const Instances instances = selected_instances(options.kernel);
  const bool is_written = !options.new_file.empty();
  CyclesFile kept;
  if (is_written && !options.kernel.empty()) kept = kept_cycles(options, binary);
  if (is_written) check_writable("--write", options.new_file);
  const bool is_measured = is_written || !options.check_file.empty() || !binary.empty();
  const CyclesFile held =
      options.check_file.empty() ? embedded_cycles() : held_cycles("--check", options.check_file);
  const CyclesFile file =
      is_measured ? measure(instances, options, binary, cuobjdump) : embedded_cycles();
  const std::vector<std::string> ids = ids_in(file, instances);
  const bool takes_output = is_written && is_standard_output(options.new_file);
  std::ostream& out = takes_output ? streams.err : streams.out;
  out << (options.is_json ? format_cycles_json(file, ids)
                          : format_cycles(file, ids, table_view(table, out)));
  if (is_written) {
    kept.toolkit = file.toolkit;
    write_output(options.new_file, cycles_to_json(with_measured(std::move(kept), file)),
                 streams.out);
  }
  if (options.check_file.empty()) return ExitCode::kOk;
  return report_differences(cycles_that_differ(held, file, instances), options.check_file, streams);
}

}  // namespace sparkbench
