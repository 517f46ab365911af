#include "harness/plugin/kernel_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "harness/candidates/known_candidates.h"
#include "kernels/base/files/input_file.h"
#include "kernels/registry.h"
#include "results/record/case_id.h"
#include "results/record/safe_text.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr std::uint32_t kMostKernels = 1024;  // of a library: one that never returns null has more
constexpr std::size_t kLongestName = 64;

/// The table of the first ABI: what every library knows.
constexpr std::size_t kLeastBytes =
    offsetof(sparkbench_kernel, last_error) + sizeof(sparkbench_kernel::last_error);

[[noreturn]] void refuse(const std::string& item, const std::string& why) {
  throw UsageError(fmt::format("--kernel: '{}': {}", one_line(item), bounded(one_line(why))));
}

struct LibraryName {
  std::string path, kernel;  // the latter is empty for all of its kernels
};

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".so");
}

/// Nothing unless the item is a library.
std::optional<LibraryName> library_named_by(const std::string& item) {
  const std::size_t colon = item.rfind(':');
  const bool has_kernel = colon != std::string::npos && item.find('/', colon) == std::string::npos;
  if (has_kernel && is_path(std::string_view(item).substr(0, colon)) &&
      !std::filesystem::exists(item)) {
    return LibraryName{item.substr(0, colon), item.substr(colon + 1)};
  }
  if (is_path(item)) return LibraryName{item, ""};
  return std::nullopt;
}

void* open_library(const std::string& item, const std::string& path) {
  try {
    require_regular_file(path);
  } catch (const std::invalid_argument& error) {
    refuse(item, fmt::format("{} {}", path, error.what()));
  }
  // Without a '/' the loader would look into the system's folders.
  const std::string absolute = std::filesystem::absolute(path).string();
  dlerror();
  void* const library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const why = dlerror();
    if (path.ends_with(".py")) {
      refuse(item,
             "is Python, whose functions `python -m sparkbench` runs: harness/python/README.md");
    }
    refuse(item, fmt::format("is not a shared library that can be loaded here: {}",
                             why != nullptr ? why : "no reason is known"));
  }
  return library;
}

using Entry = decltype(&sparkbench_kernel_entry);

Entry entry_of(void* library, const std::string& item) {
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "sparkbench_kernel_entry"));
  if (entry == nullptr) {
    refuse(item,
           "exports no sparkbench_kernel_entry(), by which a library gives its kernels: "
           "harness/plugin/README.md has the smallest one");
  }
  return entry;
}

std::vector<const sparkbench_kernel*> tables_of(Entry entry, const std::string& item) {
  std::vector<const sparkbench_kernel*> tables;
  while (const sparkbench_kernel* table =
             entry(SPARKBENCH_KERNEL_ABI, static_cast<std::uint32_t>(tables.size()))) {
    tables.push_back(table);
    if (tables.size() > kMostKernels) {
      refuse(item, fmt::format("sparkbench_kernel_entry() returns more than {} kernels; after the "
                               "last one it must return null",
                               kMostKernels));
    }
  }
  if (tables.empty()) {
    refuse(item, fmt::format("sparkbench_kernel_entry() returns no kernel for ABI {}: it has none, "
                             "or was written for another SPARKBENCH_KERNEL_ABI",
                             SPARKBENCH_KERNEL_ABI));
  }
  return tables;
}

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

bool is_well_formed(std::string_view name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= kLongestName && is_lower(name.front()) &&
         std::ranges::all_of(name, [&](char c) {
           return is_lower(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
         });
}

bool is_own(std::string_view name) {
  for (const auto& known : {std::span<const CandidateInfo>(kHostReferences),
                            std::span<const CandidateInfo>(kGpuReferences),
                            std::span<const CandidateInfo>(kVendorKernels)}) {
    if (std::ranges::find(known, name, &CandidateInfo::name) != known.end()) return true;
  }
  return std::ranges::any_of(attention_kernels(),
                             [&](const AttentionKernel& kernel) { return kernel.name == name; });
}

void check_fields(const std::string& item, const std::string& which,
                  const sparkbench_kernel& table) {
  const auto require = [&](bool holds, const std::string& why) {
    if (!holds) refuse(item, fmt::format("{}: {}", which, why));
  };
  require(table.prepare != nullptr, "prepare is null; every kernel needs it");
  require(table.forward != nullptr, "forward is null; every kernel needs it");
  require(table.backend == SPARKBENCH_CUDA || table.backend == SPARKBENCH_HOST,
          fmt::format("backend is {}; allowed: SPARKBENCH_CUDA ({}), SPARKBENCH_HOST ({})",
                      table.backend, static_cast<int>(SPARKBENCH_CUDA),
                      static_cast<int>(SPARKBENCH_HOST)));
  require(table.accumulator == SPARKBENCH_ACC_FP32 || table.accumulator == SPARKBENCH_ACC_FP16,
          fmt::format("accumulator is {}; allowed: SPARKBENCH_ACC_FP32 ({}), SPARKBENCH_ACC_FP16 "
                      "({})",
                      table.accumulator, static_cast<int>(SPARKBENCH_ACC_FP32),
                      static_cast<int>(SPARKBENCH_ACC_FP16)));
}

/// As much of the table as its maker knew.
sparkbench_kernel copy_of(const std::string& item, const std::string& which,
                          const sparkbench_kernel* table) {
  if (table == nullptr) refuse(item, which + ": its table is null");
  const std::size_t bytes = table->struct_bytes;
  if (bytes < kLeastBytes) {
    refuse(item, fmt::format("{}: struct_bytes is {}; allowed: sizeof(sparkbench_kernel), which is "
                             "at least {}",
                             which, bytes, kLeastBytes));
  }
  sparkbench_kernel copy{};
  std::memcpy(&copy, table, std::min(bytes, sizeof copy));
  return copy;
}

std::string checked_name(const std::string& item, const std::string& which, const char* text) {
  if (text == nullptr) refuse(item, which + ": name is null; every kernel needs one");
  std::string name = text;
  if (!is_well_formed(name)) {
    refuse(item, fmt::format("{}: name '{}' is malformed; allowed: 1 to {} lower-case letters, "
                             "digits, '-', '_' and '.', the first a letter",
                             which, name, kLongestName));
  }
  if (is_own(name)) {
    refuse(item, fmt::format("{}: name '{}' is that of one of sparkbench's own kernels; give it "
                             "another",
                             which, name));
  }
  return name;
}

std::string hash_of_file(const std::string& item, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(item, path + " cannot be read");
  return to_hex(fnv1a(file));
}

}  // namespace

std::optional<std::vector<ForeignKernel>> load_kernel_library(const std::string& item) {
  const auto library = library_named_by(item);
  if (!library) return std::nullopt;
  const Entry entry = entry_of(open_library(item, library->path), item);
  std::vector<ForeignKernel> kernels;
  std::vector<std::string> names;
  for (const sparkbench_kernel* table : tables_of(entry, item)) {
    const bool has_name = table->struct_bytes >= kLeastBytes && table->name != nullptr;
    const std::string name = has_name ? table->name : "";
    names.push_back(name);
    if (!library->kernel.empty() && name != library->kernel) continue;
    kernels.push_back({table, library->path + ":" + name, library->path});
  }
  if (kernels.empty()) {
    throw UsageError(
        one_line(unknown_name_message("--kernel: " + library->path, library->kernel, names)));
  }
  return kernels;
}

std::vector<CheckedKernel> checked_kernels(const std::string& item,
                                           const std::vector<ForeignKernel>& kernels) {
  std::vector<CheckedKernel> checked;
  std::string hashed_file, hash;
  for (const ForeignKernel& kernel : kernels) {
    const std::string which = fmt::format("kernel {}", checked.size());
    CheckedKernel next;
    next.table = copy_of(item, which, kernel.table);
    next.name = checked_name(item, which, next.table.name);
    check_fields(item, next.name, next.table);
    const auto is_same = [&](const CheckedKernel& other) {
      return other.name == next.name && other.table.backend == next.table.backend;
    };
    if (std::ranges::any_of(checked, is_same)) {
      refuse(item, fmt::format("two of its kernels are called '{}'", next.name));
    }
    next.summary = one_line(text_or_empty(next.table.summary));
    if (next.table.version != nullptr) next.version = one_line(next.table.version);
    next.spec = kernel.spec;
    if (!kernel.file.empty()) {
      if (kernel.file != hashed_file) hash = hash_of_file(item, hashed_file = kernel.file);
      next.file_name = std::filesystem::path(kernel.file).filename().string();
      next.file_hash = hash;
    }
    checked.push_back(std::move(next));
  }
  return checked;
}

}  // namespace sparkbench
