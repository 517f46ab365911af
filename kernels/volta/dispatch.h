// From a problem and a device to the row of instances.h that serves them.
#pragma once

#include "kernels/launch/serving_instance.h"
#include "kernels/volta/instance_table.h"

namespace sparkbench::volta {

/// The instance that serves: with `relays_dq` the one with the dQ semaphore
/// (backward/relay_plan.h). Null if there is none.
const KernelInstance* find_instance(const InstanceWish& wish, bool relays_dq = false);

/// The same without the dQ semaphore. Throws NoInstance if there is none.
const KernelInstance& instance_for(const InstanceWish& wish);

}  // namespace sparkbench::volta
