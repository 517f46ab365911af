// sparkbench-model inspect: the kernels' machine code, and the gates that it must pass.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "harness/cli/options/table_options.h"
#include "harness/model/predict/v100_constants.h"
#include "harness/model/sass/cuobjdump.h"
#include "harness/model/sass/held_gates.h"
#include "harness/model/sass/inspection_report.h"
#include "harness/model/sass/kernel_inspection.h"
#include "harness/model/tool/instance_choice.h"
#include "harness/model/tool/model_program.h"
#include "results/store/output_file.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct InspectOptions {
  std::string kernel = "*";
  std::string binary;     // empty: the running executable
  std::string cuobjdump;  // empty: the one on PATH
  bool is_json = false;
  std::string gates_file, new_gates_file;  // empty: not read; not written
  std::vector<int> required_sms;           // the binary must have every instance for these
  TableOptions table;
};

bool is_selected(const KernelInspection& kernel, const std::string& glob) {
  return glob_matches(glob, kernel.name) ||
         (kernel.instance && glob_matches(glob, kernel.instance->kernel()));
}

/// Throws UsageError if the glob selects nothing.
void select(const std::string& glob, std::vector<KernelInspection>& kernels) {
  std::vector<std::string> known;
  known.reserve(kernels.size());
  for (const KernelInspection& kernel : kernels) known.push_back(kernel.name);
  std::erase_if(kernels,
                [&](const KernelInspection& kernel) { return !is_selected(kernel, glob); });
  if (kernels.empty()) throw UsageError(unknown_instance_message(glob, known));
}

void require_gates(const std::filesystem::path& binary, std::span<const KernelInspection> kernels) {
  const bool has_gates =
      std::any_of(kernels.begin(), kernels.end(),
                  [](const KernelInspection& kernel) { return !kernel.gates.empty(); });
  if (has_gates) return;
  throw UsageError(fmt::format(
      "--binary: {} has no main loop for sm_{} to judge; allowed with --gates and --write-gates: "
      "a build with CMAKE_CUDA_ARCHITECTURES={}",
      binary.string(), kModelledSm, kModelledSm));
}

std::vector<KernelInspection> inspect_binary(const InspectOptions& options,
                                             const std::filesystem::path& binary) {
  const CodeListings listings = read_code(find_cuobjdump(options.cuobjdump), binary);
  std::vector<KernelInspection> kernels = inspect_listings(listings.sass, listings.usage);
  if (kernels.empty()) {
    throw UsageError(
        fmt::format("--binary: {} holds no attention kernel; allowed: what kernels/ was built into",
                    binary.string()));
  }
  if (!options.gates_file.empty() || !options.new_gates_file.empty()) {
    require_gates(binary, kernels);
  }
  select(options.kernel, kernels);
  return kernels;
}

std::vector<std::string> misplaced_in(std::span<const KernelInspection> kernels,
                                      const InspectOptions& options) {
  std::vector<std::string> all;
  for (const int sm : options.required_sms) {
    const std::vector<std::string> of_sm = misplaced_instances(kernels, sm, options.kernel);
    all.insert(all.end(), of_sm.begin(), of_sm.end());
  }
  return all;
}

ExitCode run_inspect_command(const InspectOptions& options, const Streams& streams) {
  if (!options.new_gates_file.empty() && options.kernel != "*") {
    throw UsageError("--write-gates: writes the gates of all kernels; allowed: without --kernel");
  }
  if (!options.new_gates_file.empty()) check_writable("--write-gates", options.new_gates_file);
  const HeldGates held =
      options.gates_file.empty() ? HeldGates{} : read_held_gates(options.gates_file);
  const std::filesystem::path binary =
      options.binary.empty() ? running_executable() : std::filesystem::path(options.binary);
  const std::vector<KernelInspection> kernels = inspect_binary(options, binary);
  const std::vector<std::string> broken = broken_gates(held, kernels, options.kernel);
  const std::vector<std::string> misplaced = misplaced_in(kernels, options);
  streams.out << (options.is_json
                      ? format_inspection_json(binary, kernels, broken)
                      : format_inspection(kernels, table_view(options.table, streams.out)));
  if (!options.new_gates_file.empty()) {
    write_file(options.new_gates_file, format_held_gates(held_gates(kernels)));
  }
  for (const std::string& line : broken) {
    streams.err << fmt::format("sparkbench-model: a gate that used to pass fails: {}\n", line);
  }
  for (const std::string& line : misplaced)
    streams.err << fmt::format("sparkbench-model: {}\n", line);
  return broken.empty() && misplaced.empty() ? ExitCode::kOk : ExitCode::kFinding;
}

}  // namespace

void add_inspect_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("inspect");
  const auto options = std::make_shared<InspectOptions>();
  command
      ->add_option("--kernel", options->kernel,
                   "glob of kernel or instance names: volta-fp32acc, volta-*/fwd/d64*")
      ->type_name("GLOB");
  command
      ->add_option("--binary", options->binary,
                   "executable, library, archive, object or cubin; default: this program")
      ->type_name("FILE");
  command->add_option("--cuobjdump", options->cuobjdump, "the disassembler; default: on PATH")
      ->type_name("FILE");
  command->add_flag("--json", options->is_json, "one JSON document instead of tables");
  command
      ->add_option("--gates", options->gates_file,
                   "JSON file of gates that used to pass: fail if one fails")
      ->type_name("FILE");
  command
      ->add_option("--write-gates", options->new_gates_file,
                   "write the gates that pass now to this file")
      ->type_name("FILE");
  command
      ->add_option("--require-sm", options->required_sms,
                   "fail unless the binary has every kernel (of --kernel) that these architectures "
                   "(70,75) run, its products on tensor cores where they have the instruction")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  add_sheet_flags(*command, options->table, inspection_column_names());
  command->callback([options, &invocation, &action] {
    check_table_flags(options->table);
    action = [options, &invocation] { return run_inspect_command(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
