#include "kernels/baselines/acsr/instance_launch.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/baselines/acsr/plan.h"

namespace sparkbench::acsr {
namespace {

class MadeUpWorkspace : public Workspace {
 public:
  explicit MadeUpWorkspace(MadeUpMemory& memory) : memory_(memory) {}
  void* take(const char* /*name*/, std::uint64_t /*bytes*/) override {
    return memory_.allocate<void>();
  }

 private:
  MadeUpMemory& memory_;
};

}  // namespace

InstanceLaunch launch_of(const KernelInstance& instance, const Problem& problem) {
  if (!instance.serves(problem.head_dim)) {
    throw std::invalid_argument(std::string(instance.id) + " is not for head_dim " +
                                std::to_string(problem.head_dim));
  }
  const ChainTables tables(problem, Pass::kBackward);
  MadeUpMemory memory;
  const ForwardTensors forward = made_up_forward(problem, memory);
  const BackwardTensors backward = made_up_backward(problem, memory);
  for (PlanRequest request :
       {forward_request(problem, forward), backward_request(problem, backward, true)}) {
    request.tables = &tables;
    request.table_memory = MadeUpMemory::lists();
    MadeUpMemory of_workspace = memory;
    MadeUpWorkspace workspace(of_workspace);
    const std::vector<Step> steps = plan(request, workspace);
    // spmm-transposed runs twice: take dK's launch.
    const auto step = std::find_if(steps.rbegin(), steps.rend(), [&](const Step& each) {
      return each.instance->id == instance.id;
    });
    if (step == steps.rend()) continue;
    return launch_of_step(
        *step,
        MemoryContents{reinterpret_cast<std::uintptr_t>(request.table_memory), tables.bytes()});
  }
  throw std::logic_error("no pass of the chain launches " + std::string(instance.id));
}

}  // namespace sparkbench::acsr
