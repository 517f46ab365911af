// What a case would take on a V100, from the cycles of its kernel's machine code. The only header
// of the model that other rooms of the harness include.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "results/record/run_record.h"

namespace sparkbench {

struct CyclesFile;

class Predictor {
 public:
  /// `cycles` must outlive the predictor.
  explicit Predictor(const CyclesFile& cycles) : cycles_(&cycles) {}

  /// Gives a case of a V100-SXM2, real or emulated, its `predicted` time with the band, and each
  /// stage of a layer its likely time. The speed-up is over `baseline`, the unfused computation. A
  /// case without a prediction gets `predicted_reason`: "P-NO-CYCLES", the file lacks its kernel;
  /// "P-NO-MODEL", another kernel, reference or --layout; "P-TOO-LARGE", for the card's memory;
  /// "P-NO-WORK", no row sees a key. Cases of other devices stay as they are. `record` has its
  /// problem, work and memory. `software` multiplies what PyTorch launches in an eager layer.
  void predict(const DeviceInfo& device, std::string_view baseline, bool is_deterministic,
               const std::optional<SoftwareFactor>& software, CaseRecord& record) const;

 private:
  const CyclesFile* cycles_;
};

/// By kernels/volta/cycles.json, as it was when this program was configured.
const Predictor& v100_predictor();

bool is_emulated_v100(const DeviceInfo& device);

/// Why the V100 that `device` is, or stands for, has no room for so many bytes: "needs 36.0 GiB,
/// the V100 has 32.0 GiB". Empty where it has, and for other devices.
std::string why_too_large_for_v100(const DeviceInfo& device, std::uint64_t bytes);

}  // namespace sparkbench
