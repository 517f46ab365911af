/* For tests: a library for a later ABI, and with WITHOUT_ENTRY one that gives no kernels. C99. */
#include "harness/plugin/sparkbench_kernel.h"

#ifdef WITHOUT_ENTRY
int sparkbench_test_plugin_without_entry = 1;
#else
const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index) {
  static sparkbench_kernel kernel;
  return abi == SPARKBENCH_KERNEL_ABI + 1 && index == 0 ? &kernel : 0;
}
#endif
