#include "harness/sweep_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sweeps/names.h"
#include "sweeps/usage_error.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

const std::map<std::string, Distribution>& distributions() {
  static const std::map<std::string, Distribution> names = {{"normal", Distribution::kNormal},
                                                            {"uniform", Distribution::kUniform},
                                                            {"outliers", Distribution::kOutliers}};
  return names;
}

/// Unlike CLI::Range, refuses NaN.
CLI::Validator within(double least, double most) {
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0.0;
        const bool is_within =
            CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
        return is_within ? "" : fmt::format("'{}' is not in {} to {}", text, least, most);
      },
      "");
}

/// CLI11 wraps a negative number around where an unsigned one is wanted.
std::string not_negative(const std::string& text) {
  return text.starts_with('-') ? fmt::format("'{}' is negative; allowed: 0 to 2^64 - 1", text) : "";
}

void add_axis_flags(CLI::App& command, AxisFlags& axes) {
  const char* const group = "Axes (lists: 64,128; k = 1024; ranges: 512:16k:*2, 64:256:+64)";
  const auto add = [&](const char* flag, std::optional<std::string>& value, const char* help) {
    command.add_option(flag, value, help)->group(group)->type_name("");
  };
  add("--kernel", axes.kernel, "names or globs: 'volta-*',unfused-fp16; all by default");
  add("--pass", axes.pass, "fwd, bwd, or fwd+bwd (a training step's attention)");
  add("--headdim", axes.head_dim, "head dimensions");
  add("--seqlen", axes.seqlen, "query sequence lengths");
  add("--seqlen-k", axes.seqlen_k, "key sequence lengths; the query's own by default");
  add("--causal", axes.causal, "true, false or both");
  add("--dropout", axes.dropout, "dropout probabilities in [0, 1)");
  add("--batch", axes.batch, "a number, or auto: total tokens / seqlen");
  add("--heads", axes.heads, "a number, or auto: hidden / head dimension");
  add("--total-tokens", axes.total_tokens, "tokens of an automatic batch");
  add("--hidden", axes.hidden, "hidden size of automatic heads");
}

void add_method_flags(CLI::App& command, SweepOptions& options) {
  const char* const group = "Method";
  command.add_option("--device", options.device, "auto, cuda:N, or an emulated device")
      ->group(group)
      ->capture_default_str();
  command.add_option("--seed", options.seed, "of the inputs and the dropout mask")
      ->group(group)
      ->check(not_negative)
      ->capture_default_str();
  command.add_option("--input", options.input, "normal, uniform or outliers")
      ->group(group)
      ->capture_default_str();
  command.add_option("--cache", options.cache, "cold (L2 flushed before each sample) or hot")
      ->group(group)
      ->check(CLI::IsMember({"cold", "hot"}))
      ->capture_default_str();
  command.add_option("--min-samples", options.min_samples, "samples of a timed case")
      ->group(group)
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  command.add_option("--max-noise", options.max_noise, "relative error of the mean to stop at")
      ->group(group)
      ->check(within(1e-6, 1.0))
      ->capture_default_str();
  command
      .add_option("--tolerance-ratio", options.tolerance_ratio,
                  "error allowed, in errors of the unfused computation")
      ->group(group)
      ->check(within(1e-6, 1e6))
      ->capture_default_str();
  command
      .add_flag("--deterministic", options.is_deterministic,
                "backward: gradients with the same bits in every run")
      ->group(group);
  command.add_flag("--no-verify", options.skips_verification, "do not compare with the oracle")
      ->group(group);
}

void add_output_flags(CLI::App& command, SweepOptions& options) {
  const char* const group = "Output ('-' is the standard output)";
  command.add_option("--json", options.json_file, "write the whole record")->group(group);
  command.add_option("--csv", options.csv_file, "write a row per case")->group(group);
  command.add_option("--md", options.markdown_file, "write the table as markdown")->group(group);
  command.add_option("--out", options.out_folder, "a new folder for all of them and a journal")
      ->group(group);
  command.add_option("--tag", options.tags, "K=V, kept in the record")->group(group);
  command.add_flag("--dry-run", options.is_dry_run, "list the cases and stop")->group(group);
  command
      .add_flag("--fail-fast", options.stops_at_first_failure,
                "stop at the first case that fails or is incorrect")
      ->group(group);
  command.add_flag("-q,--quiet", options.is_quiet, "no table, no progress")->group(group);
  command.add_flag("--no-progress", options.hides_progress, "no progress")->group(group);
}

}  // namespace

void add_sweep_flags(CLI::App& command, SweepOptions& options) {
  command.add_option("--preset", options.preset, "a named grid; see `sparkbench list`");
  add_axis_flags(command, options.axes);
  add_method_flags(command, options);
  add_output_flags(command, options);
}

std::map<std::string, std::string> parse_tags(const std::vector<std::string>& tags) {
  std::map<std::string, std::string> parsed;
  for (const std::string& tag : tags) {
    const std::size_t equals = tag.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError("--tag: '" + tag + "' is not KEY=VALUE");
    }
    parsed[tag.substr(0, equals)] = tag.substr(equals + 1);
  }
  return parsed;
}

RunSettings make_run_settings(const SweepOptions& options, const Device& device, bool is_timed,
                              bool has_backward) {
  std::vector<std::string> inputs;
  for (const auto& [name, distribution] : distributions()) inputs.push_back(name);
  if (!distributions().contains(options.input)) {
    throw UsageError(unknown_name_message("--input", options.input, inputs));
  }
  RunSettings settings;
  settings.input = {distributions().at(options.input), options.seed};
  settings.is_deterministic = options.is_deterministic;
  settings.is_verified = !options.skips_verification;
  settings.tolerance.ratio = options.tolerance_ratio;
  settings.timing.is_wanted = is_timed;
  settings.timing.flushes_l2 = options.cache == "cold";
  settings.timing.min_samples = options.min_samples;
  settings.timing.max_noise = options.max_noise;

  Method& method = settings.method;
  method.flop_convention = kFlopConvention;
  method.input = options.input;
  if (has_backward) method.deterministic = options.is_deterministic;
  if (settings.is_verified) {
    method.oracle = "exact-fp64";
    method.tolerance_ratio = options.tolerance_ratio;
  }
  if (is_timed && device.info().kind == DeviceKind::kGpu) {
    method.cache = options.cache;
    if (settings.timing.flushes_l2) method.flush_bytes = 2 * device.info().l2_bytes.value_or(0);
    method.warmup_ms = settings.timing.warmup_ms;
    method.min_samples = options.min_samples;
    method.max_noise = options.max_noise;
    method.statistic = "median";
  }
  return settings;
}

}  // namespace sparkbench
