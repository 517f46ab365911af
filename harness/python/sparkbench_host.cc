#include "harness/python/sparkbench_host.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/cli/program.h"
#include "harness/cli/standard_streams.h"
#include "harness/plugin/kernel_library.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// As much of the struct as its maker knew.
sparkbench_host known_part(const sparkbench_host* host) {
  sparkbench_host known{};
  if (host != nullptr) {
    std::memcpy(&known, host, std::min(host->struct_bytes, sizeof known));
  }
  return known;
}

std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

/// The host's kernels of an item of --kernel; nothing if the item is not the host's.
std::optional<std::vector<ForeignKernel>> load_from(const sparkbench_host& host,
                                                    const std::string& item) {
  std::vector<ForeignKernel> kernels;
  const auto next = [&] {
    return host.load(item.c_str(), static_cast<std::uint32_t>(kernels.size()));
  };
  while (const sparkbench_kernel* const table = next()) {
    kernels.push_back({table, host.item_of != nullptr ? text_or_empty(host.item_of(table)) : item,
                       host.file_of != nullptr ? text_or_empty(host.file_of(table)) : ""});
  }
  const std::string why = text_or_empty(host.load_error != nullptr ? host.load_error() : nullptr);
  if (!why.empty()) throw UsageError("--kernel: '" + item + "': " + why);
  if (kernels.empty()) return std::nullopt;
  return kernels;
}

ProgramSettings settings_of(const sparkbench_host& host) {
  ProgramSettings settings;
  if (host.worker_command != nullptr && host.worker_command[0] != nullptr) {
    settings.worker_executable = host.worker_command[0];
    for (const char* const* word = host.worker_command + 1; *word != nullptr; ++word) {
      settings.worker_arguments.emplace_back(*word);
    }
  }
  if (host.load != nullptr) {
    settings.load_kernels = [host](const std::string& item) {
      auto kernels = load_from(host, item);
      return kernels ? std::move(kernels) : load_kernel_library(item);
    };
  }
  return settings;
}

}  // namespace
}  // namespace sparkbench

int sparkbench_main(int argc, const char* const* argv, const sparkbench_host* host) {
  constexpr int kFailed = 4;  // ExitCode::kIncomplete
  try {
    sparkbench::open_missing_standard_streams();
    const int status =
        sparkbench::run_program(std::vector<std::string>(argv, argv + argc), std::cout, std::cerr,
                                sparkbench::settings_of(sparkbench::known_part(host)));
    std::cout.flush();
    std::cerr.flush();
    return status;
  } catch (const std::exception& error) {
    std::cerr << "sparkbench: " << error.what() << '\n';
    return kFailed;
  }
}
