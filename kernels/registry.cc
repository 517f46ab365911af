#include "kernels/registry.h"

#include <algorithm>
#include <vector>

#include "kernels/baselines/acsr/kernel_family.h"
#include "kernels/hopper/kernel_family.h"
#include "kernels/volta/kernel_family.h"

namespace sparkbench {
namespace {

/// One line a folder.
constexpr KernelFamily (*kFamilies[])() = {
    volta::kernel_family,
    hopper::kernel_family,
    acsr::kernel_family,
};

template <class T>
std::vector<T> of_all_families(std::span<const T> KernelFamily::*members) {
  std::vector<T> all;
  for (const auto family : kFamilies) {
    const std::span<const T> of_family = family().*members;
    all.insert(all.end(), of_family.begin(), of_family.end());
  }
  return all;
}

template <class T>
const T* find(std::span<const T> all, std::string_view T::*name, std::string_view wanted) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const T& one) { return one.*name == wanted; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::span<const AttentionKernel> attention_kernels() {
  static const std::vector<AttentionKernel> all = of_all_families(&KernelFamily::kernels);
  return all;
}

const AttentionKernel* find_attention_kernel(std::string_view name) {
  return find(attention_kernels(), &AttentionKernel::name, name);
}

std::span<const KernelInstance> kernel_instances() {
  static const std::vector<KernelInstance> all = of_all_families(&KernelFamily::instances);
  return all;
}

const KernelInstance* find_kernel_instance(std::string_view symbol) {
  return find(kernel_instances(), &KernelInstance::symbol, symbol);
}

}  // namespace sparkbench
