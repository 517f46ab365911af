// Probes on a GPU measure the two properties of the chip that the cycle model assumes: the cost of
// a product with fresh operands, and the rate at which code arrives that no L0 cache holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/model/predict/cycles_file.h"
#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// What repeated measurements gave.
struct Spread {
  double median = 0, min = 0, max = 0;
};

/// A loop of products: cycles a product and scheduler.
struct ProductReading {
  bool has_fresh_operands = false;
  int warps_per_scheduler = 1;
  Spread cycles;
};

/// Who runs straight-line code on a scheduler.
enum class CodeSharing { kOneWarp, kTwoWarps, kTwoWarpsOwnCode };
inline constexpr int kCodeSharings = 3;

/// A loop of straight-line code: instructions a clock and scheduler.
struct CodeReading {
  CodeSharing sharing = CodeSharing::kOneWarp;
  int code_bytes = 0;  // of all the code that a scheduler's warps run
  Spread instructions_per_clock;
};

struct CalibrationReadings {
  std::string product;   // the instruction that was measured
  double clock_mhz = 0;  // while it was measured
  int repeats = 0;       // of each measurement
  std::vector<ProductReading> products;
  std::vector<CodeReading> code;
};

/// How code arrives that a scheduler's L0 cache does not hold.
struct CodeSupply {
  int full_rate_bytes = 0;  // the most code that was run at nearly the rate of the least
  bool is_limited = false;  // false: all of it was
  Spread bytes_per_clock;   // of the slowest; where nothing is limited, at least so many
};

struct CalibrationFindings {
  Spread no_reuse_cycles[2];  // that fresh operands cost a product; one warp a scheduler, two
  CodeSupply supply[kCodeSharings];
  /// Which assumption of the model the chip is like; none but for an sm_70, of which the model is.
  std::optional<ChipAssumption> fits;
  std::string sentence;
};

/// Throws std::invalid_argument when a reading is missing or is no positive number. `sm` is 70, ...
CalibrationFindings evaluate(const CalibrationReadings& readings, int sm);

/// "one warp", "two warps", "two warps, own code"
std::string_view name_of(CodeSharing sharing);

/// On the current device, an open GPU of this architecture with so many SMs. Throws
/// EnvironmentError in a build without CUDA, std::runtime_error on an error of CUDA's and when the
/// GPU is not this program's alone.
CalibrationReadings read_probes(int sm, int sm_count);

/// Two tables and the sentence.
std::string format_calibration(const DeviceInfo& device, const CalibrationReadings& readings,
                               const CalibrationFindings& findings, const TableView& view = {});

/// What was measured, when, on what and by what build: calibration.json. `measured_at` is UTC, ISO
/// 8601.
std::string calibration_to_json(const std::string& measured_at, const BuildInfo& build,
                                const Environment& environment, const CalibrationReadings& readings,
                                const CalibrationFindings& findings);

}  // namespace sparkbench
