// The result of one run of the program: who measured, where, how, and every case.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/record/case_record.h"

namespace sparkbench {

/// Version of the file format. A minor version may add fields; it never renames or removes one.
struct SchemaVersion {
  std::string name = "sparkbench.run";
  std::string version = "1.14.0";
};

/// A key of RunInfo::resolved: a hash of the ids of all planned cases, over all shards.
inline constexpr const char* kGrid = "grid";

struct RunInfo {
  std::string id;
  std::string started_at;                  // ISO 8601, UTC
  std::optional<std::string> finished_at;  // none while running
  std::vector<std::string> argv;
  std::map<std::string, std::string> resolved;  // every option after presets and defaults
  std::map<std::string, std::string> tags;      // --tag K=V
  std::uint64_t seed = 0;
  bool complete = false;
  std::optional<int> exit_code;
  std::optional<std::string> resumed_from;
  std::optional<std::vector<std::string>> merged_from;  // ids of the runs that `merge` joined
};

struct BuildInfo {
  std::string version;
  std::optional<std::string> git_sha;
  std::optional<bool> git_dirty;
  std::string build_type;
  std::string cxx_compiler;
  std::optional<std::string> cuda_toolkit;
  std::vector<std::string> cuda_archs;
};

enum class DeviceKind { kGpu, kEmulated };

struct DeviceInfo {
  std::string name;
  DeviceKind kind = DeviceKind::kEmulated;
  std::string arithmetic;  // the tensor core's profile: "volta", ..., "native" on a GPU
  std::optional<int> sm;   // 70, 75, ...
  std::optional<int> sm_count;
  std::optional<std::uint64_t> l2_bytes, memory_bytes;
  std::optional<std::uint64_t> memory_available_bytes;  // when the run began
  std::optional<double> sm_clock_max_mhz, power_limit_w, peak_tflops, peak_gbps;
  std::optional<std::string> peak_source;  // "spec" or "measured"
  // NVML provides these fields, and power_limit_w, on a GPU.
  std::optional<std::string> uuid;
  std::optional<bool> ecc, persistence_mode;
  std::optional<DeviceState> state;  // when the run began
  /// The reason for each of these that is null, and for the driver's version; none for an emulated
  /// device.
  std::optional<std::map<std::string, std::string>> why_unknown;
};

struct Environment {
  std::string os;
  std::string cpu;
  std::optional<std::string> driver_version;  // NVIDIA's: "580.95.05"
  std::optional<std::string> cuda_driver;     // the newest CUDA that the driver supports: "13.0"
  std::optional<std::string> cuda_runtime, cublas_version;
  DeviceInfo device;
};

/// How cases are measured and judged. The flags set it, the timer reads it, and the record of the
/// run stores it. In a record a field is null when the run did not do it: an emulated run has no
/// clock. The initial values are those of the flags.
struct Method {
  // How samples are taken on a GPU.
  std::optional<std::string> cache = "cold";  // or "hot": the L2 is not flushed before a sample
  std::optional<std::uint64_t> flush_bytes;
  std::optional<double> warmup_ms = 25.0;  // of running the kernel before the first sample
  std::optional<int> min_samples = 20;
  std::optional<double> max_noise = 0.005;   // relative error of the median to stop at
  std::optional<double> min_seconds = 0.3;   // of sampling a case: the power governor settles
  std::optional<double> max_seconds = 10.0;  // of sampling a case
  std::optional<bool> held = true;           // the stream, while a sample is queued
  std::optional<int> block_samples = 10;     // of one candidate in a row, when several take turns
  std::optional<double> duty_cycle = 0.5;    // part of the time that the GPU is busy, at most
  std::optional<std::string> statistic = "median";

  std::optional<double> timeout_s = 600.0;  // of a case in a worker; none without workers
  std::string flop_convention;
  std::string input;  // "normal", "uniform", "outliers", or "tensors": the user's
  std::optional<std::string> input_file;             // name of the file of these
  std::optional<std::string> input_hash;             // FNV-1a of its bytes, 16 hexadecimal digits
  std::optional<std::string> oracle = "exact-fp64";  // none with --no-verify
  std::optional<double> tolerance_ratio = 2.0;       // error allowed, in the unfused computation's
  std::optional<bool> deterministic = false;         // none without a backward pass

  // No flag sets these, and records do not have them.
  int max_samples = 1000;  // of a case
  int min_blocks = 5;      // of one candidate: the clock may differ from block to block
};

/// Whether the cases are timed.
inline bool is_timed(const Method& method) { return method.statistic.has_value(); }

struct RunRecord {
  SchemaVersion schema;
  RunInfo run;
  BuildInfo build;
  Environment environment;
  Method method;
  std::vector<CaseRecord> cases;
};

}  // namespace sparkbench
