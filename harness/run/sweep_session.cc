#include "harness/run/sweep_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "harness/cli/options/terminal.h"
#include "harness/devices/environment.h"
#include "harness/environment_error.h"
#include "harness/plan/planned_sweep.h"
#include "harness/run/interrupt.h"
#include "harness/run/nothing_ran.h"
#include "harness/run/progress.h"
#include "results/record/case_id.h"
#include "results/record/comparability.h"
#include "results/record/provenance.h"
#include "results/record/speedup.h"
#include "results/render/summary.h"
#include "results/store/output_file.h"
#include "results/store/run_folder.h"
#include "results/store/stored_run.h"
#include "sweeps/shell_word.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

RunRecord begin_run(const SweepRequest& request, RunRecord plan) {
  RunRecord run = std::move(plan);
  run.cases.clear();
  run.run.started_at = utc_timestamp();
  run.run.argv = request.argv;
  run.run.tags = parse_tags(request.options.tags);
  run.run.id = to_hex(
      fnv1a(fmt::format("{} {} {}", run.run.started_at, fmt::join(request.argv, " "), ::getpid())));
  return run;
}

bool is_bad(const CaseRecord& record) {
  return record.status == Status::kIncorrect || record.status == Status::kFailed;
}

/// Throws UsageError unless `now` continues the measurements of `then`.
void require_same_run(const SweepOptions& options, const RunRecord& then, const RunRecord& now) {
  for (const Difference& difference : find_changes(then, now)) {
    const auto& allowed = options.allowed;
    if (std::find(allowed.begin(), allowed.end(), difference.of) != allowed.end()) continue;
    if (difference.of == kFile) {
      throw UsageError(fmt::format(
          "--resume: '{}': the file {} has changed: it was {}, now it is {}; give the file that it "
          "was, or to keep the cases of both, --allow {}",
          options.resume_folder, difference.field, difference.first, difference.second, kFile));
    }
    throw UsageError(fmt::format(
        "--resume: '{}' has another {}: its {} is {}, now it is {}; to mix them, --allow {}",
        options.resume_folder, difference.of, difference.field, difference.first, difference.second,
        difference.of));
  }
}

/// Throws UsageError unless the row was measured with this run's settings: rows of another run have
/// the same ids.
void require_same_config(const SweepOptions& options, const CaseRecord& stored,
                         const CaseRecord& planned) {
  const auto& allowed = options.allowed;
  if (stored.config_hash == planned.config_hash ||
      std::find(allowed.begin(), allowed.end(), kMethod) != allowed.end()) {
    return;
  }
  throw UsageError(fmt::format(
      "--resume: '{}' has a row of {} that was measured otherwise than its run.json says "
      "(config_hash {}, not {}); is the journal another run's? To keep such rows, --allow {}",
      options.resume_folder, stored.id, stored.config_hash, planned.config_hash, kMethod));
}

/// The run in progress: finished cases, in the folder and in memory.
class Session : public CaseEvents {
 public:
  Session(const SweepRequest& request, const RunRecord& plan, const Streams& streams)
      : options_(request.options), plan_(plan), err_(streams.err), run_(begin_run(request, plan)) {
    positions_ = positions_of_shard(plan.cases, options_.shard);
    if (!options_.resume_folder.empty()) {
      folder_.emplace(options_.resume_folder, options_.salvages ? RunFolder::Opening::kSalvaged
                                                                : RunFolder::Opening::kResumed);
      take_up(stored_run());
    } else if (!options_.out_folder.empty()) {
      folder_.emplace(options_.out_folder);
    }
    if (folder_) folder_->write_head(assembled());
  }

  /// Positions of unfinished cases.
  std::vector<std::size_t> left_to_do() const {
    std::vector<std::size_t> left;
    std::copy_if(positions_.begin(), positions_.end(), std::back_inserter(left),
                 [&](std::size_t position) { return !done_.contains(position); });
    return left;
  }

  void show_progress_of(std::size_t cases) {
    constexpr int kUsualWidth = 80;
    const bool is_terminal = terminal_of(err_).has_value();
    progress_.emplace(
        err_, cases, !options_.is_quiet && !options_.hides_progress,
        is_terminal ? std::optional(terminal_width(err_).value_or(kUsualWidth)) : std::nullopt);
  }

  void began(const CaseRecord& planned) override { progress_->begin_case(planned.id); }

  void ended(CaseRecord record) override {
    if (!record.provenance) record.provenance = provenance_of(run_);
    record.provenance->run_id = run_.run.id;
    references_.compare(record);  // on the same GPU, by the provenance
    if (folder_) folder_->append(record);
    progress_->end_case(record);
    has_stopped_ = options_.stops_at_first_failure && is_bad(record);
    done_.insert_or_assign(*record.position, std::move(record));
  }

  void said(const std::string& text) override { progress_->note(text); }

  void waited() override { progress_->wait(std::chrono::steady_clock::now()); }

  bool is_stopped() const override { return has_stopped_ || interrupt_.is_interrupted(); }

  SweepResult finish() {
    progress_.reset();
    RunRecord run = assembled();
    run.run.complete = left_to_do().empty();
    run.run.finished_at = utc_timestamp();
    const bool is_interrupted = interrupt_.is_interrupted() && !run.run.complete;
    run.run.exit_code =
        static_cast<int>(is_interrupted ? ExitCode::kInterrupted : exit_code_of(run));
    if (folder_) folder_->write_derived(run, format_summary_markdown(run));
    const std::size_t planned = run.cases.size() + left_to_do().size();
    return {std::move(run), planned, std::nullopt};
  }

 private:
  /// From the folder that is resumed.
  RunRecord stored_run() const {
    try {
      // Cases that the journal lost are in run.json until that is rewritten.
      if (options_.salvages) return salvage_stored_run(options_.resume_folder).run;
      return read_stored_run(options_.resume_folder);
    } catch (const std::invalid_argument& error) {
      throw UsageError(fmt::format("--resume: {}", error.what()));
    }
  }

  /// Marks the plan's cases in `stored` as done; keeps its other cases too.
  void take_up(RunRecord stored) {
    require_same_run(options_, stored, plan_);
    tell_doubts(stored);
    stamp_provenance(stored);
    run_.run.resumed_from = stored.run.id;
    std::map<std::string, std::size_t> position_of;
    for (const CaseRecord& planned : plan_.cases) {
      position_of.emplace(case_key(planned), *planned.position);
    }
    const std::size_t stored_cases = stored.cases.size();
    for (CaseRecord& record : stored.cases) {
      const auto position = position_of.find(case_key(record));
      if (position == position_of.end()) {
        others_.push_back(std::move(record));
      } else if (record.status != Status::kFailed || !options_.retries_failed) {
        require_same_config(options_, record, plan_.cases[position->second]);
        references_.compare(record);
        record.position = position->second;
        done_.emplace(position->second, std::move(record));
      }
    }
    tell_other_grid(stored_cases);
  }

  /// The current flags may describe another grid.
  void tell_other_grid(std::size_t stored_cases) {
    if (others_.empty()) return;
    err_ << fmt::format(
        "--resume: {} of the {} cases in '{}' are not of the grid that these flags make, which has "
        "{}; they stay, and what that grid lacks is run\n",
        others_.size(), stored_cases, options_.resume_folder, positions_.size());
  }

  void tell_doubts(const RunRecord& stored) {
    if (options_.is_quiet) return;
    for (const Difference& doubt : find_doubts(stored, plan_)) {
      err_ << fmt::format("--resume: '{}': its {} is {}, now it is {}\n", options_.resume_folder,
                          doubt.field, doubt.first, doubt.second);
    }
  }

  RunRecord assembled() const {
    RunRecord run = run_;
    for (const auto& [position, record] : done_) run.cases.push_back(record);
    run.cases.insert(run.cases.end(), others_.begin(), others_.end());
    return run;
  }

  const SweepOptions& options_;
  const RunRecord& plan_;
  std::ostream& err_;
  RunRecord run_;  // without its cases
  std::vector<std::size_t> positions_;
  std::optional<RunFolder> folder_;
  TimedReferences references_;
  std::map<std::size_t, CaseRecord> done_;  // by position
  std::vector<CaseRecord> others_;
  bool has_stopped_ = false;
  std::optional<Progress> progress_;
  const InterruptGuard interrupt_;
};

}  // namespace

SweepResult run_sweep(const SweepRequest& request, CaseExecutor& executor, const Streams& streams) {
  Session session(request, executor.plan(), streams);
  const std::vector<std::size_t> positions = session.left_to_do();
  session.show_progress_of(positions.size());
  const std::string line = resume_line(request);
  const std::string remedy = line.empty() ? "" : "; to finish the rest: " + line;
  try {
    executor.run(positions, session);
    SweepResult result = session.finish();
    result.outputs = executor.take_outputs();
    return result;
  } catch (const OutputError& error) {
    throw OutputError(error.what() + remedy);
  } catch (const EnvironmentError& error) {
    session.finish();
    throw EnvironmentError(error.what() + remedy);
  }
}

ExitCode exit_code_of(const RunRecord& run) {
  if (run.run.exit_code) return static_cast<ExitCode>(*run.run.exit_code);
  const auto any = [&](Status status) {
    return std::any_of(run.cases.begin(), run.cases.end(),
                       [&](const CaseRecord& record) { return record.status == status; });
  };
  if (any(Status::kIncorrect)) return ExitCode::kFinding;
  if (any(Status::kFailed)) return ExitCode::kIncomplete;
  if (!why_nothing_ran(run).empty()) return ExitCode::kUsage;
  return ExitCode::kOk;
}

std::string resume_line(const SweepRequest& request) {
  const SweepOptions& options = request.options;
  const std::string& folder =
      options.out_folder.empty() ? options.resume_folder : options.out_folder;
  if (folder.empty()) return "";
  std::string line =
      fmt::format("sparkbench {} --resume {}", request.argv.at(1), shell_word(folder));
  for (const auto& [flag, path] : files_asked_for(options.files)) {
    line += fmt::format(" {} {}", flag, shell_word(path));
  }
  return line;
}

}  // namespace sparkbench
