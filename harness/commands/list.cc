// sparkbench list: kernels, references, devices, presets and axes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string_view>

#include "harness/commands/commands.h"
#include "harness/devices/device.h"
#include "harness/devices/known_contenders.h"
#include "kernels/registry.h"
#include "results/record/enum_names.h"
#include "sweeps/layer_axes.h"
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
  out << "Axes of `sparkbench encoder` alone\n";
  for (const Axis* axis : layer_axes()) {
    line(axis->flag, axis->help, fmt::format("{} [{}]", axis->allowed, axis->initial));
  }
}

using Json = nlohmann::ordered_json;

Json or_null(const char* text) { return text == nullptr ? Json() : Json(text); }

Json accumulator_json(const std::optional<Accumulator>& accumulator) {
  return accumulator ? Json(name_of(*accumulator)) : Json();
}

Json contenders_json(std::span<const ContenderInfo> contenders) {
  Json array = Json::array();
  for (const ContenderInfo& info : contenders) {
    array.push_back({{"name", info.name},
                     {"summary", info.summary},
                     {"accumulator", accumulator_json(info.accumulator)}});
  }
  return array;
}

Json kernels_json() {
  Json array = Json::array();
  for (const AttentionKernel& kernel : attention_kernels()) {
    array.push_back({{"name", kernel.name},
                     {"summary", kernel.summary},
                     {"accumulator", accumulator_json(kernel.accumulator)},
                     {"has_backward", kernel.has_backward()}});
  }
  return array;
}

Json presets_json(std::span<const Preset> of) {
  Json array = Json::array();
  for (const Preset& preset : of) {
    array.push_back({{"name", preset.name}, {"summary", preset.summary}, {"flags", preset.flags}});
  }
  return array;
}

Json axes_json(const std::vector<const Axis*>& of) {
  Json array = Json::array();
  for (const Axis* axis : of) {
    const AxisShorthand& shorthand = axis->shorthand;
    array.push_back({{"name", axis->name},
                     {"flag", axis->flag},
                     {"help", axis->help},
                     {"allowed", axis->allowed},
                     {"initial", axis->initial},
                     {"shorthand", or_null(shorthand.flag)}});
  }
  return array;
}

/// Keys are added within a major version, never renamed or removed.
void list_as_json(std::ostream& out) {
  const Json document = {{"schema", {{"name", "sparkbench.list"}, {"version", "1.0.0"}}},
                         {"kernels", kernels_json()},
                         {"references_on_emulated_devices", contenders_json(kHostReferences)},
                         {"references_on_gpus", contenders_json(kGpuReferences)},
                         {"vendor_kernels_on_gpus", contenders_json(kVendorKernels)},
                         {"devices", device_names()},
                         {"presets", presets_json(presets())},
                         {"axes", axes_json(axes_of(Workload::kAttention))},
                         {"layer_presets", presets_json(layer_presets())},
                         {"layer_axes", axes_json(axes_of(Workload::kLayer))}};
  out << document.dump(2) << '\n';
}

ExitCode run_list_command(bool is_json, const Streams& streams) {
  std::ostream& out = streams.out;
  if (is_json) {
    list_as_json(out);
    return ExitCode::kOk;
  }
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
  for (const Preset& preset : presets()) list_entry(preset.name, preset.summary, out);
  out << "Presets of `sparkbench encoder`\n";
  for (const Preset& preset : layer_presets()) list_entry(preset.name, preset.summary, out);
  list_axes(out);
  return ExitCode::kOk;
}

}  // namespace

void add_list_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("list");
  const auto is_json = std::make_shared<bool>(false);
  command->add_flag("--json", *is_json, "one JSON document instead of text");
  command->callback([is_json, &invocation, &action] {
    action = [is_json, &invocation] { return run_list_command(*is_json, invocation.streams); };
  });
}

}  // namespace sparkbench
