#include <nlohmann/json.hpp>

#include "harness/model/sass/function_name.h"
#include "harness/model/sm/prediction_report.h"

namespace sparkbench {
namespace {

using Json = nlohmann::ordered_json;

Json place_json(const SassFunction& function, const std::optional<CodeLoop>& loop) {
  if (!loop) return nullptr;
  return {{"first_address", function.instructions[loop->head].address},
          {"last_address", function.instructions[loop->back_edge].address}};
}

Json constants_json(const SmConstants& constants) {
  Json json;
  for (const ConstantInfo& info : constant_infos()) {
    json[std::string(info.name)] = value_of(constants, info);
  }
  return json;
}

Json waits_json(const WaitTimes& waits) {
  Json json = Json::object();
  for (int i = 0; i < kWaitReasons; ++i) {
    const auto reason = static_cast<WaitReason>(i);
    if (waits[reason] > 0) json[name_of(reason)] = waits[reason] / waits.total();
  }
  return json;
}

Json bounds_json(const LoopPrediction& prediction) {
  Json json = Json::object();
  for (const CycleBound& bound : prediction.bounds) {
    json[std::string(name_of(bound.unit))] = bound.cycles;
  }
  return json;
}

Json offsets_json(const LoopPrediction& prediction) {
  Json json = Json::array();
  for (const OffsetCycles& one : prediction.offsets) {
    json.push_back({{"offset", one.offset}, {"cycles", one.cycles}});
  }
  return json;
}

Json sensitivity_json(std::span<const ConstantSensitivity> changes) {
  Json json = Json::array();
  for (const ConstantSensitivity& one : changes) {
    json.push_back({{"constant", one.name},
                    {"least", one.least},
                    {"most", one.most},
                    {"change_at_least", one.cycles_at_least},
                    {"change_at_most", one.cycles_at_most}});
  }
  return json;
}

Json loops_json(const SassFunction& function) {
  Json json = Json::array();
  for (const CodeLoop& loop : find_loops(function)) {
    Json one = place_json(function, loop);
    one["instructions"] = loop.back_edge - loop.head + 1;
    one["tensor_instructions"] = count_tensor_instructions(function, loop);
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string format_functions_json(std::span<const SassFunction> functions) {
  Json all = Json::array();
  for (const SassFunction& function : functions) {
    all.push_back({{"symbol", function.symbol},
                   {"function", demangled(function.symbol)},
                   {"instructions", function.instructions.size()},
                   {"loops", loops_json(function)}});
  }
  const Json document = {{"schema", "sparkbench.code-functions 1.0.0"}, {"functions", all}};
  return document.dump(2) + "\n";
}

std::string format_prediction_json(const SassFunction& function, const PredictionRequest& request,
                                   const LoopPrediction& prediction,
                                   std::span<const ConstantSensitivity> changes) {
  const bool has_tensor_work = prediction.flop > 0;
  const Json document = {
      {"schema", "sparkbench.loop-prediction 1.0.0"},
      {"symbol", function.symbol},
      {"function", demangled(function.symbol)},
      {"loop", place_json(function, prediction.loop)},
      {"threads", request.threads},
      {"blocks_per_sm", request.blocks},
      {"instructions", prediction.walk.path.size()},
      {"cycles", prediction.cycles},
      {"offsets", offsets_json(prediction)},
      {"tensor_flop", prediction.flop},
      {"tensor_share", has_tensor_work ? Json(prediction.tensor_share()) : Json(nullptr)},
      {"least_cycles", bounds_json(prediction)},
      {"warp_time", waits_json(prediction.first.waits)},
      {"sensitivity", changes.empty() ? Json(nullptr) : sensitivity_json(changes)},
      {"constants", constants_json(request.constants)},
      {"notes", prediction.walk.notes}};
  return document.dump(2) + "\n";
}

}  // namespace sparkbench
