#include "harness/model/predictor.h"

#include <utility>

#include "harness/model/predict/case_prediction.h"

namespace sparkbench {

void Predictor::predict(const DeviceInfo& device, std::string_view baseline, bool is_deterministic,
                        const std::optional<SoftwareFactor>& software, CaseRecord& record) const {
  const std::optional<PredictedCard> card = predicted_card(device, std::string(baseline));
  if (!card) return;
  CasePrediction prediction =
      record.layer ? predict_layer(record, is_deterministic, software, *card, *cycles_)
                   : predict_case(record, is_deterministic, *card, *cycles_);
  record.predicted = std::move(prediction.predicted);
  record.predicted_reason = std::move(prediction.why_not);
}

const Predictor& v100_predictor() {
  static const Predictor predictor(embedded_cycles());
  return predictor;
}

bool is_emulated_v100(const DeviceInfo& device) {
  return device.kind == DeviceKind::kEmulated && predicted_card(device, "");
}

std::string why_too_large_for_v100(const DeviceInfo& device, std::uint64_t bytes) {
  const std::optional<PredictedCard> card = predicted_card(device, "");
  return card ? why_too_large(bytes, *card) : "";
}

}  // namespace sparkbench
