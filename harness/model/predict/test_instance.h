// A kernel's instance, for tests.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/registry.h"

namespace sparkbench {

inline const KernelInstance& instance_of(std::string_view id) {
  for (const KernelInstance& instance : kernel_instances()) {
    if (instance.id == id) return instance;
  }
  throw std::invalid_argument(std::string(id));
}

}  // namespace sparkbench
