#include "kernels/baselines/acsr/instance_launch.h"

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/baselines/acsr/params.h"

namespace sparkbench::acsr {

namespace {

BackwardTensors made_up_backward(const Problem& problem, MadeUpMemory& memory) {
  std::array<Bits16*, 8> tensors;
  for (Bits16*& tensor : tensors) tensor = memory.allocate<Bits16>();
  const auto [q, k, v, o, d_o, dq, dk, dv] = tensors;
  return contiguous_tensors(problem, q, k, v, o, d_o, memory.allocate<float>(), dq, dk, dv);
}

}  // namespace

InstanceLaunch launch_of(const KernelInstance& instance, const Problem& problem) {
  if (!instance.serves(problem.head_dim)) {
    throw std::invalid_argument(std::string(instance.id) + " is not for head_dim " +
                                std::to_string(problem.head_dim));
  }
  const MaskRows rows(problem);
  const MaskKeys keys(problem, rows);
  const void* const place = MadeUpMemory::lists();
  MadeUpMemory memory;
  const ForwardTensors forward = made_up_forward(problem, memory);
  const BackwardTensors backward = made_up_backward(problem, memory);
  Half* const p = memory.allocate<Half>();
  const ChainParams of_rows = chain_params(problem, forward, rows, p, place);
  const GradientParams gradients =
      gradient_params(problem, backward, rows, keys, p, memory.allocate<Half>(), place);
  const bool is_of_keys = instance.pass() == "spmm-transposed";
  const int parts = kBlockRows / instance.block_rows;  // a row block's blocks of threads
  InstanceLaunch launch = {
      {is_of_keys ? keys.blocks_of_head() : parts * rows.blocks_of_head(),
       is_of_keys ? problem.key_heads() : problem.heads, problem.batch},
      instance.threads,
      instance.dynamic_shared_bytes,
      bytes_of(is_of_keys ? gradients.dk : of_rows),
      MemoryContents{reinterpret_cast<std::uintptr_t>(place), rows.all_bytes()}};
  if (instance.pass() == "softmax-gradient") {
    launch.parameters = bytes_of(gradients.scores);
    const std::vector<std::byte> probabilities =
        bytes_of(reinterpret_cast<std::uintptr_t>(gradients.probabilities));
    launch.parameters.insert(launch.parameters.end(), probabilities.begin(), probabilities.end());
  }
  const std::vector<std::byte> of_keys = keys.all_bytes();
  launch.lists->bytes.insert(launch.lists->bytes.end(), of_keys.begin(), of_keys.end());
  return launch;
}

}  // namespace sparkbench::acsr
