#include "harness/cli/options/sweep_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "harness/cli/options/one_of.h"
#include "results/record/comparability.h"
#include "results/record/software_factor.h"
#include "sweeps/preset.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr const char* kDeviceHelp =
    "auto (cuda:0, else emulated-v100), cuda:N, emulated-v100, emulated-t4, emulated-a100, "
    "emulated-h100, a list of these (cuda:0,cuda:1), or all (GPUs)";

/// Unlike CLI::Range, rejects NaN.
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

/// Only decimal digits. CLI11 would read 010 as 8, 1'000 as 1000, and 2^64 as 2^64 - 1.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [=](const std::string& text) {
        std::uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        const bool has_leading_zero = text.size() > 1 && text.front() == '0';
        const bool is_taken = error == std::errc() && stop == end && !has_leading_zero &&
                              value >= least && value <= most;
        return is_taken ? std::string()
                        : fmt::format("'{}' is not a whole number from {} to {}, in decimal digits",
                                      text, least, most);
      },
      "");
}

/// The most common flags, shown first.
constexpr const char* kEveryday =
    "Everyday (lists 64,128; 1k = 1024; ranges 512:16k:*2, 64:256:+64; [default])";
constexpr std::string_view kEverydayAxes[] = {"--kernel", "--pass",   "--headdim", "--seqlen",
                                              "--mask",   "--causal", "--dropout"};

const char* group_of_axis(std::string_view flag) {
  const bool is_everyday = std::ranges::find(kEverydayAxes, flag) != std::end(kEverydayAxes);
  return is_everyday ? kEveryday : "More axes";
}

void add_axis_flags(CLI::App& command, SweepOptions& options) {
  const Workload workload = options.workload;
  const auto add = [&](const char* flag, const char* help, const std::string& allowed) {
    command
        .add_option_function<std::string>(
            flag, [&flags = options.axes, flag](const std::string& text) { flags[flag] = text; },
            fmt::format("{}: {}", help, allowed))
        ->group(group_of_axis(flag))
        ->type_name(allowed.starts_with("a number") ? "N" : "LIST");
  };
  for (const Axis* axis : axes_of(workload)) {
    const std::string allowed = allowed_of(*axis, workload);
    add(axis->flag, axis->help,
        fmt::format("{} [{}]", allowed,
                    options.takes_one_problem ? first_by_default(*axis) : axis->initial));
    const AxisShorthand& shorthand = axis->shorthand;
    if (shorthand.flag != nullptr) add(shorthand.flag, shorthand.help, shorthand.allowed);
  }
}

/// Commands that do not time know these flags, to reject them by name, but do not show them.
constexpr const char* kTimingFlags[] = {"--cache", "--min-samples", "--min-seconds", "--max-noise",
                                        "--duty-cycle"};
constexpr const char* kUnverifiedFlags[] = {"--no-verify", "--profile"};

void add_timing_flags(CLI::App& command, SweepOptions& options, const char* group) {
  command
      .add_option("--cache", *options.method.cache, "cold (L2 flushed before each sample) or hot")
      ->group(group)
      ->check(one_of({"cold", "hot"}))
      ->capture_default_str();
  command.add_option("--min-samples", *options.method.min_samples, "samples of a timed case")
      ->group(group)
      ->check(whole_number(2, 1000000))
      ->capture_default_str();
  command
      .add_option("--min-seconds", *options.method.min_seconds,
                  "seconds that a timed case is sampled at least")
      ->group(group)
      ->check(within(0.0, 10.0))
      ->capture_default_str();
  command
      .add_option("--max-noise", *options.method.max_noise,
                  "relative error of the median to stop at")
      ->group(group)
      ->check(within(1e-6, 1.0))
      ->capture_default_str();
  command
      .add_option("--duty-cycle", *options.method.duty_cycle,
                  "largest share of time that the GPU is busy while a case is timed")
      ->group(group)
      ->check(within(0.01, 1.0))
      ->capture_default_str();
}

void add_method_flags(CLI::App& command, SweepOptions& options, bool is_timed) {
  const char* const group = "Method";
  command.add_option("--device", options.device, kDeviceHelp)
      ->group(kEveryday)
      ->capture_default_str();
  command.add_option("--seed", options.seed, "seed of the inputs and the dropout mask")
      ->group(group)
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  add_timing_flags(command, options, is_timed ? group : "");
  command
      .add_option("--tolerance-ratio", *options.method.tolerance_ratio,
                  "allowed error over that of the unfused computation")
      ->group(group)
      ->check(within(1e-6, 1e6))
      ->capture_default_str();
  command
      .add_flag(
          "--deterministic", *options.method.deterministic,
          "backward: gradients with the same bits in every run; bits that differ are incorrect")
      ->group(group);
  command.add_flag("--no-verify", options.skips_verification, "do not compare with the oracle")
      ->group(is_timed ? group : "");
}

void add_execution_flags(CLI::App& command, SweepOptions& options, bool is_timed) {
  const char* const group = "Execution";
  command
      .add_option("--timeout", *options.method.timeout_s,
                  "time limit of a case in seconds; a worker has at least 60 to start")
      ->group(group)
      ->check(within(1e-3, 1e9))
      ->capture_default_str();
  command
      .add_flag("--fail-fast", options.stops_at_first_failure,
                "stop at the first case that fails or is incorrect")
      ->group(group);
  command
      .add_option("--shard", options.shard,
                  "I/N: the I-th of N parts of the sweep; `merge` joins them")
      ->type_name("I/N")
      ->group(group);
  command
      .add_flag("--in-process", options.is_in_process,
                "no worker processes, for debuggers: a crash then ends the sweep")
      ->group(group);
  command
      .add_flag("--profile", options.is_profiled,
                "launch each kernel once and nothing else, marked for ncu and nsys")
      ->group(is_timed ? group : "");
  command
      .add_flag("--dry-run", options.is_dry_run,
                "list the cases, their memory and time, and stop; writes no file but --json, "
                "with the cases")
      ->group(group);
  command.add_option("--worker", options.worker_device)->group("");  // worker_pool.h
}

void add_output_flags(CLI::App& command, SweepOptions& options) {
  const char* const group = kOutputGroup;
  add_file_flags(command, options.files);
  command
      .add_option("--out", options.out_folder, "a new folder for all of these files and a journal")
      ->type_name("FOLDER")
      ->group(group);
  command
      .add_option("--resume", options.resume_folder,
                  "finish the run of a folder, with the flags that began it and those given now")
      ->type_name("FOLDER")
      ->group(group);
  add_salvage_flag(command, options.salvages,
                   "with --resume: run cases again that are damaged in the journal");
  command
      .add_flag("--retry-failed", options.retries_failed, "with --resume: run failed cases again")
      ->group(group);
  command
      .add_option("--allow", options.allowed,
                  "with --resume: build, device, libraries, method, file: may differ from the "
                  "run's")
      ->group(group)
      ->take_all()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of({std::string(kBuild), std::string(kDevice), std::string(kLibraries),
                      std::string(kMethod), std::string(kFile)}));
  command.add_option("--tag", options.tags, "kept in the record")
      ->type_name("KEY=VALUE")
      ->group(group)
      ->take_all();
  command.add_flag("-q,--quiet", options.is_quiet, "no table, no progress")->group(group);
  command.add_flag("--no-progress", options.hides_progress, "no progress")->group(group);
}

}  // namespace

void add_sweep_flags(CLI::App& command, SweepOptions& options, bool is_timed) {
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command
      .add_option("--config",
                  "TOML file of flags (keys without dashes); the command line takes precedence")
      ->type_name("FILE");
  command
      .add_option("--preset", options.preset,
                  fmt::format("a named grid; flags replace its axes: {}",
                              fmt::join(preset_names(options.workload), ", ")))
      ->group(kEveryday);
  add_axis_flags(command, options);
  add_method_flags(command, options, is_timed);
  add_execution_flags(command, options, is_timed);
  add_output_flags(command, options);
}

void add_tensors_flag(CLI::App& command, SweepOptions& options) {
  command
      .add_option("--tensors", options.tensors_file,
                  options.workload == Workload::kLayer
                      ? "a safetensors file of weights and x (and d_y) instead of generated ones"
                      : "a safetensors file of q, k, v (and d_o) instead of generated inputs")
      ->group("Method");
}

void add_software_factor_flag(CLI::App& command, SweepOptions& options) {
  command
      .add_option("--software-factor", options.software_factor,
                  "a name and a factor of yours (0.1 to 10) by which predicted times of what "
                  "PyTorch launches are multiplied, with --rest eager; records say so [none]")
      ->type_name("NAME=FACTOR")
      ->group("Method");
}

void check_tensors_flag(const CLI::App& command, const SweepOptions& options) {
  if (options.tensors_file.empty()) return;
  for (const Axis* axis : axes_of(options.workload)) {
    if (!is_said_by_tensors(*axis, options.workload) || command.count(axis->flag) == 0) continue;
    throw UsageError(
        fmt::format("{}: the tensors of --tensors determine it already; leave it out", axis->flag));
  }
}

void check_untimed_flags(const CLI::App& command) {
  for (const char* flag : kTimingFlags) {
    if (command.count(flag) == 0) continue;
    throw UsageError(fmt::format("{}: {} does not time; leave it out", flag, command.get_name()));
  }
  for (const char* flag : kUnverifiedFlags) {
    if (command.count(flag) == 0) continue;
    throw UsageError(fmt::format("{}: {} does nothing but verify", flag, command.get_name()));
  }
}

void check_sweep_flags(const SweepOptions& options) {
  const auto exclude = [](bool holds, const char* message) {
    if (holds) throw UsageError(message);
  };
  const bool is_resumed = !options.resume_folder.empty();
  exclude(is_resumed && !options.out_folder.empty(),
          "--resume and --out: a resumed run stays in its folder; leave out --out");
  exclude(!is_resumed && options.retries_failed, "--retry-failed: needs --resume");
  exclude(!is_resumed && options.salvages, "--salvage: needs --resume");
  exclude(!is_resumed && !options.allowed.empty(), "--allow: needs --resume");
  exclude(options.is_profiled && !options.files.outputs.empty(),
          "--profile and --save-outputs: a profiled run keeps no outputs");
  parse_tags(options.tags);
  if (!options.software_factor.empty()) parse_software_factor(options.software_factor);
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

}  // namespace sparkbench
