// sparkbench list: kernels, references, devices, presets and axes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ostream>

#include "harness/commands/commands.h"
#include "harness/devices/emulated_device.h"
#include "sweeps/axes.h"
#include "sweeps/preset.h"

namespace sparkbench {
namespace {

void list_contenders(const Device& device, Role role, std::ostream& out) {
  for (const Contender& contender : device.contenders()) {
    if (contender.role == role)
      out << fmt::format("  {:<16} {}\n", contender.name, contender.summary);
  }
}

void list_axes(std::ostream& out) {
  const auto line = [&](const char* flag, const char* help, const std::string& allowed) {
    out << fmt::format("  {:<16} {}: {}\n", flag, help, allowed);
  };
  out << "Axes (lists: 64,128; k = 1024; ranges: 512:16k:*2, 64:256:+64; a preset's, or else the "
         "value in brackets)\n";
  for (const Axis& axis : axes()) {
    line(axis.flag, axis.help, fmt::format("{} [{}]", axis.allowed, axis.initial));
    const AxisShorthand& shorthand = axis.shorthand;
    if (shorthand.flag != nullptr) line(shorthand.flag, shorthand.help, shorthand.allowed);
  }
}

ExitCode run_list_command(const Streams& streams) {
  std::ostream& out = streams.out;
  const auto emulated = open_emulated_device("emulated-v100");
  out << "Kernels\n";
  list_contenders(*emulated, Role::kFused, out);
  out << "References on emulated devices\n";
  list_contenders(*emulated, Role::kReference, out);
  out << "References on GPUs\n"
      << fmt::format("  {:<16} {}\n", "cublas-fp16", "cuBLAS, softmax, cuBLAS, all tensors fp16")
      << fmt::format("  {:<16} {}\n", "cublas-fp32", "cuBLAS, softmax, cuBLAS, all tensors fp32");
  out << "Peers on GPUs\n"
      << fmt::format("  {:<16} {}\n", "cudnn",
                     "cuDNN's attention, where there is libcudnn.so.9 and compute capability 8.0");
  out << "Devices on this machine\n";
  for (const std::string& name : device_names()) out << "  " << name << '\n';
  out << "Presets\n";
  for (const Preset& preset : presets()) {
    out << fmt::format("  {:<16} {}\n", preset.name, preset.summary);
  }
  list_axes(out);
  return ExitCode::kOk;
}

}  // namespace

void add_list_command(CLI::App& program, const Invocation& invocation, Action& action) {
  program.add_subcommand("list", "List kernels, references, devices, presets and axes")
      ->callback([&invocation, &action] {
        action = [&invocation] { return run_list_command(invocation.streams); };
      });
}

}  // namespace sparkbench
