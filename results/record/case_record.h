// The result of one case: one kernel on one problem. Names are the JSON's
// (results/sparkbench.run.schema.json). An unknown value is std::nullopt and becomes null, and a
// reason or a warning says why; it is never 0, -1 or inf.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/software_factor.h"
#include "sweeps/case_problem.h"

namespace sparkbench {

enum class Role { kFused, kReference };

/// skipped: not attempted, for a stated reason. failed: attempted, but did not finish. unverified:
/// finished, but the result was not checked. predicted: not attempted, but a model predicts its
/// time.
enum class Status { kOk, kIncorrect, kSkipped, kFailed, kUnverified, kPredicted };

struct Reason {
  std::string code;  // "E-UNSUPPORTED", "E-OUT-OF-MEMORY", ...
  std::string message;
};

struct Warning {
  std::string code;  // "W-MMA884-EMULATED", "W-EMULATED-NO-TIME", ...
  std::string message;
  std::optional<double> value;
};

struct TimeMs {
  double median = 0, mean = 0, min = 0, max = 0, stdev = 0, q1 = 0, q3 = 0;
  std::vector<double> samples;
};

struct Sampling {
  int count = 0;
  std::string stop_reason;  // "noise", "time" or "samples"
  double median_error = 0;  // relative standard error of the median, over samples or blocks
  int flagged = 0;          // samples kept but not trusted (throttled)
  bool held = true;         // no sample includes the time to launch
  /// Samples whose outputs were compared with the verified ones; null if none could be.
  std::optional<int> checked = std::nullopt;
};

struct ClockMhz {
  double median = 0, min = 0, max = 0;
  std::vector<std::optional<double>> samples;  // none for a sample too short for a clock reading
};

struct MemoryBytes {
  std::uint64_t io = 0;
  std::uint64_t workspace = 0;
  std::optional<std::uint64_t> peak;     // measured
  std::uint64_t predicted = 0;           // the peak, before allocating
  std::optional<std::uint64_t> unfused;  // predicted peak of the unfused computation in fp16
};

/// Errors of one output tensor against an oracle (reference/error_metrics.h). `nonfinite` counts
/// elements that are finite in only one of output and oracle. If it is not 0, every metric is NaN,
/// and null in JSON.
struct Accuracy {
  std::string output = "o";
  std::string oracle;  // "exact-fp64", ...
  std::uint64_t checked_elements = 0;
  std::optional<std::uint64_t> checked_rows;
  /// Whether the rows are a sample. Its sums and means weight each row by the number of rows that
  /// it represents.
  std::optional<bool> weighted;
  double max_abs = 0, mean_abs = 0, rmse = 0;
  double rel_l1 = 0;  // sum|o - r| / sum|r|, the paper's percentages / 100
  double rel_l2 = 0, mean_rel = 0, max_rel = 0, rel_floor = 0, cosine_diff = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t nonfinite = 0;
  std::vector<std::int64_t> worst_index;  // (batch, row, head, dim)
  double worst_got = 0, worst_want = 0;
  /// The largest rel_l1 of a checked row whose reference is not all 0.
  std::optional<double> worst_row_rel_l1;
  std::optional<std::vector<std::int64_t>> worst_row;  // (batch, row, head)
  /// rel_l2 over that of the unfused computation with the same accumulator; the verdict uses it.
  /// None if it is not finite.
  std::optional<double> error_ratio;
  std::optional<double> error_over_unfused;  // kErrorOverUnfusedMeaning; none if it is not finite
  std::optional<double> lse_max_abs;         // none for gradients
  std::optional<double> dropout_kept_fraction;
  std::optional<std::string> mask_hash;  // 16 hexadecimal digits
  std::optional<bool> bitwise_repeatable;
  std::optional<std::string> output_hash;  // FNV-1a of the checked bytes, 16 hexadecimal digits
};

/// For a backward pass; each `output` is the gradient's name.
struct GradientAccuracy {
  Accuracy dq, dk, dv;
  std::optional<Accuracy> o;  // of the forward pass before it, if the case has one
};

/// Exact counts of an emulated run, for the query tiles that ran (all or a sample).
struct Emulation {
  double host_seconds = 0;
  std::uint64_t tiles_run = 0, tiles_total = 0;
  std::uint64_t mma = 0, mma_fp16acc = 0;  // the second is part of the first
  std::uint64_t mufu = 0, half_conversions = 0, half_widenings = 0, fma = 0;
  std::uint64_t shuffles = 0, barriers = 0;
  std::uint64_t shared_loads = 0, shared_stores = 0, shared_wavefronts = 0, bank_conflicts = 0;
  std::uint64_t global_loads = 0, global_stores = 0, global_atomics = 0, global_wavefronts = 0;
  std::uint64_t global_sectors_read = 0, global_sectors_written = 0, global_sectors_added = 0;
  std::uint64_t races = 0, findings = 0;  // findings: races and all other reports
};

/// Milliseconds that are not measured: the likely value and the ends of its band.
struct TimeBand {
  double low = 0, likely = 0, high = 0;
};

struct PredictedSpeedup {
  std::string over;  // the unfused baseline, also predicted
  double low = 0, likely = 0, high = 0;
};

/// Values of Prediction::basis: cycles of the kernel's machine code from a model of the chip, or
/// published rates.
inline constexpr std::string_view kPredictedByCycles = "cycle model";
inline constexpr std::string_view kPredictedByRates = "published rates";
/// For a layer: its attention by the first, the rest by the second.
inline constexpr std::string_view kPredictedByBoth = "cycle model and published rates";

/// The predicted time of a case on a chip where it did not run; never a measured time.
struct Prediction {
  std::string chip;
  std::string basis;
  TimeBand time_ms;
  double tflops = 0;                // at the likely time
  std::optional<double> clock_mhz;  // at the likely and the high time; none for published rates
  std::optional<double> low_clock_mhz;
  std::string binding;  // "tensor", "issue", "lsu", ..., "hbm", "l2", "launch", "last wave"
  std::optional<PredictedSpeedup> speedup;
  std::optional<SoftwareFactor> software;  // that time_ms has already; none: the model's time
};

struct Speedup {
  std::string over;  // the baseline kernel
  double ratio = 0;  // of the medians
  std::optional<double> ratio_stdev;
  std::optional<double> over_median_ms;  // as timed for this ratio
  bool interleaved = false;              // samples of both alternated
};

/// Versions of the libraries that computed a case, by name: "cublas", "cudnn", "torch". A kernel
/// from a library of the user's has its version by its own name and, by the name of its file, that
/// file's hash (file_hash_text()).
using Libraries = std::map<std::string, std::string>;

/// The version of a library that is identified by its bytes: "fnv1a 0123456789abcdef".
inline std::string file_hash_text(const std::string& hash) { return "fnv1a " + hash; }
inline bool is_file_hash(std::string_view version) { return version.starts_with("fnv1a "); }

/// NVML's readings for a GPU at one moment. Null if unknown: DeviceInfo::why_unknown.
struct DeviceState {
  std::optional<double> temperature_c;
  std::optional<double> power_draw_w;                        // NVML's own mean, over up to a second
  std::optional<std::vector<std::string>> throttle_reasons;  // "sw_power_cap", ...; none: empty
};

/// The run, device and sources of a case. It lets the case leave its run: in a CSV row, or in a
/// resumed or merged run.
struct Provenance {
  std::string run_id;
  std::string version;  // of the program
  std::optional<std::string> git_sha;
  std::optional<bool> git_dirty;
  std::string device_name;
  std::string device_kind;  // name_of(DeviceKind)
  std::optional<std::string> device_uuid, driver_version;
};

/// A step of an unfused pass, timed by itself: a matrix product, or the softmax between two
/// products.
struct PassPart {
  std::string name;
  double ms = 0;                        // median
  std::uint64_t bytes = 0;              // read and written, each once
  std::uint64_t flops = 0;              // of a matrix product, masked pairs included; else 0
  std::optional<double> copy_fraction;  // of the copy's bandwidth
  std::optional<double> peak_fraction;  // of the device's peak, for a matrix product
};

/// From passes outside the samples of time_ms.
struct PassParts {
  int passes = 0;
  std::optional<double> copy_gbps;  // read and written by a copy, measured with them
  std::vector<PassPart> of;
};

/// How many (row, key) pairs of all heads a mask leaves visible, and how many are computed.
struct MaskWork {
  std::uint64_t pairs_visible = 0;
  std::optional<double> density;  // share of all pairs; none if there are no pairs
  // For a forward pass, from the kernel's tile plan; none without a plan, and then why_no_plan has
  // the reason.
  std::optional<std::uint64_t> pairs_executed;  // by matrix products
  std::optional<double> partial_share;          // share of partial tiles among the visited ones
  std::optional<double> analysis_us;            // on the host, from the mask to the plan
  std::optional<std::uint64_t> metadata_bytes;  // metadata that a kernel reads
  std::optional<std::string> why_no_plan;
  // For plans of our kernels on a GPU with code compiled at run time: the time of the first call,
  // and the source of the code ("nvrtc", "disk"). Otherwise why_no_jit has the reason.
  std::optional<double> jit_first_call_ms;
  std::optional<std::string> jit_code_from;
  std::optional<std::string> why_no_jit;
};

/// A stage of an encoder layer (reference/encoder/layer_steps.h), forward and backward together.
struct StageOutcome {
  std::string name;  // "qkv", "mha", "proj", "ln1", "ff1", "ff2", "ln2"
  std::uint64_t flops = 0, bytes = 0;
  int launches = 0;
  std::optional<TimeBand> predicted_ms;
  std::optional<double> time_ms;  // median, timed by itself
};

/// The error of a part of a layer against fp64.
struct LayerError {
  /// "output", "before_residual"; a stage, given exact inputs: "qkv", ...; a gradient: "dx", "dWo".
  std::string of;
  std::uint64_t checked_elements = 0;
  double rel_l2 = 0, max_abs = 0;
  std::optional<double> over_unfused;  // rel_l2 over that of the unfused fp16 layer
};

/// Results of a layer, in addition to those of its attention.
struct LayerOutcome {
  int launches = 0;  // counted in a CUDA graph of the pass on a GPU, else as listed; 0: unknown
  std::uint64_t weight_bytes = 0;
  std::uint64_t peak_bytes = 0;           // predicted, without the weights
  std::optional<double> attention_share;  // of the measured time, or of the likely time without one
  std::optional<double> gap_ms;           // time of the whole minus the sum of its stages
  std::optional<double> graph_ms;         // time of the whole as a CUDA graph
  std::vector<StageOutcome> stages;
  std::vector<LayerError> errors;  // empty if not verified
};

struct CaseRecord {
  std::string id;           // make_case_id()
  std::string config_hash;  // make_config_hash()
  std::string kernel;
  Role role = Role::kFused;
  std::optional<Accumulator> accumulator;  // none for a reference without tensor cores
  CaseProblem problem;
  Status status = Status::kOk;
  std::optional<Reason> reason;  // for any status but ok
  bool valid = true;             // whether the times are representative of the kernel
  std::vector<Warning> warnings;
  std::optional<TimeMs> time_ms;  // none on an emulated device
  std::optional<double> noise;    // stdev / mean of the samples
  std::optional<Sampling> sampling;
  std::optional<ClockMhz> clock_mhz;
  std::uint64_t flops = 0, bytes = 0;  // useful work (sweeps/work.h)
  std::optional<double> tflops, gbps, peak_fraction, bandwidth_fraction;
  std::optional<MemoryBytes> memory_bytes;
  // One JSON field, "accuracy"; neither if not verified.
  std::optional<Accuracy> accuracy;                   // for a forward pass
  std::optional<GradientAccuracy> gradient_accuracy;  // for a pass with a backward part
  std::optional<Emulation> emulation;
  std::optional<Speedup> speedup;
  std::string repro;                        // a shell line that repeats this case
  std::optional<std::string> device;        // in the form of --device: "cuda:3"
  std::optional<std::uint64_t> position;    // in the whole sweep, over all its shards, from 0
  std::optional<double> elapsed_s;          // wall time of the case: inputs, oracle, measuring
  std::optional<Libraries> libraries;       // called by the kernel; none in records before 1.1
  std::optional<DeviceState> device_state;  // after the last sample
  std::optional<Provenance> provenance;     // none in records before 1.1
  std::optional<PassParts> parts;           // for a reference, if requested (`sparkbench run`)
  std::optional<Prediction> predicted;      // for a V100, emulated or not
  std::optional<Reason> predicted_reason;   // why there is no prediction
  std::optional<MaskWork> mask_work;        // none in records before 1.5
  std::optional<LayerOutcome> layer;        // for an encoder layer
};

/// The meaning of Accuracy::error_over_unfused for a table's legend: one measure for all kernels.
inline constexpr std::string_view kErrorOverUnfusedMeaning =
    "rel_l2 over that of the unfused computation with FP32 accumulators";

/// For a case that is ok although its error is large compared with that computation; the warning's
/// value is error_over_unfused.
inline constexpr std::string_view kOverUnfusedWarning = "W-ERROR-OVER-UNFUSED";

/// Every case of an emulated device has it, because there is no clock.
inline constexpr std::string_view kNoTimeWarning = "W-EMULATED-NO-TIME";

/// For a kernel that writes no LSE, whose lse_max_abs is then unknown.
inline constexpr std::string_view kNoLseWarning = "W-NO-LSE";

/// For a kernel that compiled or tuned itself; the warning's value is the seconds.
inline constexpr std::string_view kPrepareTimeWarning = "W-PREPARE-TIME";

/// The checked outputs: o of a forward pass, then dq, dk and dv of a backward pass; empty if not
/// verified. Points into `record`.
std::vector<const Accuracy*> accuracies_of(const CaseRecord& record);

/// Whether errors cover every row of every output, or every token of a layer.
bool has_all_rows_checked(const CaseRecord& record);

/// The largest error_over_unfused of the checked outputs; none if one of them has none.
std::optional<double> worst_error_over_unfused(const CaseRecord& record);

/// Whether it was attempted: it has a result, or failed.
inline bool is_attempted(const CaseRecord& record) {
  return record.status != Status::kSkipped && record.status != Status::kPredicted;
}

/// Whether it finished and is not known to be wrong.
inline bool is_usable(const CaseRecord& record) {
  return record.status == Status::kOk || record.status == Status::kUnverified;
}

/// The warning with that code; null if there is none.
const Warning* find_warning(const CaseRecord& record, std::string_view code);

/// Converts a case from an earlier version to the current meaning of its fields. Metrics of an
/// output that is not finite become NaN, and error_over_unfused becomes error_ratio for FP32
/// accumulators.
void bring_up_to_date(CaseRecord& record);

/// The accuracy of "o", "dq", "dk" or "dv"; null if it was not checked.
const Accuracy* find_accuracy(const CaseRecord& record, std::string_view output);

}  // namespace sparkbench
