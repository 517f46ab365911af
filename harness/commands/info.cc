// sparkbench info: device, build, operating system and libraries.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>

#include "harness/commands/commands.h"
#include "harness/devices/environment.h"
#include "harness/devices/gpu_libraries.h"
#include "harness/devices/machine_check.h"
#include "results/record/enum_names.h"

namespace sparkbench {
namespace {

template <class T>
std::string or_unknown(const std::optional<T>& value, const char* unit = "") {
  return value ? fmt::format("{}{}", *value, unit) : "unknown";
}

std::string gibibytes(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.1f} GiB", static_cast<double>(*bytes) / (1 << 30)) : "unknown";
}

void print_device(const Device& device, std::ostream& out) {
  const DeviceInfo& info = device.info();
  const auto line = [&](const char* name, const std::string& value) {
    out << fmt::format("  {:<18} {}\n", name, value);
  };
  out << "Device " << device.name() << '\n';
  line("name", info.name);
  line("kind", std::string(name_of(info.kind)));
  line("arithmetic", info.arithmetic);
  line("architecture", info.sm ? fmt::format("sm_{}", *info.sm) : "unknown");
  line("multiprocessors", or_unknown(info.sm_count));
  line("L2 cache", info.l2_bytes ? fmt::format("{} MiB", *info.l2_bytes >> 20) : "unknown");
  line(info.kind == DeviceKind::kGpu ? "memory" : "host memory", gibibytes(info.memory_bytes));
  line("maximum SM clock", or_unknown(info.sm_clock_max_mhz, " MHz"));
  line("peak", or_unknown(info.peak_tflops, " TFLOP/s"));
  line("bandwidth", or_unknown(info.peak_gbps, " GB/s"));
}

/// Ends in kEnvironment when something makes the machine unfit.
ExitCode print_check(const Device& device, const BuildInfo& build, std::ostream& out) {
  using Level = MachineFinding::Level;
  bool is_fit = true;
  out << "Fit to measure\n";
  for (const MachineFinding& finding : check_machine(device, build, read_machine_state())) {
    const char* const verdict = finding.level == Level::kGood       ? "good"
                                : finding.level == Level::kDoubtful ? "doubtful"
                                                                    : "unfit";
    out << fmt::format("  {:<18} {}\n", verdict, finding.what);
    is_fit = is_fit && finding.level != Level::kUnfit;
  }
  return is_fit ? ExitCode::kOk : ExitCode::kEnvironment;
}

ExitCode run_info_command(const std::string& device_name, bool is_checked, const Streams& streams) {
  const auto device = open_device(device_name);
  const BuildInfo build = describe_build();
  const Environment environment = describe_environment(*device);
  print_device(*device, streams.out);
  const auto line = [&](const char* name, const std::string& value) {
    streams.out << fmt::format("  {:<18} {}\n", name, value);
  };
  streams.out << "Build\n";
  line("version", build.version);
  line("commit", or_unknown(build.git_sha) + (build.git_dirty.value_or(false) ? ", modified" : ""));
  line("build type", build.build_type);
  line("compiler", build.cxx_compiler);
  line("CUDA toolkit", build.cuda_toolkit ? *build.cuda_toolkit : "none: emulated devices only");
  if (!build.cuda_archs.empty()) {
    line("architectures", fmt::format("{}", fmt::join(build.cuda_archs, ", ")));
  }
  streams.out << "Machine\n";
  line("system", environment.os);
  line("processor", environment.cpu);
  line("driver", or_unknown(environment.driver_version));
  line("CUDA runtime", or_unknown(environment.cuda_runtime));
  line("cuBLAS", or_unknown(environment.cublas_version));
  line("cuDNN", or_unknown(gpu_libraries().cudnn_version));
  return is_checked ? print_check(*device, build, streams.out) : ExitCode::kOk;
}

}  // namespace

void add_info_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("info", "Tell about the device, build and libraries");
  const auto device = std::make_shared<std::string>("auto");
  command->add_option("--device", *device, "auto, cuda:N, or an emulated device")
      ->capture_default_str();
  const auto is_checked = std::make_shared<bool>(false);
  command->add_flag("--check", *is_checked, "say whether the machine is fit to measure on, now");
  command->callback([device, is_checked, &invocation, &action] {
    action = [device, is_checked, &invocation] {
      return run_info_command(*device, *is_checked, invocation.streams);
    };
  });
}

}  // namespace sparkbench
