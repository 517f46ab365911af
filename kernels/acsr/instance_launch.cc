#include "kernels/acsr/instance_launch.h"

#include <stdexcept>
#include <string>

#include "kernels/acsr/config.h"
#include "kernels/acsr/params.h"

namespace sparkbench::acsr {

InstanceLaunch launch_of(const KernelInstance& instance, const Problem& problem) {
  if (!instance.serves(problem.head_dim)) {
    throw std::invalid_argument(std::string(instance.id) + " is not for head_dim " +
                                std::to_string(problem.head_dim));
  }
  const MaskRows rows(problem);
  const void* const place = MadeUpMemory::lists();
  MadeUpMemory memory;
  const ForwardTensors tensors = made_up_forward(problem, memory);
  const int parts = instance.products == 0 ? SoftmaxConfig::kBlocksOfRows : 1;
  return {{parts * rows.blocks_of_head(), problem.heads, problem.batch},
          instance.threads,
          instance.dynamic_shared_bytes,
          bytes_of(chain_params(problem, tensors, rows, memory.allocate<Half>(), place)),
          MemoryContents{reinterpret_cast<std::uintptr_t>(place), rows.all_bytes()}};
}

}  // namespace sparkbench::acsr
