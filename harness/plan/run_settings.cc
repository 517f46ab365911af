#include "harness/plan/run_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "harness/cli/options/sweep_options.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

/// "normal,uniform", without duplicates.
std::string inputs_of(const std::vector<SweepCase>& cases) {
  std::vector<std::string> inputs;
  for (const SweepCase& each : cases) {
    const std::string& input = each.problem.input.value();
    if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
  }
  return fmt::format("{}", fmt::join(inputs, ","));
}

void name_input(const std::string& path, const std::string& hash, Method& method) {
  method.input = "tensors";
  method.input_file = std::filesystem::path(path).filename().string();
  method.input_hash = hash;
}

}  // namespace

RunSettings make_run_settings(const SweepOptions& options, const Device& device, bool is_timed,
                              const std::vector<SweepCase>& cases) {
  RunSettings settings;
  settings.input.seed = options.seed;
  settings.is_deterministic = options.is_deterministic;
  settings.is_verified = !options.skips_verification && !options.is_profiled;
  settings.is_profiled = options.is_profiled;
  settings.tolerance.ratio = options.tolerance_ratio;
  settings.timing.is_wanted = is_timed && !options.is_profiled;
  settings.timing.flushes_l2 = options.cache == "cold";
  settings.timing.min_samples = options.min_samples;
  settings.timing.max_noise = options.max_noise;
  settings.timing.duty_cycle = options.duty_cycle;

  Method& method = settings.method;
  method.flop_convention = kFlopConvention;
  method.input = inputs_of(cases);
  if (has_backward(cases)) method.deterministic = options.is_deterministic;
  if (settings.is_verified) {
    method.oracle = "exact-fp64";
    method.tolerance_ratio = options.tolerance_ratio;
  }
  if (!options.is_in_process) method.timeout_s = options.timeout_s;
  if (settings.timing.is_wanted && device.info().kind == DeviceKind::kGpu) {
    method.cache = options.cache;
    if (settings.timing.flushes_l2) method.flush_bytes = 2 * device.info().l2_bytes.value_or(0);
    method.warmup_ms = settings.timing.warmup_ms;
    method.min_samples = options.min_samples;
    method.max_noise = options.max_noise;
    method.min_seconds = settings.timing.min_seconds;
    method.max_seconds = settings.timing.max_seconds;
    method.held = settings.timing.holds_stream;
    method.block_samples = settings.timing.block_samples;
    method.duty_cycle = options.duty_cycle;
    method.statistic = "median";
  }
  return settings;
}

void use_tensors(std::shared_ptr<const OwnTensors> tensors, RunSettings& settings) {
  name_input(tensors->path, tensors->hash, settings.method);
  settings.input.own = std::move(tensors);
}

void use_layer(std::shared_ptr<const OwnLayer> layer, RunSettings& settings) {
  name_input(layer->path, layer->hash, settings.method);
  settings.own_layer = std::move(layer);
}

}  // namespace sparkbench
