// The files that a command reads and writes: stored runs, a run's outputs in every format, and a
// kernel's whole outputs (--save-outputs).
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "harness/devices/device.h"
#include "harness/plan/planned_sweep.h"
#include "results/record/run_record.h"
#include "sweeps/grid.h"

namespace sparkbench {

/// The kernel whose outputs are saved if --kernel names none: one with FP32 accumulators, on the
/// device's own tensor cores if possible.
std::string kernel_to_save(const Device& device);

/// Throws UsageError unless the cases have one kernel, which is not a reference: a reference may
/// compute only the compared rows.
void check_savable(const std::vector<SweepCase>& cases, const Device& device);

/// One line if the device would normally compute only a sample of the problem, else empty.
std::string cost_of_saving(const CaseProblem& problem, const Device& device);

/// The file: o and, for a pass with a backward one, dq, dk and dv, F16, [batch, seqlen, heads,
/// head_dim]; lse, F32, [batch, heads, seqlen_q]. For varlen these are [total, heads, head_dim] and
/// [heads, total_q], with the offsets cu_seqlens_q and cu_seqlens_k, I32. Gradients start from this
/// o and lse. The metadata identify the case and the run.
std::string outputs_to_safetensors(const PassOutputs& outputs, const CaseRecord& record,
                                   const RunRecord& run);

/// A command's streams: results to `out`, everything else to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
};

struct SweepResult {
  RunRecord run;                       // in the plan's order
  std::size_t planned = 0;             // number of cases of a complete run
  std::optional<PassOutputs> outputs;  // to be saved, if that case finished
};

/// Stored runs that no output may overwrite. Empty paths are ignored.
struct RunsBeside {
  std::vector<std::string> own;   // --json may write the run's run.json, --csv its cases.csv
  std::vector<std::string> read;  // none of their files may be written
};

/// The folders of --out and --resume.
RunsBeside runs_beside(const SweepOptions& options);

/// Called before the first case. Throws UsageError and OutputError if an output cannot be written,
/// or would overwrite another one, `tensors_file` or a file of one of the runs.
void check_outputs(const OutputFiles& files, const RunsBeside& runs,
                   const std::string& tensors_file = "");

/// The stream for people: the error stream if an output uses the standard one.
std::ostream& report_stream(const OutputFiles& files, const Streams& streams);

/// What --json and --html write: the run, unless a command says otherwise.
struct RunFormats {
  std::function<std::string(const RunRecord&)> json, html;

  bool are_own() const { return json != nullptr; }
};

/// Writes --json, --csv, --md and --html. Writes all that it can before it throws OutputError for
/// one that failed.
void write_outputs(const OutputFiles& files, const RunRecord& run, const Streams& streams,
                   const RunFormats& formats = {});

/// Writes --save-outputs if `file` is not empty. Throws OutputError, also if there is nothing to
/// write.
void save_outputs(const std::string& file, const SweepResult& result, const Streams& streams);

/// See read_stored_run(). Throws UsageError.
RunRecord load_run(const std::string& path);

/// The same without damaged rows of its journal, which are reported to `err`, a line each.
RunRecord salvage_run(const std::string& path, std::ostream& err);

/// For merging: every case records its run.
std::vector<RunRecord> load_runs(const std::vector<std::string>& paths);

}  // namespace sparkbench
