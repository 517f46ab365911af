// sparkbench-model predict: predicts how long machine code takes on a V100.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/options/table_options.h"
#include "harness/model/tool/cycles_table.h"
#include "harness/model/tool/model_program.h"
#include "harness/model/tool/predict.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct PredictOptions {
  CodePredictionOptions code;
  InstancePredictionOptions instances;
  CalibrateOptions calibration;
  TableOptions table;
};

ExitCode run_predict(const PredictOptions& options, const Streams& streams) {
  const auto& [code, instances, calibration, table] = options;
  if (!calibration.file.empty()) return run_calibration(calibration, table, streams);
  if (code.is_asked_for() && !instances.is_asked_for()) return predict_code(code, table, streams);
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
        "predict: these flags need machine code; allowed: --binary "
        "FILE or --listing FILE, without --kernel, --check and --write");
  }
  InstancePredictionOptions asked = instances;
  asked.is_json = code.is_json;
  return predict_instances(asked, code.binary, code.cuobjdump, table, streams);
}

}  // namespace

void add_predict_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("predict");
  const auto options = std::make_shared<PredictOptions>();
  add_instance_flags(*command, options->instances);
  add_code_flags(*command, options->code);
  add_calibration_flags(*command, options->calibration);
  add_sheet_flags(*command, options->table, cycles_column_names());
  command->callback([options, &invocation, &action] {
    check_table_flags(options->table);
    action = [options, &invocation] { return run_predict(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
