#include "harness/plan/run_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "harness/cli/options/sweep_options.h"
#include "results/record/record_fields.h"
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

}  // namespace

RunSettings make_run_settings(const SweepOptions& options, const Device& device, bool is_timed,
                              const std::vector<SweepCase>& cases,
                              std::shared_ptr<const OwnInputs> own) {
  RunSettings settings;
  settings.input.seed = options.seed;
  settings.is_deterministic = *options.method.deterministic;
  settings.is_verified = !options.skips_verification && !options.is_profiled;
  settings.is_profiled = options.is_profiled;

  Method& method = settings.method = options.method;
  method.flop_convention = kFlopConvention;
  if (own == nullptr) {
    method.input = inputs_of(cases);
  } else {
    method.input = "tensors";
    method.input_file = std::filesystem::path(own->path).filename().string();
    method.input_hash = own->hash;
    settings.own = std::move(own);
  }
  if (!has_backward(cases)) method.deterministic.reset();
  if (!settings.is_verified) {
    method.oracle.reset();
    method.tolerance_ratio.reset();
  }
  if (options.is_in_process) method.timeout_s.reset();
  if (method.cache == "cold") method.flush_bytes = 2 * device.info().l2_bytes.value_or(0);
  const bool has_clock = device.info().kind == DeviceKind::kGpu;
  if (!is_timed || options.is_profiled || !has_clock) leave_untimed(method);
  return settings;
}

}  // namespace sparkbench
