// For tests: a device's description.
#pragma once

#include "results/record/run_record.h"

namespace sparkbench {

/// A V100-SXM2.
inline DeviceInfo v100() {
  DeviceInfo device;
  device.kind = DeviceKind::kGpu;
  device.sm = 70;
  device.sm_count = 80;
  device.sm_clock_max_mhz = 1530;
  device.l2_bytes = 6 << 20;
  device.peak_tflops = 125;
  device.peak_gbps = 900;
  return device;
}

}  // namespace sparkbench
