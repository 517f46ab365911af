#include "harness/model/predict/cycles_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "kernels/base/closest_name.h"

namespace sparkbench {
namespace {

using CyclesJson = nlohmann::ordered_json;

constexpr int kCyclesSchema = 4;
constexpr int kMostThreads = 1024, kWarpThreads = 32, kMostBlocks = 32;  // CUDA programming guide
constexpr std::size_t kHashDigits = 16;

constexpr std::array<std::string_view, kChipAssumptions> kAssumptionNames = {
    "forwarded", "no-reuse", "supply-16", "supply-8"};

constexpr std::array<double StageCycles::*, 7> kStageMembers = {
    &StageCycles::prologue, &StageCycles::full_tile, &StageCycles::cut_tile,
    &StageCycles::epilogue, &StageCycles::next_head, &StageCycles::more_part,
    &StageCycles::idle_part};

[[noreturn]] void reject_cycles(const std::string& where, const std::string& wrong) {
  throw std::invalid_argument(fmt::format("{}: {}", where.empty() ? "document" : where, wrong));
}

std::string path_to(const std::string& where, std::string_view name) {
  return where.empty() ? std::string(name) : fmt::format("{}.{}", where, name);
}

/// An object of exactly these fields.
void require_fields(const CyclesJson& json, const std::string& where,
                    const std::vector<std::string>& names) {
  if (!json.is_object()) {
    reject_cycles(where, fmt::format("is {}; allowed: an object", json.type_name()));
  }
  for (const auto& [name, value] : json.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      reject_cycles(path_to(where, name),
                    fmt::format("is no field{}; allowed: {}",
                                did_you_mean(closest_name(name, names)), fmt::join(names, ", ")));
    }
  }
  for (const std::string& name : names) {
    if (!json.contains(name)) reject_cycles(path_to(where, name), "is missing");
  }
}

int integer_of(const CyclesJson& parent, const std::string& where, const char* name, int least,
               int most) {
  const CyclesJson& json = parent.at(name);
  const bool is_allowed =
      json.is_number_integer() && json.get<double>() >= least && json.get<double>() <= most;
  if (!is_allowed) {
    reject_cycles(path_to(where, name), fmt::format("is {}; allowed: an integer from {} to {}",
                                                    json.dump(), least, most));
  }
  return json.get<int>();
}

std::string text_of_field(const CyclesJson& parent, const std::string& where, const char* name) {
  const CyclesJson& json = parent.at(name);
  if (!json.is_string()) {
    reject_cycles(path_to(where, name), fmt::format("is {}; allowed: a string", json.dump()));
  }
  return json.get<std::string>();
}

double cycles_of_json(const CyclesJson& json, const std::string& where) {
  const bool is_allowed =
      json.is_number() && std::isfinite(json.get<double>()) && json.get<double>() >= 0;
  if (!is_allowed) {
    reject_cycles(where, fmt::format("is {}; allowed: a number, at least 0", json.dump()));
  }
  return json.get<double>();
}

/// An array of so many.
void require_array(const CyclesJson& json, const std::string& where, std::size_t entries,
                   std::string_view of_what) {
  if (json.is_array() && json.size() == entries) return;
  reject_cycles(where, fmt::format("is {}; allowed: an array of {}, {}",
                                   json.is_array() ? fmt::format("an array of {}", json.size())
                                                   : std::string(json.type_name()),
                                   entries, of_what));
}

std::vector<StageCycles> stages_of(const CyclesJson& json, const std::string& where, int blocks) {
  require_array(json, where, static_cast<std::size_t>(blocks), "one for each resident block");
  std::vector<StageCycles> stages(json.size());
  for (std::size_t r = 0; r < json.size(); ++r) {
    const std::string at = fmt::format("{}[{}]", where, r);
    require_array(json[r], at, kStageMembers.size(),
                  "prologue, full tile, cut tile, epilogue, next head, more part, idle part");
    for (std::size_t i = 0; i < kStageMembers.size(); ++i) {
      stages[r].*kStageMembers[i] = cycles_of_json(json[r][i], fmt::format("{}[{}]", at, i));
    }
  }
  return stages;
}

bool is_hash(const std::string& text) {
  return text.size() == kHashDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

InstanceCycles instance_from(const std::string& id, const CyclesJson& json,
                             const std::string& where) {
  std::vector<std::string> fields = {"code_hash", "threads", "blocks_per_sm", "loop_bytes",
                                     "binding"};
  for (const std::string& name : chip_assumption_names()) fields.push_back(name);
  require_fields(json, where, fields);
  InstanceCycles instance;
  instance.id = id;
  instance.code_hash = text_of_field(json, where, "code_hash");
  if (!is_hash(instance.code_hash)) {
    reject_cycles(
        path_to(where, "code_hash"),
        fmt::format("is '{}'; allowed: {} hexadecimal digits", instance.code_hash, kHashDigits));
  }
  instance.threads = integer_of(json, where, "threads", kWarpThreads, kMostThreads);
  instance.blocks_per_sm = integer_of(json, where, "blocks_per_sm", 1, kMostBlocks);
  instance.loop_bytes = integer_of(json, where, "loop_bytes", 0, 1 << 30);
  instance.binding = text_of_field(json, where, "binding");
  if (instance.binding.empty()) {
    reject_cycles(path_to(where, "binding"), "is empty; allowed: a resource's name");
  }
  for (std::size_t i = 0; i < instance.stages.size(); ++i) {
    const std::string name = chip_assumption_names()[i];
    instance.stages[i] = stages_of(json[name], path_to(where, name), instance.blocks_per_sm);
  }
  return instance;
}

/// The parser keeps the last of two members of one name. Neither is meant.
class MemberNames {
 public:
  void see(CyclesJson::parse_event_t event, const CyclesJson& parsed) {
    using Event = CyclesJson::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event != Event::key) return;
    const std::string name = parsed.get<std::string>();
    if (!open_.back().insert(name).second) reject_cycles(name, "is there twice");
  }

 private:
  std::vector<std::set<std::string>> open_;
};

CyclesJson parse_cycles(std::string_view text) {
  MemberNames names;
  try {
    return CyclesJson::parse(text,
                             [&](int /*depth*/, CyclesJson::parse_event_t event, CyclesJson& json) {
                               names.see(event, json);
                               return true;
                             });
  } catch (const CyclesJson::parse_error& error) {
    throw std::invalid_argument(fmt::format("not JSON: {}", error.what()));
  }
}

std::string text_of_stages(const std::vector<StageCycles>& stages) {
  std::vector<std::string> of_residents;
  for (const StageCycles& each : stages) {
    std::vector<double> cycles;
    cycles.reserve(std::size(kStageMembers));
    for (const auto& stage : kStageMembers) cycles.push_back(std::round(each.*stage * 100) / 100);
    of_residents.push_back(fmt::format("[{}]", fmt::join(cycles, ", ")));
  }
  return fmt::format("[{}]", fmt::join(of_residents, ", "));
}

std::string quoted_json(const std::string& text) { return CyclesJson(text).dump(); }

std::string text_of_instance(const InstanceCycles& instance) {
  std::string text = fmt::format(
      "    {}: {{\n      \"code_hash\": {}, \"threads\": {}, \"blocks_per_sm\": {}, "
      "\"loop_bytes\": {}, \"binding\": {}",
      quoted_json(instance.id), quoted_json(instance.code_hash), instance.threads,
      instance.blocks_per_sm, instance.loop_bytes, quoted_json(instance.binding));
  for (std::size_t i = 0; i < instance.stages.size(); ++i) {
    text += fmt::format(",\n      \"{}\": {}", chip_assumption_names()[i],
                        text_of_stages(instance.stages[i]));
  }
  return text + "\n    }";
}

}  // namespace

std::string_view name_of(ChipAssumption assumption) {
  return kAssumptionNames.at(static_cast<std::size_t>(assumption));
}

std::vector<std::string> chip_assumption_names() {
  return {kAssumptionNames.begin(), kAssumptionNames.end()};
}

const InstanceCycles* CyclesFile::find(std::string_view id) const {
  const auto found = std::find_if(instances.begin(), instances.end(),
                                  [id](const InstanceCycles& each) { return each.id == id; });
  return found == instances.end() ? nullptr : &*found;
}

CyclesFile cycles_from_json(std::string_view text) {
  const CyclesJson json = parse_cycles(text);
  require_fields(json, "", {"schema", "sm", "toolkit", "instances"});
  integer_of(json, "", "schema", kCyclesSchema, kCyclesSchema);
  CyclesFile file;
  file.sm = integer_of(json, "", "sm", 70, 70);
  file.toolkit = text_of_field(json, "", "toolkit");
  const CyclesJson& instances = json["instances"];
  if (!instances.is_object()) {
    reject_cycles("instances", fmt::format("is {}; allowed: an object", instances.type_name()));
  }
  for (const auto& [id, instance] : instances.items()) {
    file.instances.push_back(instance_from(id, instance, fmt::format("instances.{}", id)));
  }
  return file;
}

ChipAssumption calibrated_assumption(std::string_view calibration_json) {
  const CyclesJson json = parse_cycles(calibration_json);
  constexpr const char* kPath = "/findings/assumption";
  const CyclesJson::json_pointer path(kPath);
  const CyclesJson found = json.contains(path) ? json.at(path) : CyclesJson();
  const std::string said = found.is_string() ? found.get<std::string>() : "";
  const auto* const name = std::ranges::find(kAssumptionNames, said);
  if (name == kAssumptionNames.end()) {
    reject_cycles("findings.assumption",
                  fmt::format("is {}; allowed: {}, as --calibrate finds them on a V100",
                              found.dump(), fmt::join(kAssumptionNames, ", ")));
  }
  return static_cast<ChipAssumption>(name - kAssumptionNames.begin());
}

std::string cycles_to_json(const CyclesFile& file) {
  std::vector<InstanceCycles> ordered = file.instances;
  std::sort(ordered.begin(), ordered.end(),
            [](const InstanceCycles& a, const InstanceCycles& b) { return a.id < b.id; });
  std::vector<std::string> instances;
  instances.reserve(ordered.size());
  for (const InstanceCycles& instance : ordered) instances.push_back(text_of_instance(instance));
  return fmt::format(
      "{{\n  \"schema\": {},\n  \"sm\": {},\n  \"toolkit\": {},\n  \"instances\": {{{}}}\n}}\n",
      kCyclesSchema, file.sm, quoted_json(file.toolkit),
      instances.empty() ? "" : fmt::format("\n{}\n  ", fmt::join(instances, ",\n")));
}

}  // namespace sparkbench
