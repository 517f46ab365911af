// sparkbench list: kernels, references, devices, presets and axes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ostream>
#include <span>
#include <string_view>

#include "harness/commands/commands.h"
#include "harness/devices/device.h"
#include "harness/devices/known_contenders.h"
#include "kernels/registry.h"
#include "sweeps/axes.h"
#include "sweeps/preset.h"

namespace sparkbench {
namespace {

void list_entry(std::string_view name, std::string_view summary, std::ostream& out) {
  out << fmt::format("  {:<16} {}\n", name, summary);
}

void list_contenders(std::span<const ContenderInfo> contenders, std::ostream& out) {
  for (const ContenderInfo& info : contenders) list_entry(info.name, info.summary, out);
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
  out << "Kernels\n";
  for (const AttentionKernel& kernel : attention_kernels()) {
    list_entry(kernel.name, kernel.summary, out);
  }
  out << "References on emulated devices\n";
  list_contenders(kHostReferences, out);
  out << "References on GPUs\n";
  list_contenders(kGpuReferences, out);
  out << "Vendors' kernels on GPUs\n";
  list_contenders(kVendorKernels, out);
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
