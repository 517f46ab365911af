#include "harness/model/tool/instance_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "kernels/base/meant_names.h"

namespace sparkbench {

std::string unknown_instance_message(std::string_view glob,
                                     std::span<const std::string> instances) {
  std::vector<std::string> kernels;
  for (const std::string& name : instances) {
    std::string kernel = name.substr(0, name.find('/'));
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) {
      kernels.push_back(std::move(kernel));
    }
  }
  std::vector<std::string> known = kernels;
  known.insert(known.end(), instances.begin(), instances.end());
  return fmt::format("--kernel: unknown '{}'{}; allowed: {}, or one of their instances, as {}",
                     glob, did_you_mean(meant_names(glob, known)), fmt::join(kernels, ", "),
                     instances.empty() ? "KERNEL/fwd/d64" : instances.front());
}

}  // namespace sparkbench
