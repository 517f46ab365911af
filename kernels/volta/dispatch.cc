#include "kernels/volta/dispatch.h"

#include <string>

#include "kernels/volta/short_blocks.h"

namespace sparkbench::volta {

const KernelInstance* find_instance(const InstanceWish& wish, bool relays_dq) {
  return sparkbench::find_instance(instances(), wish, [&](const KernelInstance& instance) {
    return instance.relays_dq == relays_dq &&
           wants_blocks(instance.short_window, instance.head_dim, wish.problem);
  });
}

const KernelInstance& instance_for(const InstanceWish& wish) {
  if (const KernelInstance* const found = find_instance(wish)) return *found;
  throw NoInstance("no Volta kernel is for head_dim " + std::to_string(wish.problem.head_dim) +
                   ", fp16 and " + std::to_string(wish.shared_bytes_per_block) +
                   " bytes of shared memory");
}

}  // namespace sparkbench::volta
