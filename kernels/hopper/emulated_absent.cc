// Linked only into libspark_attention, which emulates only a V100: to compile these kernels for the
// emulated machine would take as long as the rest of the library.
#include <stdexcept>

#include "kernels/hopper/backward_emulated.h"
#include "kernels/hopper/forward_emulated.h"
#include "kernels/hopper/packed_emulated.h"

namespace sparkbench::hopper {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("this library was built without an emulated H100");
}

}  // namespace

EmulationReport emulate_forward(const Problem& /*problem*/, const ForwardTensors& /*tensors*/,
                                const EmulationOptions& /*options*/, RowForm /*form*/,
                                std::span<const SampleTile> /*tiles*/) {
  refuse();
}

EmulationReport emulate_backward(const Problem& /*problem*/, const BackwardTensors& /*tensors*/,
                                 const EmulationOptions& /*options*/, DqForm /*dq*/,
                                 const BackwardSample& /*sample*/) {
  refuse();
}

EmulationReport emulate_packed_forward(const Problem& /*packed*/, const PackedLengths& /*lengths*/,
                                       const ForwardTensors& /*tensors*/,
                                       const EmulationOptions& /*options*/,
                                       std::span<const SampleTile> /*tiles*/) {
  refuse();
}

EmulationReport emulate_packed_backward(const Problem& /*packed*/, const PackedLengths& /*lengths*/,
                                        const BackwardTensors& /*tensors*/,
                                        const EmulationOptions& /*options*/, DqForm /*dq*/,
                                        const BackwardSample& /*sample*/) {
  refuse();
}

}  // namespace sparkbench::hopper
