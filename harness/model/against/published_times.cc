#include "harness/model/against/published_times.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace sparkbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kPublishedSchema = 1;

[[noreturn]] void reject(const std::string& where, const std::string& wrong) {
  throw std::invalid_argument(fmt::format("{}: {}", where, wrong));
}

/// What `read` makes of the value; its errors get the place.
template <class Read>
auto at_place(const std::string& where, Read&& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    reject(where, fmt::format("{}; allowed: what published_v100.json has there", error.what()));
  }
}

PublishedKind kind_of(const std::string& name, const std::string& where) {
  if (name == "fused") return PublishedKind::kFused;
  if (name == "chain") return PublishedKind::kChain;
  if (name == "layer") return PublishedKind::kLayer;
  reject(where, fmt::format("kind: unknown '{}'; allowed: fused, chain, layer", name));
}

double positive_ms(const Json& json, const std::string& where) {
  const double ms = json.get<double>();
  if (!(ms > 0)) reject(where, fmt::format("is {} ms; allowed: more than 0", ms));
  return ms;
}

int extent(const Json& json, const std::string& where) {
  const int value = json.get<int>();
  if (value < 1) reject(where, fmt::format("has an extent of {}; allowed: 1 and more", value));
  return value;
}

void require_columns(const Json& json, std::size_t count, const std::string& where) {
  if (json.is_array() && json.size() == count) return;
  reject(where, fmt::format("is {}; allowed: an array of {}", json.dump(), count));
}

/// [heads, seqlen, head_dim, ms], without dropout.
PublishedPoint attention_point(const Json& json, Pass pass, const std::string& where) {
  require_columns(json, 4, where);
  Problem problem;
  problem.heads = extent(json[0], where);
  problem.seqlen_q = problem.seqlen_k = extent(json[1], where);
  problem.head_dim = extent(json[2], where);
  return {CaseProblem(pass, problem), positive_ms(json[3], where)};
}

/// [batch, seqlen, ms], of the layer that the set describes.
PublishedPoint layer_point(const Json& json, Pass pass, const Json& layer,
                           const std::string& where) {
  require_columns(json, 3, where);
  Problem problem;
  problem.batch = extent(json[0], where);
  problem.seqlen_q = problem.seqlen_k = extent(json[1], where);
  problem.heads = layer.at("heads").get<int>();
  problem.dropout_p = layer.at("dropout").get<float>();
  LayerShape shape;
  shape.hidden = layer.at("hidden").get<int>();
  shape.ffn = layer.at("ffn").get<int>();
  problem.head_dim = shape.hidden / problem.heads;
  parse_name(layer.at("activation").get<std::string>(), shape.activation);
  parse_name(layer.at("rest").get<std::string>(), shape.rest);
  CaseProblem of_layer(pass, problem);
  of_layer.layer = shape;
  return {of_layer, positive_ms(json[2], where)};
}

PublishedSet set_from(const Json& json, const std::string& where) {
  PublishedSet set;
  set.class_name = json.at("class").get<std::string>();
  set.source = json.at("source").get<std::string>();
  set.kind = kind_of(json.at("kind").get<std::string>(), where);
  set.is_held_out = json.at("held_out").get<bool>();
  if (set.kind == PublishedKind::kFused) json.at("kernels").get_to(set.kernels);
  for (const Json& launch : json.value("beside", Json::array())) {
    set.beside.push_back(launch.at("tensors").get<double>());
  }
  if (set.kind == PublishedKind::kLayer) {
    const Json& layer = json.at("layer");
    layer.at("input_gradient").get_to(set.has_input_gradient);
  }
  Pass pass = Pass::kForward;
  parse_name(json.at("pass").get<std::string>(), pass);
  for (const Json& point : json.at("points")) {
    const std::string at = fmt::format("{}.points[{}]", where, set.points.size());
    set.points.push_back(set.kind == PublishedKind::kLayer
                             ? layer_point(point, pass, json.at("layer"), at)
                             : attention_point(point, pass, at));
  }
  if (set.points.empty()) reject(where, "has no points; allowed: one and more");
  return set;
}

PublishedKernel kernel_from(const Json& json, const CyclesFile& cycles, const std::string& where) {
  PublishedKernel kernel{
      json.at("id").get<std::string>(),       json.at("least_head_dim").get<int>(),
      json.at("head_dim").get<int>(),         extent(json.at("block_rows"), where),
      extent(json.at("step_columns"), where), extent(json.at("output_bytes"), where)};
  if (cycles.find(kernel.id) == nullptr) {
    reject(where, fmt::format("'{}' has no cycles; allowed: an id of cycles.instances", kernel.id));
  }
  return kernel;
}

void require_limits(const PublishedTimes& times) {
  for (const PublishedSet& set : times.sets) {
    if (!times.limits.contains(set.class_name)) {
      reject("limits", fmt::format("has no '{}'; allowed: a limit for each class", set.class_name));
    }
  }
}

Json parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw std::invalid_argument(fmt::format("not JSON: {}", error.what()));
  }
}

}  // namespace

PublishedTimes published_from_json(std::string_view text) {
  const Json json = parse_json(text);
  PublishedTimes times;
  at_place("document", [&] {
    if (json.at("schema").get<int>() != kPublishedSchema) {
      reject("schema", fmt::format("is {}; allowed: {}", json["schema"].dump(), kPublishedSchema));
    }
    json.at("limits").get_to(times.limits);
    times.cycles = cycles_from_json(json.at("cycles").dump());
  });
  const auto each = [&](const char* name, auto&& add) {
    const Json entries = at_place(name, [&] { return json.at(name).get<std::vector<Json>>(); });
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string where = fmt::format("{}[{}]", name, i);
      at_place(where, [&] { add(entries[i], where); });
    }
  };
  each("kernels", [&](const Json& kernel, const std::string& where) {
    times.kernels.push_back(kernel_from(kernel, times.cycles, where));
  });
  each("sets", [&](const Json& set, const std::string& where) {
    times.sets.push_back(set_from(set, where));
  });
  require_limits(times);
  return times;
}

}  // namespace sparkbench
