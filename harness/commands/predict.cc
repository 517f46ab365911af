// sparkbench predict: how long machine code takes on a V100, without one.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/commands/commands.h"
#include "harness/commands/predict_calibrate.h"
#include "harness/commands/predict_code.h"
#include "harness/commands/predict_instances.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct PredictOptions {
  CodePredictionOptions code;
  InstancePredictionOptions instances;
  CalibrateOptions calibration;
};

ExitCode run_predict(const PredictOptions& options, const Streams& streams) {
  const auto& [code, instances, calibration] = options;
  if (!calibration.file.empty()) return run_calibration(calibration, streams);
  if (code.is_asked_for() && !instances.is_asked_for()) return predict_code(code, streams);
  if (!code.listing.empty()) {
    throw UsageError(
        "--listing: does not say how many registers a kernel takes; allowed with --kernel, --check "
        "and --write: --binary FILE");
  }
  if (!code.cuobjdump.empty() && code.binary.empty() && instances.check_file.empty() &&
      instances.new_file.empty()) {
    throw UsageError(
        "--cuobjdump: nothing is disassembled; allowed: with --binary, --check or --write");
  }
  if (!code.function.empty() || code.threads != 0 || !code.loop.empty()) {
    throw UsageError(
        "predict: no machine code is named whose functions or loops are meant; allowed: --binary "
        "FILE or --listing FILE, without --kernel, --check and --write");
  }
  return predict_instances(instances, code.binary, code.cuobjdump, code.is_json, streams);
}

}  // namespace

void add_predict_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("predict");
  const auto options = std::make_shared<PredictOptions>();
  add_instance_flags(*command, options->instances);
  add_code_flags(*command, options->code);
  add_calibration_flags(*command, options->calibration);
  command->callback([options, &invocation, &action] {
    action = [options, &invocation] { return run_predict(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
