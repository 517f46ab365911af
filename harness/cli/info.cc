// sparkbench info: device, build, operating system and libraries.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <vector>

#include "harness/candidates/gpu_libraries.h"
#include "harness/cli/commands.h"
#include "harness/cli/container_choice.h"
#include "harness/cli/options/table_options.h"
#include "harness/devices/environment.h"
#include "harness/devices/machine_check.h"
#include "kernels/jit/nvrtc.h"
#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/render/text_table.h"
#include "results/store/json.h"

namespace sparkbench {
namespace {

template <class T>
std::string or_unknown(const std::optional<T>& value, const char* unit = "") {
  return value ? fmt::format("{}{}", *value, unit) : "unknown";
}

using Whys = std::map<std::string, std::string>;

std::string memory_text(const std::optional<std::uint64_t>& bytes) {
  return bytes ? format_memory(*bytes) : "unknown";
}

using Facts = std::vector<Fact>;

/// NVML's readings, or the reason why there are none.
void add_management(const DeviceInfo& info, Facts& facts) {
  const auto line = [&](const char* name, const char* field, const std::string& value) {
    const auto why = info.why_unknown ? info.why_unknown->find(field) : Whys::const_iterator();
    const bool is_unknown = info.why_unknown && why != info.why_unknown->end();
    facts.push_back({name, is_unknown ? "unknown: " + why->second : value});
  };
  const auto on_or_off = [](const std::optional<bool>& mode) {
    return mode ? (*mode ? "on" : "off") : "unknown";
  };
  const DeviceState state = info.state.value_or(DeviceState());
  line("UUID", "uuid", or_unknown(info.uuid));
  line("power limit", "power_limit_w", or_unknown(info.power_limit_w, " W"));
  line("power draw", "power_draw_w", or_unknown(state.power_draw_w, " W"));
  line("temperature", "temperature_c", or_unknown(state.temperature_c, " C"));
  line("ECC", "ecc", on_or_off(info.ecc));
  line("persistence mode", "persistence_mode", on_or_off(info.persistence_mode));
  const std::vector<std::string> reasons =
      state.throttle_reasons.value_or(std::vector<std::string>());
  line("clocks held by", "throttle_reasons",
       reasons.empty() ? "nothing" : fmt::format("{}", fmt::join(reasons, ", ")));
}

Facts device_facts(const DeviceInfo& info) {
  Facts facts;
  const auto line = [&](const char* name, const std::string& value) {
    facts.push_back({name, value});
  };
  line("name", info.name);
  line("kind", std::string(name_of(info.kind)));
  line("arithmetic", info.arithmetic);
  line("architecture", info.sm ? fmt::format("sm_{}", *info.sm) : "unknown");
  line("multiprocessors", or_unknown(info.sm_count));
  line("L2 cache", memory_text(info.l2_bytes));
  line(info.kind == DeviceKind::kGpu ? "memory" : "host memory", memory_text(info.memory_bytes));
  line("maximum SM clock", or_unknown(info.sm_clock_max_mhz, " MHz"));
  line("peak", or_unknown(info.peak_tflops, " TFLOP/s"));
  line("bandwidth", or_unknown(info.peak_gbps, " GB/s"));
  if (info.kind == DeviceKind::kGpu) add_management(info, facts);
  return facts;
}

using Level = MachineFinding::Level;
using Findings = std::vector<MachineFinding>;

const char* verdict_of(const MachineFinding& finding) {
  switch (finding.level) {
    case Level::kGood:
      return "good";
    case Level::kDoubtful:
      return "doubtful";
    case Level::kUnfit:
      return "unfit";
  }
  return "";
}

bool is_fit(const Findings& findings) {
  return std::none_of(findings.begin(), findings.end(),
                      [](const MachineFinding& finding) { return finding.level == Level::kUnfit; });
}

struct Info {
  std::string device;  // in the form of --device
  BuildInfo build;
  Environment environment;
  std::optional<std::string> cudnn;  // of the library that the dynamic loader finds
  std::optional<std::string> nvrtc;  // of the library that compiles for the GPU
  std::string why_no_nvrtc;
  std::optional<Findings> findings;  // if requested
};

/// The compiler of mask expressions, if the device is a GPU.
void find_compiler(const Device& device, Info& info) {
  if (device.info().kind != DeviceKind::kGpu || !device.info().sm) {
    info.why_no_nvrtc = "nothing is compiled for an emulated device";
    return;
  }
  try {
    info.nvrtc = nvrtc_for(*device.info().sm).version();
  } catch (const NvrtcMissing& error) {
    info.why_no_nvrtc = error.what();
  }
}

/// Build and environment as in a run's record. A minor version may add keys, and never renames or
/// removes one.
void print_json(const Info& info, std::ostream& out) {
  using Json = nlohmann::ordered_json;
  RunRecord run;
  run.build = info.build;
  run.environment = info.environment;
  const Json record = Json::parse(run_to_json(run));
  Json check;
  if (info.findings) {
    check = Json::array();
    for (const MachineFinding& finding : *info.findings) {
      check.push_back({{"level", verdict_of(finding)}, {"what", finding.what}});
    }
  }
  const Json document = {{"schema", {{"name", "sparkbench.info"}, {"version", "1.0.0"}}},
                         {"device", info.device},
                         {"build", record["build"]},
                         {"environment", record["environment"]},
                         {"cudnn_version", info.cudnn ? Json(*info.cudnn) : Json()},
                         {"nvrtc_version", info.nvrtc ? Json(*info.nvrtc) : Json()},
                         {"why_no_nvrtc", info.nvrtc ? Json() : Json(info.why_no_nvrtc)},
                         {"check", check}};
  out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

Facts build_facts(const BuildInfo& build, std::optional<int> sm) {
  Facts facts = {
      {"version", build.version},
      {"commit", or_unknown(build.git_sha) + (build.git_dirty.value_or(false) ? ", modified" : "")},
      {"build type", build.build_type},
      {"compiler", build.cxx_compiler},
      {"CUDA toolkit", build.cuda_toolkit ? *build.cuda_toolkit : "none: emulated devices only"}};
  if (!build.cuda_archs.empty()) {
    facts.push_back({"architectures", fmt::format("{}", fmt::join(build.cuda_archs, ", "))});
  }
  facts.push_back({"container", container_for(sm)});
  return facts;
}

Facts machine_facts(const Info& info) {
  const Environment& environment = info.environment;
  return {{"system", environment.os},
          {"processor", environment.cpu},
          {"driver", or_unknown(environment.driver_version)},
          {"CUDA of driver", or_unknown(environment.cuda_driver)},
          {"CUDA runtime", or_unknown(environment.cuda_runtime)},
          {"cuBLAS", or_unknown(environment.cublas_version)},
          {"cuDNN", or_unknown(info.cudnn)},
          {"NVRTC", info.nvrtc ? *info.nvrtc : info.why_no_nvrtc}};
}

void print_text(const Device& device, const Info& info, const TableView& view, std::ostream& out) {
  constexpr int kNames = 18;  // the longest name, "maximum SM clock", and a gap
  const bool is_gpu = device.info().kind == DeviceKind::kGpu;
  out << "Device " << device.name() << '\n'
      << format_facts(device_facts(device.info()), view, kNames) << "Build\n"
      << format_facts(build_facts(info.build, is_gpu ? device.info().sm : std::nullopt), view,
                      kNames)
      << "Machine\n"
      << format_facts(machine_facts(info), view, kNames);
  if (!info.findings) return;
  Facts facts;
  for (const MachineFinding& finding : *info.findings) {
    facts.push_back({verdict_of(finding), finding.what});
  }
  out << "Fit to measure\n" << format_facts(facts, view, kNames);
}

struct InfoOptions {
  std::string device = "auto";
  bool is_checked = false, is_json = false;
  TableOptions table;
};

/// Returns kEnvironment if a finding makes the machine unfit.
ExitCode run_info_command(const InfoOptions& options, const Streams& streams) {
  const auto device = open_device(options.device);
  Info info{device->name(),
            describe_build(),
            describe_environment(*device),
            gpu_libraries().cudnn_version,
            std::nullopt,
            "",
            std::nullopt};
  find_compiler(*device, info);
  if (options.is_checked) {
    info.findings = check_machine(*device, info.build, read_machine_state());
  }
  if (options.is_json) {
    print_json(info, streams.out);
  } else {
    print_text(*device, info, table_view(options.table, streams.out), streams.out);
  }
  return !info.findings || is_fit(*info.findings) ? ExitCode::kOk : ExitCode::kEnvironment;
}

}  // namespace

void add_info_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("info");
  const auto options = std::make_shared<InfoOptions>();
  command
      ->add_option("--device", options->device,
                   "auto (cuda:0, else emulated-v100), cuda:N, emulated-v100, emulated-t4, "
                   "emulated-a100, emulated-h100")
      ->capture_default_str();
  command->add_flag("--check", options->is_checked,
                    "report whether the machine is fit to measure on now");
  command->add_flag("--json", options->is_json, "one JSON document instead of text");
  add_width_flag(*command, options->table);
  command->callback([options, &invocation, &action] {
    action = [options, &invocation] { return run_info_command(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
