// sparkbench predict: how long machine code takes on a V100, without one.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/commands/commands.h"
#include "harness/commands/predict_code.h"
#include "harness/commands/predict_instances.h"

namespace sparkbench {

void add_predict_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand(
      "predict", "How long machine code takes on a V100, by a model of its SM");
  const auto code = std::make_shared<CodePredictionOptions>();
  const auto instances = std::make_shared<InstancePredictionOptions>();
  add_code_flags(*command, *code);
  add_instance_flags(*command, *instances);
  command->callback([code, instances, &invocation, &action] {
    action = [code, instances, &invocation] {
      const bool is_of_any_code = code->is_asked_for() && !instances->is_measured();
      return is_of_any_code ? predict_code(*code, invocation.streams)
                            : predict_instances(*instances, code->binary, code->cuobjdump,
                                                code->is_json, invocation.streams);
    };
  });
}

}  // namespace sparkbench
