// sparkbench-model: reads the kernels' machine code, makes and checks kernels/volta/cycles.json,
// and compares predicted with published times.
#pragma once

#include "harness/cli/commands.h"

namespace sparkbench {

void add_inspect_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_predict_command(CLI::App& program, const Invocation& invocation, Action& action);
void add_against_command(CLI::App& program, const Invocation& invocation, Action& action);

/// Runs `sparkbench-model argv[1..]`; as run_program() (harness/cli/program.h).
int run_model_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err);

}  // namespace sparkbench
