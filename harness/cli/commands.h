// The program's commands, one file each. Each registers its subcommand and flags, and sets the
// action to run if it is chosen.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/cli/exit_code.h"
#include "harness/plan/run_settings.h"
#include "harness/plugin/kernel_library.h"
#include "harness/run/run_files.h"

namespace CLI {
class App;
}

namespace sparkbench {

/// How the program was started.
struct Invocation {
  std::vector<std::string> argv;  // "sparkbench" first; --config and --resume expanded
  Streams streams;
  std::filesystem::path worker_executable;    // empty: cases run in this process
  CaseHook before_case;                       // for tests
  const Predictor* predictor;                 // of a V100's times; null: no predictions
  LoadKernels load_kernels;                   // ProgramSettings::load_kernels
  std::vector<std::string> worker_arguments;  // ProgramSettings::worker_arguments
};

/// Set by the chosen subcommand during parsing; run afterwards.
using Action = std::function<ExitCode()>;

void add_sweep_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_encoder_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_accuracy_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_advise_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_judge_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_run_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_report_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_merge_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_diff_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_list_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_info_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_mask_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_check_arithmetic_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_completion_command(CLI::App& program, const Invocation& invocation, Action& action);

}  // namespace sparkbench
