// sparkbench completion, sparkbench man: output for shells and man.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>

#include "harness/cli/command_docs.h"
#include "harness/cli/commands.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {

void add_completion_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("completion");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash or zsh")->required()->type_name("");
  command->callback([shell, &program, &invocation, &action] {
    const std::vector<std::string> known = {"bash", "zsh"};
    if (*shell != known[0] && *shell != known[1]) {
      throw UsageError(unknown_name_message("completion", *shell, known));
    }
    action = [shell, &program, &invocation] {
      invocation.streams.out << format_completion(program, *shell);
      return ExitCode::kOk;
    };
  });
}

void add_man_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("man");
  command->callback([&program, &invocation, &action] {
    action = [&program, &invocation] {
      invocation.streams.out << format_man_page(program);
      return ExitCode::kOk;
    };
  });
}

}  // namespace sparkbench
