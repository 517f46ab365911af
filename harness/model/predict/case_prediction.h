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
  std::optional<Reason> why_not;  // where there is none; codes: Predictor::predict()
};

/// "" of what fits, else "needs 36.0 GiB, the V100 has 32.0 GiB".
std::string why_too_large(std::uint64_t bytes, const PredictedCard& card);

/// An attention's time, without a layer around it.
struct AttentionPrediction {
  std::optional<PassTime> time;
  int launches = 0;
  std::optional<Reason> why_not;  // P-NO-CYCLES or P-NO-MODEL, where there is no time
};

/// By a kernel of that name, or the baseline.
AttentionPrediction predict_attention(const std::string& kernel_name, const CaseProblem& problem,
                                      bool is_deterministic, const PredictedCard& card,
                                      const CyclesFile& cycles);

/// Predicts one of our kernels or the baseline. There is a speed-up if both fit the card: its ends
/// are the baseline's over the kernel's opposite ones, as if nothing made both slow or fast
/// together. `record` has the case's problem, work and memory.
CasePrediction predict_case(const CaseRecord& record, bool is_deterministic,
                            const PredictedCard& card, const CyclesFile& cycles);

/// As predict_case(), of a layer: the attention is by the record's kernel, or the baseline. Also
/// gives each stage of `record.layer` its likely time, and the attention its share. The speed-up is
/// over the baseline's attention in a layer with an unfused rest, or in an eager layer over eager
/// PyTorch's, where that fits into the card. In an eager layer `software` multiplies the time of
/// all launches but a kernel's, the baseline's too, and the record gets the warning
/// W-SOFTWARE-FACTOR.
CasePrediction predict_layer(CaseRecord& record, bool is_deterministic,
                             const std::optional<SoftwareFactor>& software,
                             const PredictedCard& card, const CyclesFile& cycles);

}  // namespace sparkbench
