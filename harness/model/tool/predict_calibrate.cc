#include "harness/model/tool/predict.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "harness/devices/environment.h"
#include "harness/devices/gpu_device.h"
#include "harness/environment_error.h"
#include "harness/model/calibration/calibration.h"
#include "results/store/output_file.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

std::unique_ptr<Device> open_calibrated_gpu(const std::string& name) {
  if (name != "auto" && !name.starts_with("cuda:")) {
    throw UsageError(fmt::format(
        "--device: --calibrate measures a GPU, and '{}' is none; allowed: auto, cuda:N", name));
  }
  if (gpu_count() == 0) throw EnvironmentError("--calibrate measures a GPU: " + why_no_gpu());
  return open_device(name);
}

}  // namespace

void add_calibration_flags(CLI::App& command, CalibrateOptions& options) {
  CLI::Option* calibrate =
      command
          .add_option("--calibrate", options.file,
                      "measure the chip's unknown parameters on a GPU and write them to this JSON "
                      "file (-: standard output)")
          ->type_name("FILE");
  for (const char* const flag :
       {"--kernel", "--check", "--write", "--binary", "--listing", "--json"}) {
    calibrate->excludes(command.get_option(flag));
  }
  command.add_option("--device", options.device, "with --calibrate: auto or cuda:N")
      ->needs(calibrate);
}

ExitCode run_calibration(const CalibrateOptions& options, const TableOptions& table,
                         const Streams& streams) {
  check_writable("--calibrate", options.file);
  const std::unique_ptr<Device> device = open_calibrated_gpu(options.device);
  const DeviceInfo& info = device->info();
  const CalibrationReadings readings = read_probes(*info.sm, *info.sm_count);
  const CalibrationFindings findings = evaluate(readings, *info.sm);
  const bool takes_output = is_standard_output(options.file);
  std::ostream& out = takes_output ? streams.err : streams.out;
  out << format_calibration(info, readings, findings, table_view(table, out));
  write_output(options.file,
               calibration_to_json(utc_timestamp(), describe_build(), describe_environment(*device),
                                   readings, findings),
               streams.out);
  return ExitCode::kOk;
}

}  // namespace sparkbench
