#include "results/store/schema_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace sparkbench {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 15> kKeywords = {"type",
                                                        "enum",
                                                        "const",
                                                        "minimum",
                                                        "exclusiveMaximum",
                                                        "required",
                                                        "properties",
                                                        "additionalProperties",
                                                        "items",
                                                        "anyOf",
                                                        "$ref",
                                                        "$schema",
                                                        "$defs",
                                                        "title",
                                                        "description"};

bool has_type(const Json& value, std::string_view type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  throw std::invalid_argument(fmt::format("schema: unknown type '{}'", type));
}

class Checker {
 public:
  explicit Checker(const Json& root) : root_(root) {}

  void check(const Json& schema, const Json& value, const std::string& path) {
    require_known_keywords(schema);
    if (schema.contains("$ref")) check(resolve(schema["$ref"]), value, path);
    if (schema.contains("anyOf")) check_any_of(schema["anyOf"], value, path);
    check_value(schema, value, path);
    if (value.is_number()) check_range(schema, value, path);
    if (value.is_object()) check_object(schema, value, path);
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        check(schema["items"], value[i], fmt::format("{}[{}]", path, i));
      }
    }
  }

  std::vector<std::string> violations() && { return std::move(violations_); }

 private:
  void violate(const std::string& path, const std::string& wrong) {
    violations_.push_back(path + ": " + wrong);
  }

  static void require_known_keywords(const Json& schema) {
    for (const auto& [keyword, unused] : schema.items()) {
      if (std::find(kKeywords.begin(), kKeywords.end(), keyword) == kKeywords.end()) {
        throw std::invalid_argument(fmt::format("schema: unknown keyword '{}'", keyword));
      }
    }
  }

  const Json& resolve(const std::string& reference) const {
    if (reference.rfind("#/", 0) != 0) {
      throw std::invalid_argument(fmt::format("schema: cannot follow '{}'", reference));
    }
    return root_.at(Json::json_pointer(reference.substr(1)));
  }

  void check_value(const Json& schema, const Json& value, const std::string& path) {
    if (schema.contains("type")) check_type(schema["type"], value, path);
    if (schema.contains("const") && schema["const"] != value) {
      violate(path, "expected " + schema["const"].dump());
    }
    if (schema.contains("enum")) {
      const Json& allowed = schema["enum"];
      if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
        violate(path, "expected one of " + allowed.dump());
      }
    }
  }

  void check_type(const Json& type, const Json& value, const std::string& path) {
    const Json types = type.is_array() ? type : Json::array({type});
    const bool matches = std::any_of(types.begin(), types.end(), [&](const Json& name) {
      return has_type(value, name.get_ref<const std::string&>());
    });
    if (!matches) violate(path, "expected type " + type.dump());
  }

  void check_range(const Json& schema, const Json& value, const std::string& path) {
    if (schema.contains("minimum") && !(value >= schema["minimum"])) {
      violate(path, "below " + schema["minimum"].dump());
    }
    if (schema.contains("exclusiveMaximum") && !(value < schema["exclusiveMaximum"])) {
      violate(path, "not below " + schema["exclusiveMaximum"].dump());
    }
  }

  void check_object(const Json& schema, const Json& value, const std::string& path) {
    for (const Json& name : schema.value("required", Json::array())) {
      if (!value.contains(name)) violate(path, "lacks " + name.dump());
    }
    const Json properties = schema.value("properties", Json::object());
    const Json additional = schema.value("additionalProperties", Json(true));
    for (const auto& [name, member] : value.items()) {
      const std::string member_path = fmt::format("{}.{}", path, name);
      if (properties.contains(name)) {
        check(properties[name], member, member_path);
      } else if (additional.is_object()) {
        check(additional, member, member_path);
      } else if (additional == false) {
        violate(path, fmt::format("has unknown \"{}\"", name));
      }
    }
  }

  /// For a value that matches no alternative: what is wrong under each.
  void check_any_of(const Json& alternatives, const Json& value, const std::string& path) {
    std::string details;
    for (const Json& alternative : alternatives) {
      Checker checker(root_);
      checker.check(alternative, value, path);
      if (checker.violations_.empty()) return;
      for (const std::string& violation : checker.violations_) details += "; " + violation;
    }
    violate(path, "matches no alternative" + details);
  }

  const Json& root_;
  std::vector<std::string> violations_;
};

Json parse(std::string_view text, std::string_view what) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw std::invalid_argument(fmt::format("{} is not JSON: {}", what, error.what()));
  }
}

}  // namespace

std::vector<std::string> schema_violations(std::string_view schema, std::string_view document) {
  const Json root = parse(schema, "schema");
  Checker checker(root);
  checker.check(root, parse(document, "document"), "$");
  return std::move(checker).violations();
}

}  // namespace sparkbench
