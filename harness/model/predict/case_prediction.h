// What a case's record says it would take on a V100.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/model/predict/cycles_file.h"
#include "harness/model/predict/problem_time.h"
#include "harness/model/predict/v100_constants.h"
#include "results/record/run_record.h"

namespace sparkbench {

inline constexpr std::string_view kPredictedChip = "V100-SXM2";

/// The card that is predicted, and what its device calls the unfused baseline.
struct PredictedCard {
  std::string baseline;
  std::string device;  // that it stands for: "V100", "Tesla V100-SXM2-16GB"
  int sms = kV100Sms;
  std::uint64_t memory_bytes = kV100MemoryBytes;
};

/// A V100 or one that is emulated; none for any other device.
std::optional<PredictedCard> predicted_card(const DeviceInfo& device, const std::string& baseline);

struct CasePrediction {
  std::optional<Prediction> predicted;
  /// Where there is none: "P-NO-CYCLES", of an instance that the file lacks; "P-NO-MODEL", of
  /// another kernel or reference; "P-TOO-LARGE", for the card's memory; "P-NO-WORK", where no row
  /// sees a key.
  std::optional<Reason> why_not;
};

/// "" of what fits, else "needs 36.0 GiB, the V100 has 32.0 GiB".
std::string why_too_large(std::uint64_t bytes, const PredictedCard& card);

/// Of an attention alone.
struct AttentionPrediction {
  std::optional<PassTime> time;
  int launches = 0;
  std::optional<Reason> why_not;  // P-NO-CYCLES or P-NO-MODEL, where there is no time
};

/// By a kernel of that name, or the baseline.
AttentionPrediction predict_attention(const std::string& kernel_name, const CaseProblem& problem,
                                      bool is_deterministic, const PredictedCard& card,
                                      const CyclesFile& cycles);

/// Of a kernel of ours, or of the baseline; a speed-up where both can be predicted and run: its
/// ends are those of the baseline's time over the opposite ones of the kernel's, as if nothing made
/// both slow or fast together. `record` has the case's problem, work and memory.
CasePrediction predict_case(const CaseRecord& record, bool is_deterministic,
                            const PredictedCard& card, const CyclesFile& cycles);

}  // namespace sparkbench
