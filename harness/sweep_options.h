// The flags that sweep, accuracy and run share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/case_runner.h"
#include "sweeps/axis_flags.h"

namespace CLI {
class App;
}

namespace sparkbench {

struct SweepOptions {
  AxisFlags axes;
  std::string preset;
  std::string device = "auto";
  std::uint64_t seed = 0;
  std::string input = "normal";
  std::string cache = "cold";
  int min_samples = 20;
  double max_noise = 0.005;
  double tolerance_ratio = 2.0;
  bool is_deterministic = false;
  bool skips_verification = false;
  bool stops_at_first_failure = false;
  bool is_dry_run = false;
  std::string json_file, csv_file, markdown_file;  // empty: not written; "-": standard output
  std::string out_folder;
  std::vector<std::string> tags;  // K=V
  bool is_quiet = false;
  bool hides_progress = false;
};

/// Adds the flags to a subcommand; they write into `options`, which must outlive parsing.
void add_sweep_flags(CLI::App& command, SweepOptions& options);

/// Throws UsageError when a tag is not K=V.
std::map<std::string, std::string> parse_tags(const std::vector<std::string>& tags);

/// What every case of the run shares. `is_timed`: whether the command measures time where it can;
/// `has_backward`: whether any case has a backward pass.
RunSettings make_run_settings(const SweepOptions& options, const Device& device, bool is_timed,
                              bool has_backward);

}  // namespace sparkbench
