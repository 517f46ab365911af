#include "results/record/comparability.h"

#include <map>

#include "results/record/enum_names.h"
#include "results/record/record_fields.h"
#include "sweeps/shortest.h"

namespace sparkbench {
namespace {

using Texts = std::map<std::string, std::string>;

std::string text_of(const std::string& value) { return value; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::integral auto value) { return std::to_string(value); }
std::string text_of(std::floating_point auto value) { return shortest(value); }
std::string text_of(DeviceKind value) { return std::string(name_of(value)); }

template <class T>
void add_texts(const std::string& name, const T& value, Texts& texts) {
  if constexpr (IsOptional<T>::value) {
    if (value) return add_texts(name, *value, texts);
    texts[name] = "null";
  } else if constexpr (IsVector<T>::value) {
    for (const auto& item : value) texts[name] += text_of(item) + " ";
  } else if constexpr (Record<T>) {
    visit_fields(value, [&](const char* leaf, const auto& field) {
      add_texts(name + "." + leaf, field, texts);
    });
  } else {
    texts[name] = text_of(value);
  }
}

Texts build_texts(const RunRecord& run) {
  Texts texts;
  add_texts("build", run.build, texts);
  return texts;
}

Texts device_texts(const RunRecord& run) {
  Texts texts;
  add_texts("environment", run.environment, texts);
  texts.erase("environment.os");
  texts.erase("environment.cpu");
  // What others leave of it changes from one moment to the next.
  texts.erase("environment.device.memory_available_bytes");
  // An emulated device's memory is the host's.
  if (run.environment.device.kind == DeviceKind::kEmulated) {
    texts.erase("environment.device.memory_bytes");
  }
  return texts;
}

Texts method_texts(const RunRecord& run) {
  Texts texts;
  add_texts("method", run.method, texts);
  texts.erase("method.timeout_s");
  texts["run.seed"] = text_of(run.run.seed);
  return texts;
}

void add_differences(std::string_view of, Texts first, Texts second,
                     std::vector<Difference>& differences) {
  for (const auto& [field, ignored] : Texts(second)) first.try_emplace(field);
  for (const auto& [field, text] : first) {
    if (text != second[field]) differences.push_back({of, field, text, second[field]});
  }
}

}  // namespace

std::vector<Difference> find_differences(const RunRecord& first, const RunRecord& second) {
  std::vector<Difference> differences;
  add_differences(kBuild, build_texts(first), build_texts(second), differences);
  add_differences(kDevice, device_texts(first), device_texts(second), differences);
  add_differences(kMethod, method_texts(first), method_texts(second), differences);
  return differences;
}

}  // namespace sparkbench
