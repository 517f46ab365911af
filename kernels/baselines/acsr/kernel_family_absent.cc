// Linked into libspark_attention only: its callers name no baseline.
#include "kernels/baselines/acsr/kernel_family.h"

namespace sparkbench::acsr {

KernelFamily kernel_family() { return {}; }

}  // namespace sparkbench::acsr
