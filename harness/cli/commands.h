// The commands of the program, a file each. Every one registers its subcommand and its flags, and
// hands over what to do when it is chosen.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/cli/exit_code.h"
#include "harness/plan/run_settings.h"
#include "harness/run/sweep_outputs.h"

namespace CLI {
class App;
}

namespace sparkbench {

/// What the program was started with.
struct Invocation {
  std::vector<std::string> argv;  // "sparkbench" first; --config and --resume written out
  Streams streams;
  std::filesystem::path worker_executable;  // empty: cases run in this process
  CaseHook before_case;                     // for tests
  const CyclesFile* cycles;                 // by which times are predicted
};

/// Set by the chosen subcommand while the command line is parsed; run after it.
using Action = std::function<ExitCode()>;

void add_sweep_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_encoder_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_accuracy_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_advise_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_run_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_report_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_merge_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_diff_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_list_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_info_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_mask_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_inspect_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_predict_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_check_arithmetic_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_completion_command(CLI::App& program, const Invocation& invocation, Action& action);

}  // namespace sparkbench
