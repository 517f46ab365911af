// sparkbench predict: how long machine code takes on a V100, without one.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/commands/commands.h"
#include "harness/commands/predict_code.h"
#include "sweeps/usage_error.h"

namespace sparkbench {

void add_predict_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand(
      "predict", "How long machine code takes on a V100, by a model of its SM");
  const auto options = std::make_shared<CodePredictionOptions>();
  add_code_flags(*command, *options);
  command->callback([options, &invocation, &action] {
    action = [options, &invocation] {
      if (options->is_asked_for()) return predict_code(*options, invocation.streams);
      throw UsageError(
          "predict: no machine code is named; allowed: --binary FILE or --listing FILE");
    };
  });
}

}  // namespace sparkbench
