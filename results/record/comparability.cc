#include "results/record/comparability.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "results/record/enum_names.h"
#include "results/record/record_fields.h"
#include "sweeps/shortest.h"

namespace sparkbench {
namespace {

using Texts = std::map<std::string, std::string>;  // by field

constexpr const char* kUnknown = "null";
/// The driver version field's content before NVML was used.
constexpr std::string_view kOldSpelling = "supports CUDA ";

std::string plain_text(const std::string& value) { return value; }
std::string plain_text(bool value) { return value ? "true" : "false"; }
std::string plain_text(std::integral auto value) { return std::to_string(value); }
std::string plain_text(std::floating_point auto value) { return shortest(value); }
std::string plain_text(DeviceKind value) { return std::string(name_of(value)); }

template <class T>
void add_texts(const std::string& name, const T& value, Texts& texts) {
  if constexpr (IsOptional<T>::value) {
    if (value) return add_texts(name, *value, texts);
    texts[name] = kUnknown;
  } else if constexpr (IsVector<T>::value) {
    for (const auto& item : value) texts[name] += plain_text(item) + " ";
  } else if constexpr (Record<T>) {
    visit_fields(value, [&](const char* leaf, const auto& field) {
      add_texts(name + "." + leaf, field, texts);
    });
  } else {
    texts[name] = plain_text(value);
  }
}

Texts build_texts(const RunRecord& run) {
  Texts texts;
  add_texts("build", run.build, texts);
  return texts;
}

bool is_emulated(const RunRecord& run) {
  return run.environment.device.kind == DeviceKind::kEmulated;
}

Texts device_texts(const RunRecord& run) {
  Texts texts;
  const auto add = [&](const char* field, const auto& value) {
    add_texts(std::string("environment.device.") + field, value, texts);
  };
  const DeviceInfo& device = run.environment.device;
  add("name", device.name);
  add("kind", device.kind);
  add("arithmetic", device.arithmetic);
  add("sm", device.sm);
  add("sm_count", device.sm_count);
  add("l2_bytes", device.l2_bytes);
  if (is_emulated(run)) return texts;  // its memory is the host's
  add("memory_bytes", device.memory_bytes);
  add("sm_clock_max_mhz", device.sm_clock_max_mhz);
  add("power_limit_w", device.power_limit_w);
  add("ecc", device.ecc);
  return texts;
}

Texts method_texts(const RunRecord& run) {
  Texts texts;
  add_texts("method", run.method, texts);
  texts.erase("method.timeout_s");
  texts["run.seed"] = plain_text(run.run.seed);
  return texts;
}

std::optional<std::string> driver_of(const RunRecord& run) {
  const auto& version = run.environment.driver_version;
  return version && version->starts_with(kOldSpelling) ? std::nullopt : version;
}

/// The libraries that a case called. For a record without them, inferred from the kernel's name and
/// the run.
std::optional<Libraries> libraries_of(const CaseRecord& record, const RunRecord& run) {
  if (record.libraries) return record.libraries;
  const auto& cublas = run.environment.cublas_version;
  if (record.kernel.starts_with("cublas-") && cublas) return Libraries{{"cublas", *cublas}};
  return std::nullopt;
}

/// By kernel and library. A merged run may have several versions.
using Versions = std::map<std::string, std::map<std::string, std::set<std::string>>>;

Versions versions_of(const RunRecord& run) {
  Versions versions;
  for (const CaseRecord& record : run.cases) {
    const auto libraries = libraries_of(record, run);
    if (!libraries) continue;
    for (const auto& [name, version] : *libraries) versions[record.kernel][name].insert(version);
  }
  return versions;
}

std::string joined(const std::set<std::string>& texts) {
  std::string text;
  for (const std::string& each : texts) text += (text.empty() ? "" : " and ") + each;
  return text.empty() ? kUnknown : text;
}

/// Whether a library is the kernel itself, which its user built: one of its files, or its version.
bool is_kernels_own(const std::string& kernel, const std::string& library,
                    const Versions::mapped_type& of_kernel) {
  const auto is_file = [](const auto& each) {
    return std::ranges::any_of(each.second, is_file_hash);
  };
  const auto found = of_kernel.find(library);
  if (found == of_kernel.end()) return false;
  return is_file(*found) || (library == kernel && std::ranges::any_of(of_kernel, is_file));
}

/// For the kernels with cases in both runs: {first's, second's} versions of what they call or, with
/// `is_own`, of the kernels themselves.
std::pair<Texts, Texts> version_texts(const RunRecord& first, const RunRecord& second,
                                      bool is_own) {
  std::pair<Texts, Texts> texts;
  std::set<std::string> of_second;
  for (const CaseRecord& record : second.cases) of_second.insert(record.kernel);
  auto versions = versions_of(first), other_versions = versions_of(second);
  for (const CaseRecord& record : first.cases) {
    if (!of_second.contains(record.kernel)) continue;
    std::set<std::string> names;
    for (const auto& [name, ignored] : versions[record.kernel]) names.insert(name);
    for (const auto& [name, ignored] : other_versions[record.kernel]) names.insert(name);
    for (const std::string& name : names) {
      const bool is_kernel = is_kernels_own(record.kernel, name, versions[record.kernel]) ||
                             is_kernels_own(record.kernel, name, other_versions[record.kernel]);
      if (is_kernel != is_own) continue;
      const std::string field = "libraries of " + record.kernel + ": " + name;
      texts.first[field] = joined(versions[record.kernel][name]);
      texts.second[field] = joined(other_versions[record.kernel][name]);
    }
  }
  return texts;
}

std::pair<Texts, Texts> library_texts(const RunRecord& first, const RunRecord& second) {
  if (is_emulated(first) || is_emulated(second)) return {};
  std::pair<Texts, Texts> texts = version_texts(first, second, false);
  add_texts("environment.driver_version", driver_of(first), texts.first);
  add_texts("environment.driver_version", driver_of(second), texts.second);
  return texts;
}

/// Hashes of the files that the cases read, by file name.
Texts file_texts(const RunRecord& run) {
  std::map<std::string, std::set<std::string>> contents;
  for (const CaseRecord& record : run.cases) {
    const CaseProblem& problem = record.problem;
    const auto add = [&](const std::string& spec, std::string_view before_name, const char* flag,
                         std::string content) {
      const std::size_t at = spec.find(before_name);
      if (at == std::string::npos) return;
      const std::string name = spec.substr(at + before_name.size());
      contents["'" + name + "' of " + flag].insert(std::move(content));
    };
    if (problem.lengths_spec && problem.lengths_hash) {
      add(*problem.lengths_spec, "file:", "--lengths",
          plain_text(problem.batch) + " sequences of " + plain_text(problem.total_q.value_or(0)) +
              " rows and " + plain_text(problem.total_k.value_or(0)) + " keys (hash " +
              *problem.lengths_hash + ")");
    }
    if (problem.pattern_spec && problem.zones_hash) {
      add(*problem.pattern_spec, "zones:", "--mask", "of hash " + *problem.zones_hash);
    }
  }
  Texts texts;
  for (const auto& [name, found] : contents) texts[name] = joined(found);
  return texts;
}

/// The doubts about a GPU's run.
Texts doubtful_texts(const RunRecord& run) {
  Texts texts;
  const Environment& environment = run.environment;
  add_texts("environment.device.uuid", environment.device.uuid, texts);
  add_texts("environment.device.persistence_mode", environment.device.persistence_mode, texts);
  add_texts("environment.cuda_runtime", environment.cuda_runtime, texts);
  add_texts("environment.cublas_version", environment.cublas_version, texts);
  add_texts("environment.os", environment.os, texts);
  add_texts("environment.cpu", environment.cpu, texts);
  return texts;
}

/// For `kDevice` and `kLibraries`, a value that only one run knows is a doubt instead of a
/// difference: an old record cannot have newer fields. The build and the method were always
/// recorded.
enum class Unknown { kDiffers, kIsNoDifference, kAloneIsTaken };

void add_differences(std::string_view of, Texts first, Texts second, Unknown unknown,
                     std::vector<Difference>& differences) {
  for (const auto& [field, ignored] : Texts(second)) first.try_emplace(field, kUnknown);
  for (const auto& [field, ignored] : first) second.try_emplace(field, kUnknown);
  for (const auto& [field, text] : first) {
    if (text == second[field]) continue;
    const bool is_unknown = text == kUnknown || second[field] == kUnknown;
    if (unknown == Unknown::kIsNoDifference && is_unknown) continue;
    if (unknown == Unknown::kAloneIsTaken && !is_unknown) continue;
    differences.push_back({of, field, text, second[field]});
  }
}

/// Names the tensor file, which readers know, instead of its hash.
void name_tensors(const RunRecord& first, const RunRecord& second,
                  std::vector<Difference>& differences) {
  if (first.method.input_file != second.method.input_file || !first.method.input_file) return;
  for (Difference& each : differences) {
    if (each.field == "method.input_hash")
      each.field = "hash of '" + *first.method.input_file + "' of --tensors";
  }
}

void add_of_machine(const RunRecord& first, const RunRecord& second, Unknown unknown,
                    std::vector<Difference>& differences) {
  add_differences(kDevice, device_texts(first), device_texts(second), unknown, differences);
  auto [libraries, other_libraries] = library_texts(first, second);
  add_differences(kLibraries, std::move(libraries), std::move(other_libraries), unknown,
                  differences);
}

}  // namespace

std::string words_of(const Difference& difference) {
  const auto& [of, field, first, second] = difference;
  if (of == kFile) {
    return "different contents of the file " + field + ": " + first + " and " + second;
  }
  return "another " + std::string(of) + ": " + field + " is " + first + " and " + second;
}

std::vector<Difference> find_differences(const RunRecord& first, const RunRecord& second) {
  std::vector<Difference> differences;
  add_differences(kBuild, build_texts(first), build_texts(second), Unknown::kDiffers, differences);
  auto [own, other_own] = version_texts(first, second, true);
  add_differences(kBuild, std::move(own), std::move(other_own), Unknown::kIsNoDifference,
                  differences);
  add_of_machine(first, second, Unknown::kIsNoDifference, differences);
  add_differences(kMethod, method_texts(first), method_texts(second), Unknown::kDiffers,
                  differences);
  name_tensors(first, second, differences);
  add_differences(kFile, file_texts(first), file_texts(second), Unknown::kIsNoDifference,
                  differences);
  return differences;
}

std::vector<Difference> find_changes(const RunRecord& then, const RunRecord& now) {
  std::vector<Difference> changes = find_differences(then, now);
  const auto &before = then.environment.device.uuid, &after = now.environment.device.uuid;
  if (before && after && *before != *after) {
    changes.push_back({kDevice, "environment.device.uuid", *before, *after});
  }
  return changes;
}

std::vector<Difference> find_doubts(const RunRecord& first, const RunRecord& second) {
  std::vector<Difference> doubts;
  if (is_emulated(first) && is_emulated(second)) return doubts;
  add_of_machine(first, second, Unknown::kAloneIsTaken, doubts);
  add_differences(kDevice, doubtful_texts(first), doubtful_texts(second), Unknown::kDiffers,
                  doubts);
  return doubts;
}

}  // namespace sparkbench
