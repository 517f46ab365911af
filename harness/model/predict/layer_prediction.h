// What a layer's record says of its stages and launches, and of its time on a V100.
#pragma once

#include "harness/model/predict/case_prediction.h"

namespace sparkbench {

/// As predict_case(), of a layer: the attention is the record's kernel's, or the baseline. Also
/// gives each stage of `record.layer` its likely time, and the attention its share. The speed-up is
/// over the baseline's attention in a layer with an unfused rest, where that fits into the card.
CasePrediction predict_layer(CaseRecord& record, bool is_deterministic, const PredictedCard& card,
                             const CyclesFile& cycles);

/// What the speed-up of a layer is over: "unfused-fp16, rest unfused".
std::string name_of_layer_baseline(const PredictedCard& card);

}  // namespace sparkbench
