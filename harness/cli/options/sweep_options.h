// The flags that sweep, accuracy and run share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/options/output_options.h"
#include "harness/cli/options/table_options.h"
#include "results/record/run_record.h"
#include "sweeps/axis_flags.h"

namespace CLI {
class App;
}

namespace sparkbench {

struct SweepOptions {
  Workload workload = Workload::kAttention;  // the command's
  bool takes_one_problem = false;            // the command does: an axis has one default
  AxisFlags axes;
  std::string preset;
  std::string device = "auto";
  std::uint64_t seed = 0;
  Method method;
  bool skips_verification = false;
  bool stops_at_first_failure = false;
  bool is_dry_run = false;
  OutputFiles files;
  std::string out_folder, resume_folder;  // at most one of them
  bool retries_failed = false;
  bool salvages = false;             // damaged cases of the journal run again
  std::vector<std::string> allowed;  // differences from the resumed run
  std::string shard;                 // "I/N"; empty: all
  std::vector<std::string> tags;     // K=V
  std::string tensors_file;          // the user's own inputs; empty: they are generated
  std::string software_factor;       // NAME=FACTOR of predicted eager layers; empty: none
  bool is_quiet = false;
  bool hides_progress = false;
  bool is_in_process = false;  // no worker processes
  bool is_profiled = false;    // each kernel launched once, for a profiler
  std::string worker_device;   // in a worker: its device; else empty
  TableOptions table;
};

/// Adds the flags of the options' workload to a subcommand. They write to `options`, which must
/// outlive parsing. Timing flags, --no-verify and --profile are shown only if a command times.
void add_sweep_flags(CLI::App& command, SweepOptions& options, bool is_timed);

/// Adds --tensors.
void add_tensors_flag(CLI::App& command, SweepOptions& options);

/// Adds --software-factor.
void add_software_factor_flag(CLI::App& command, SweepOptions& options);

/// Throws UsageError if --tensors is combined with a flag for a value that the tensors determine.
void check_tensors_flag(const CLI::App& command, const SweepOptions& options);

/// For a command that does not time: throws UsageError for the hidden flags.
void check_untimed_flags(const CLI::App& command);

/// Throws UsageError for flags that exclude each other, and for a tag that is not K=V.
void check_sweep_flags(const SweepOptions& options);

/// Throws UsageError if a tag is not K=V.
std::map<std::string, std::string> parse_tags(const std::vector<std::string>& tags);

}  // namespace sparkbench
