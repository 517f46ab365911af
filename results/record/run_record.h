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
  std::string version = "1.8.0";
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
  // From NVML, for a GPU; also power_limit_w.
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

/// Null for steps that the run did not do: an emulated run has no clock to read.
struct Method {
  std::optional<std::string> cache;  // "cold" or "hot"
  std::optional<std::uint64_t> flush_bytes;
  std::optional<double> warmup_ms;
  std::optional<int> min_samples;
  std::optional<double> max_noise;
  std::optional<double> min_seconds, max_seconds;  // of sampling a case
  std::optional<bool> held;                        // the stream, while a sample is queued
  std::optional<int> block_samples;                // in a row, if kernel and reference alternate
  std::optional<double> duty_cycle;                // the largest share of time that the GPU is busy
  std::optional<double> timeout_s;
  std::optional<std::string> statistic;  // "median"
  std::string flop_convention;
  std::string input;  // "normal", "uniform", "outliers", or "tensors": the user's
  std::optional<std::string> input_file;  // name of the user's tensor file
  std::optional<std::string> input_hash;  // FNV-1a of its bytes, 16 hexadecimal digits
  std::optional<std::string> oracle;      // none with --no-verify
  std::optional<double> tolerance_ratio;
  std::optional<bool> deterministic;  // none without a backward pass
};

struct RunRecord {
  SchemaVersion schema;
  RunInfo run;
  BuildInfo build;
  Environment environment;
  Method method;
  std::vector<CaseRecord> cases;
};

}  // namespace sparkbench
