// From a problem and a device to the row of instances.h that serves them.
#pragma once

#include "kernels/launch/serving_instance.h"
#include "kernels/volta/instance_table.h"

namespace sparkbench::volta {

/// The row that serves; of `relays_dq` the one whose blocks hand on dQ (backward/relay_plan.h).
/// Null where there is none.
const KernelInstance* find_instance(const InstanceWish& wish, bool relays_dq = false);

/// The same without relay. Throws NoInstance where there is none.
const KernelInstance& instance_for(const InstanceWish& wish);

}  // namespace sparkbench::volta
