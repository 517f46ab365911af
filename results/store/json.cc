#include "results/store/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "results/record/enum_names.h"
#include "results/record/record_fields.h"
#include "results/store/text_seal.h"
#include "sweeps/shortest.h"

namespace sparkbench {
namespace {

using Json = nlohmann::ordered_json;
using StringMap = std::map<std::string, std::string>;

template <class T>
Json to_json(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? to_json(*value) : Json(nullptr);
  } else if constexpr (IsVector<T>::value) {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(to_json(item));
    return array;
  } else if constexpr (Record<T>) {
    Json object = Json::object();
    visit_fields(value, [&object](const char* name, const auto& field) {
      Json& member = object[name];  // null until an alternative has a value
      if (member.is_null()) member = to_json(field);
    });
    return object;
  } else if constexpr (IsAxisField<T>::value) {
    return std::visit([](const auto& held) { return to_json(held); }, value.value());
  } else if constexpr (std::is_same_v<T, std::monostate>) {
    return nullptr;
  } else if constexpr (std::is_enum_v<T>) {
    return name_of(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return nullptr;
    if constexpr (std::is_same_v<T, float>) return widen_as_written(value);
    return value;
  } else {
    return value;
  }
}

/// Fields of CaseRecord in the first version, in addition to its axes.
constexpr std::array<std::string_view, 16> kKnownBefore = {
    "id",        "config_hash",  "kernel", "role",   "accumulator", "problem",   "flops",
    "bytes",     "memory_bytes", "repro",  "device", "position",    "predicted", "predicted_reason",
    "mask_work", "layer"};
constexpr std::array<std::string_view, 2> kOfSkipped = {"status", "reason"};

Json known_before(const CaseRecord& record) {
  const auto is_in = [](const auto& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  Json object = Json::object();
  visit_fields(record, [&](const char* name, const auto& field) {
    const bool is_axis = IsAxisField<std::remove_cvref_t<decltype(field)>>::value;
    const bool is_reason = !is_attempted(record) && is_in(kOfSkipped, name);
    if (is_axis || is_reason || is_in(kKnownBefore, name)) object[name] = to_json(field);
  });
  if (const auto& lengths = record.problem.lengths) {
    object["cu_seqlens_q"] = lengths->cu_seqlens_q();
    object["cu_seqlens_k"] = lengths->cu_seqlens_k();
  }
  return object;
}

[[noreturn]] void reject(const std::string& path, std::string_view wrong) {
  throw std::invalid_argument(fmt::format("{}: {}", path.empty() ? "document" : path, wrong));
}

void require(bool holds, const std::string& path, std::string_view type, const Json& json) {
  if (!holds) reject(path, fmt::format("expected {}, found {}", type, json.type_name()));
}

template <std::integral T>
T read_integer(const Json& json, const std::string& path) {
  require(json.is_number_integer(), path, "an integer", json);
  const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.template get<std::uint64_t>())
                                              : std::in_range<T>(json.template get<std::int64_t>());
  if (!fits) reject(path, fmt::format("{} is out of range", json.dump()));
  return json.template get<T>();
}

void read(const Json& json, const std::string& path, std::string& value) {
  require(json.is_string(), path, "a string", json);
  value = json.get<std::string>();
}

void read(const Json& json, const std::string& path, bool& value) {
  require(json.is_boolean(), path, "a boolean", json);
  value = json.get<bool>();
}

template <std::floating_point T>
void read(const Json& json, const std::string& path, T& value) {
  if (json.is_null()) {
    value = std::numeric_limits<T>::quiet_NaN();
    return;
  }
  require(json.is_number(), path, "a number", json);
  value = json.template get<T>();
}

void read(const Json& json, const std::string& path, StringMap& value) {
  require(json.is_object(), path, "an object", json);
  value.clear();
  for (const auto& [key, item] : json.items())
    read(item, fmt::format("{}.{}", path, key), value[key]);
}

template <std::integral T>
void read(const Json& json, const std::string& path, T& value) {
  value = read_integer<T>(json, path);
}

template <class T>
requires std::is_enum_v<T>
void read(const Json& json, const std::string& path, T& value) {
  require(json.is_string(), path, "a string", json);
  try {
    parse_name(json.get<std::string>(), value);
  } catch (const std::invalid_argument& error) {
    reject(path, error.what());
  }
}

void read(const Json& /*json*/, const std::string& /*path*/, std::monostate& /*none*/) {}

/// Reads the type that the axis has in any problem.
void read(const Json& json, const std::string& path, AxisField<CaseProblem>& field) {
  AxisValue value = field.axis.access.get(CaseProblem());
  if (json.is_null() && field.axis.access.may_be_none) {
    value = AxisValue();
  } else {
    if (is_none(value)) value = std::string();  // the axis has a text or nothing
    std::visit([&](auto& held) { read(json, path, held); }, value);
  }
  try {
    field.assign(value);
  } catch (const std::invalid_argument& error) {
    reject(path, error.what());
  }
}

template <class T>
void read(const Json& json, const std::string& path, std::optional<T>& value);
template <class T>
void read(const Json& json, const std::string& path, std::vector<T>& value);

template <Record T>
void read(const Json& json, const std::string& path, T& value) {
  require(json.is_object(), path, "an object", json);
  visit_fields(value, [&](const char* name, auto& field) {
    const std::string field_path = path.empty() ? name : path + "." + name;
    const auto found = json.find(name);
    if (found != json.end()) return read(*found, field_path, field);
    // Fields that an earlier minor version did not write are unknown.
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (IsAxisField<Field>::value) {
      if (field.axis.is_in_every_record) reject(field_path, "is missing");
      if (field.axis.access.may_be_none) field.assign(AxisValue());
    } else if constexpr (IsOptional<Field>::value) {
      field.reset();
    } else {
      reject(field_path, "is missing");
    }
  });
  if constexpr (std::is_same_v<T, CaseRecord>) bring_up_to_date(value);
}

/// Whether `json` may be a T; false if it looks like the alternative to T.
template <class T>
bool may_be(const Json& json) {
  const bool is_of_gradients = json.is_object() && json.contains("dq");
  if constexpr (std::is_same_v<T, GradientAccuracy>) return is_of_gradients;
  return !std::is_same_v<T, Accuracy> || !is_of_gradients;
}

template <class T>
void read(const Json& json, const std::string& path, std::optional<T>& value) {
  value.reset();
  if (!json.is_null() && may_be<T>(json)) read(json, path, value.emplace());
}

template <class T>
void read(const Json& json, const std::string& path, std::vector<T>& value) {
  require(json.is_array(), path, "an array", json);
  value.assign(json.size(), T());
  for (std::size_t i = 0; i < json.size(); ++i) {
    read(json[i], fmt::format("{}[{}]", path, i), value[i]);
  }
}

/// The parser quotes the token that it rejects, however long.
std::string shortened(const std::string& message) {
  constexpr std::size_t kMostBytes = 300;
  return message.size() <= kMostBytes ? message : message.substr(0, kMostBytes) + "...";
}

/// Not only parse_error: for a number outside double's range the parser throws out_of_range. It
/// copies what it has read when an object grows, by recursion: text that is nested much deeper than
/// a record would overflow the stack.
Json parse(std::string_view text) {
  static constexpr int kMostLevels = 100;
  const auto check = [](int level, Json::parse_event_t /*event*/, const Json& /*value*/) {
    if (level < kMostLevels) return true;
    throw std::invalid_argument(
        fmt::format("not a run: nested more than {} levels deep", kMostLevels));
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    throw std::invalid_argument(fmt::format("not JSON: {}", shortened(error.what())));
  }
}

/// A hash in the wrong place counts as a wrong hash.
void require_unchanged(std::string_view text, const Json& json) {
  const bool has_hash = json.is_object() && json.contains("run_hash");
  if (has_hash && seal_state(text, kRunSeal) != SealState::kFits) throw ChangedRun();
}

/// A minor version only adds fields; another major version may change their meaning.
void require_known_schema(const SchemaVersion& schema) {
  const SchemaVersion known;
  if (schema.name != known.name) {
    reject("schema.name", fmt::format("is '{}'; allowed: {}", schema.name, known.name));
  }
  const std::string major = known.version.substr(0, known.version.find('.') + 1);
  if (!schema.version.starts_with(major)) {
    reject("schema.version", fmt::format("is '{}'; this program reads {}x", schema.version, major));
  }
}

std::string dump(const Json& json) {
  // A message may quote a path that is not UTF-8; that must not lose the record.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string indented(const Json& json, std::size_t depth);

/// Values side by side, such as samples, in lines of about that many characters.
std::string filled_list(const Json& list, std::size_t depth) {
  constexpr std::size_t kLine = 100;
  const std::string indent(depth + 2, ' ');
  std::string text, line;
  for (const Json& item : list) {
    const std::string word = dump(item) + (&item == &list.back() ? "" : ",");
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > kLine) {
      text += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (text.empty()) return fmt::format("[{}]", line);
  return fmt::format("[\n{}{}{}\n{}]", text, indent, line, std::string(depth, ' '));
}

std::string members_of(const Json& json, std::size_t depth) {
  std::string text;
  for (auto item = json.begin(); item != json.end(); ++item) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ",\n", std::string(depth + 2, ' '),
                        json.is_object() ? dump(item.key()) + ": " : std::string(),
                        indented(item.value(), depth + 2));
  }
  return text;
}

/// For people: one member per line, but lists of values in full lines.
std::string indented(const Json& json, std::size_t depth) {
  if (!json.is_structured() || json.empty()) return dump(json);
  const bool is_list_of_values =
      json.is_array() &&
      std::none_of(json.begin(), json.end(), [](const Json& item) { return item.is_structured(); });
  if (is_list_of_values) return filled_list(json, depth);
  return fmt::format("{}\n{}\n{}{}", json.is_object() ? '{' : '[', members_of(json, depth),
                     std::string(depth, ' '), json.is_object() ? '}' : ']');
}

}  // namespace

ChangedRun::ChangedRun()
    : std::invalid_argument("run_hash does not fit: the file was changed since it was written") {}

std::string run_to_json(const RunRecord& run) {
  return sealed(indented(to_json(run), 0) + "\n", kRunSeal);
}

std::string case_to_json(const CaseRecord& record) { return dump(to_json(record)); }

std::string planned_to_json(const std::vector<CaseRecord>& cases) {
  Json array = Json::array();
  for (const CaseRecord& record : cases) array.push_back(known_before(record));
  return indented({{"cases", std::move(array)}}, 0) + "\n";
}

RunRecord run_from_json(std::string_view text, RunHash hash) {
  const Json json = parse(text);
  if (hash == RunHash::kChecked) require_unchanged(text, json);
  RunRecord run;
  read(json, "", run);
  require_known_schema(run.schema);
  return run;
}

CaseRecord case_from_json(std::string_view text) {
  CaseRecord record;
  read(parse(text), "", record);
  return record;
}

}  // namespace sparkbench
