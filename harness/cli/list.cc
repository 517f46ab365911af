// sparkbench list: kernels, references, devices, presets and axes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string_view>

#include "harness/candidates/known_candidates.h"
#include "harness/cli/commands.h"
#include "harness/cli/options/table_options.h"
#include "harness/devices/device.h"
#include "harness/plugin/kernel_library.h"
#include "kernels/registry.h"
#include "results/record/enum_names.h"
#include "results/render/text_table.h"
#include "sweeps/layer_axes.h"
#include "sweeps/preset.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Facts = std::vector<Fact>;

Facts facts_of(std::span<const CandidateInfo> candidates) {
  Facts facts;
  for (const CandidateInfo& info : candidates) {
    facts.push_back({std::string(info.name), std::string(info.summary)});
  }
  return facts;
}

Facts kernel_facts() {
  Facts facts;
  for (const AttentionKernel& kernel : attention_kernels()) {
    facts.push_back({std::string(kernel.name), std::string(kernel.summary)});
  }
  return facts;
}

Facts device_facts() {
  Facts facts;
  for (const std::string& name : device_names()) facts.push_back({name, ""});
  return facts;
}

Facts facts_of(std::span<const Preset> of) {
  Facts facts;
  for (const Preset& preset : of) {
    facts.push_back({std::string(preset.name), std::string(preset.summary)});
  }
  return facts;
}

Fact fact_of(const Axis& axis) {
  return {axis.flag, fmt::format("{}: {} [{}]", axis.help, axis.allowed, axis.initial)};
}

Facts axis_facts() {
  Facts facts;
  for (const Axis& axis : axes()) {
    facts.push_back(fact_of(axis));
    const AxisShorthand& shorthand = axis.shorthand;
    if (shorthand.flag == nullptr) continue;
    facts.push_back({shorthand.flag, fmt::format("{}: {}", shorthand.help, shorthand.allowed)});
  }
  return facts;
}

Facts layer_axis_facts() {
  Facts facts;
  for (const Axis* axis : layer_axes()) facts.push_back(fact_of(*axis));
  return facts;
}

using Json = nlohmann::ordered_json;

Json or_null(const char* text) { return text == nullptr ? Json() : Json(text); }

Json accumulator_json(const std::optional<Accumulator>& accumulator) {
  return accumulator ? Json(name_of(*accumulator)) : Json();
}

Json candidates_json(std::span<const CandidateInfo> candidates) {
  Json array = Json::array();
  for (const CandidateInfo& info : candidates) {
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
    Json models = Json::array();
    for (const ModelShape& model : preset.models) {
      models.push_back({{"name", model.name}, {"flags", model.flags}});
    }
    array.push_back({{"name", preset.name},
                     {"summary", preset.summary},
                     {"flags", preset.flags},
                     {"models", models}});
  }
  return array;
}

Json axes_json(Workload workload) {
  Json array = Json::array();
  for (const Axis* axis : axes_of(workload)) {
    const AxisShorthand& shorthand = axis->shorthand;
    array.push_back({{"name", axis->name},
                     {"flag", axis->flag},
                     {"help", axis->help},
                     {"allowed", allowed_of(*axis, workload)},
                     {"initial", axis->initial},
                     {"shorthand", or_null(shorthand.flag)}});
  }
  return array;
}

/// A minor version may add keys, and never renames or removes one.
void list_as_json(std::ostream& out) {
  const Json document = {{"schema", {{"name", "sparkbench.list"}, {"version", "1.0.0"}}},
                         {"kernels", kernels_json()},
                         {"references_on_emulated_devices", candidates_json(kHostReferences)},
                         {"references_on_gpus", candidates_json(kGpuReferences)},
                         {"vendor_kernels_on_gpus", candidates_json(kVendorKernels)},
                         {"devices", device_names()},
                         {"presets", presets_json(presets(Workload::kAttention))},
                         {"axes", axes_json(Workload::kAttention)},
                         {"layer_presets", presets_json(presets(Workload::kLayer))},
                         {"layer_axes", axes_json(Workload::kLayer)}};
  out << document.dump(2) << '\n';
}

/// What --kernel names: the kernels of a library of the user's.
std::vector<CheckedKernel> load_listed(const std::string& item, const LoadKernels& load) {
  const auto kernels = load(item);
  if (!kernels) {
    throw UsageError(
        fmt::format("--kernel: '{}' is no library; allowed: a path with a '/', or that "
                    "ends in .so, and after it perhaps ':' and a kernel's name",
                    item));
  }
  return checked_kernels(item, *kernels);
}

/// "version 1.2, on the host, FP32-ACC, forward and backward, LSE"
std::string about(const CheckedKernel& kernel) {
  const sparkbench_kernel& table = kernel.table;
  std::string text =
      fmt::format("version {}, on {}, {} accumulators, {}", kernel.version.value_or("unknown"),
                  table.backend == SPARKBENCH_HOST ? "the host" : "GPUs",
                  table.accumulator == SPARKBENCH_ACC_FP16 ? "FP16" : "FP32",
                  table.backward != nullptr ? "forward and backward" : "forward only");
  if (table.has_no_lse != 0) text += ", no LSE";
  if (table.draws_own_dropout != 0) text += ", a dropout mask of its own";
  return text;
}

void list_kernels(const std::vector<CheckedKernel>& kernels, const TableView& view,
                  std::ostream& out) {
  Facts facts;
  for (const CheckedKernel& kernel : kernels) {
    facts.push_back({kernel.name, fmt::format("{}{}({})", kernel.summary,
                                              kernel.summary.empty() ? "" : " ", about(kernel))});
  }
  const CheckedKernel& first = kernels.front();
  const std::string title = first.file_hash ? fmt::format("Kernels of {}, {}", first.file_name,
                                                          file_hash_text(*first.file_hash))
                                            : std::string("Kernels");
  out << wrapped(title, view) << '\n' << format_facts(facts, view);
}

Json or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

void list_kernels_as_json(const std::vector<CheckedKernel>& kernels, std::ostream& out) {
  Json array = Json::array();
  for (const CheckedKernel& kernel : kernels) {
    const sparkbench_kernel& table = kernel.table;
    const bool is_fp16 = table.accumulator == SPARKBENCH_ACC_FP16;
    array.push_back(
        {{"name", kernel.name},
         {"summary", kernel.summary},
         {"version", or_null(kernel.version)},
         {"backend", table.backend == SPARKBENCH_HOST ? "host" : "cuda"},
         {"accumulator", accumulator_json(is_fp16 ? Accumulator::kFp16 : Accumulator::kFp32)},
         {"computes_layers", table.computes_layers != 0},
         {"has_backward", table.backward != nullptr},
         {"has_lse", table.has_no_lse == 0},
         {"draws_own_dropout", table.draws_own_dropout != 0},
         {"flag", kernel.spec},
         {"file_hash", or_null(kernel.file_hash)}});
  }
  const Json document = {{"schema", {{"name", "sparkbench.list_kernels"}, {"version", "1.0.0"}}},
                         {"kernels", array}};
  out << document.dump(2) << '\n';
}

struct ListOptions {
  std::string kernel;  // empty: everything that sparkbench has
  bool is_json = false;
  TableOptions table;
};

ExitCode run_list_command(const ListOptions& options, const LoadKernels& load,
                          const Streams& streams) {
  std::ostream& out = streams.out;
  if (!options.kernel.empty()) {
    const std::vector<CheckedKernel> kernels = load_listed(options.kernel, load);
    if (options.is_json) {
      list_kernels_as_json(kernels, out);
    } else {
      list_kernels(kernels, table_view(options.table, out), out);
    }
    return ExitCode::kOk;
  }
  if (options.is_json) {
    list_as_json(out);
    return ExitCode::kOk;
  }
  constexpr int kNames = 14;  // "hopper-fp32acc"
  const TableView view = table_view(options.table, out);
  const auto section = [&](const char* title, const Facts& facts) {
    out << wrapped(title, view) << '\n' << format_facts(facts, view, kNames);
  };
  section("Kernels", kernel_facts());
  section("References on emulated devices", facts_of(kHostReferences));
  section("References on GPUs", facts_of(kGpuReferences));
  section("Vendors' kernels on GPUs", facts_of(kVendorKernels));
  section("Devices on this machine", device_facts());
  section("Presets", facts_of(presets(Workload::kAttention)));
  section("Presets of `sparkbench encoder`", facts_of(presets(Workload::kLayer)));
  section(
      "Axes (lists: 64,128; k = 1024; ranges: 512:16k:*2, 64:256:+64; the default is in "
      "brackets, unless a preset has another)",
      axis_facts());
  section("Axes of only `sparkbench encoder`", layer_axis_facts());
  return ExitCode::kOk;
}

}  // namespace

void add_list_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("list");
  const auto options = std::make_shared<ListOptions>();
  command
      ->add_option("--kernel", options->kernel,
                   "what is in a library of kernels instead: ./mine.so, ./mine.so:fast")
      ->type_name("LIBRARY");
  command->add_flag("--json", options->is_json, "one JSON document instead of text");
  add_width_flag(*command, options->table);
  command->callback([options, &invocation, &action] {
    action = [options, &invocation] {
      return run_list_command(*options, invocation.load_kernels, invocation.streams);
    };
  });
}

}  // namespace sparkbench
