// A judgement as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "results/record/enum_names.h"
#include "results/render/judgement.h"

namespace sparkbench {
namespace {

using Json = nlohmann::ordered_json;

Json finite_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json wrong_json(const Judgement::WrongCase& wrong) {
  Json json = {{"id", wrong.id},
               {"code", wrong.code},
               {"message", wrong.message},
               {"repro", wrong.repro},
               {"worst", nullptr}};
  if (!wrong.worst) return json;
  json["worst"] = {{"output", wrong.worst->output},
                   {"index", wrong.worst->index},
                   {"got", finite_or_null(wrong.worst->got)},
                   {"exact", finite_or_null(wrong.worst->exact)}};
  return json;
}

Json speed_json(const Judgement::Speed& speed) {
  Json beside = Json::array();
  for (const auto& [kernel, time_ms] : speed.beside) {
    beside.push_back({{"kernel", kernel}, {"time_ms", time_ms}});
  }
  return {{"pass", speed.pass},
          {"dtype", speed.dtype},
          {"layout", speed.layout},
          {"head_dim", speed.head_dim},
          {"seqlen", speed.seqlen},
          {"mask", speed.mask},
          {"time_ms", speed.time_ms},
          {"tflops", finite_or_null(speed.tflops)},
          {"memory_bytes", speed.memory_bytes},
          {"beside", beside}};
}

Json kernel_json(const Judgement& of) {
  Json json = {{"kernel", of.kernel},
               {"verdict", of.verdict()},
               {"ok", of.ok},
               {"incorrect", of.incorrect},
               {"failed", of.failed}};
  json["parts"] = Json::array();
  for (const auto& [name, right, tried] : of.parts) {
    json["parts"].push_back({{"part", name}, {"right", right}, {"tried", tried}});
  }
  json["traits"] = Json::array();
  for (const auto& [what, is_exact] : of.traits) {
    json["traits"].push_back({{"what", what}, {"is_exact", is_exact}});
  }
  json["smallest_wrong"] = of.smallest_wrong ? wrong_json(*of.smallest_wrong) : Json();
  json["error"] = {{"rel_l1", finite_or_null(of.error.rel_l1)},
                   {"mean_over_unfused", finite_or_null(of.error.mean_over_unfused)},
                   {"most_over_unfused", finite_or_null(of.error.most_over_unfused)}};
  json["bits"] = {{"compared", of.bits.compared},
                  {"differ", Json(of.bits.differ)},
                  {"checked_launches", of.bits.checked_launches}};
  json["skipped"] = Json::array();
  for (const auto& [code, message, count] : of.skipped) {
    json["skipped"].push_back({{"code", code}, {"message", message}, {"cases", count}});
  }
  json["speeds"] = Json::array();
  for (const Judgement::Speed& speed : of.speeds) json["speeds"].push_back(speed_json(speed));
  return json;
}

}  // namespace

std::string judgement_json(const RunRecord& run, const std::vector<std::string>& kernels) {
  Json json = {
      {"schema", {{"name", "sparkbench.judgement"}, {"version", "1.0.0"}}},
      {"run",
       {{"id", run.run.id},
        {"argv", run.run.argv},
        {"started_at", run.run.started_at},
        {"version", run.build.version},
        {"complete", run.run.complete}}},
      {"device",
       {{"name", run.environment.device.name}, {"kind", name_of(run.environment.device.kind)}}},
      {"kernels", Json::array()}};
  for (const std::string& kernel : kernels) {
    json["kernels"].push_back(kernel_json(judgement_of(run, kernel)));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sparkbench
