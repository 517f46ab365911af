// The likely time of a pass on a V100, with its doubt: of a Volta kernel from its instances'
// cycles.
//
// A launch takes the longest of three times: what its blocks take on the SMs, what HBM takes for
// its bytes and what L2 does. A part of HBM's time, or of the SMs' if that is shorter, adds to it
// (exposed_share()), and so does the cost of a launch. The passes' launches follow each other.
//   likely  the cycles with accumulators forwarded, or as a V100's calibration has them
//           (CyclesFile::likely), over the likely share of the model, 1380 MHz
//   low     over the largest share, 1530 MHz
//   high    over the smallest share, and no less than with instructions at 8 bytes a clock, 1380
//   MHz
// v100_constants.h has the numbers. A kernel that goes over rows has no cycles: HBM binds it.
#pragma once

#include <string>
#include <vector>

#include "harness/model/predict/cycles_file.h"
#include "harness/model/predict/pass_launches.h"
#include "harness/model/predict/v100_constants.h"

namespace sparkbench {

/// As far as is known: a time, or why there is none.
struct PassTime {
  ThreeWays ms{};
  /// What makes the likely time. "launch": the launches' cost is more than half of it. Else it is
  /// of the launch that takes longest "hbm" or "l2", if these take longer than the SMs do; "last
  /// wave" if these would need less than half of their time were the work spread evenly; or what
  /// binds the instance's loop.
  std::string binding;
  std::string why_not;  // "no cycles of volta-fp32acc/fwd/d64 in kernels/volta/cycles.json"
};

/// `sms` of a V100's are enabled.
PassTime time_of_launches(const std::vector<PassLaunch>& launches, const CyclesFile& cycles,
                          int sms = kV100Sms);

/// The part of the shorter of two phases, moving a block's bytes and computing, that the longer one
/// does not hide: with r blocks on an SM all are in the same phase for one part in r of the time. A
/// block alone hides half, since it loads ahead. At the ends: none, and twice as much.
ThreeWays exposed_share(int blocks_per_sm);

/// Which share of the model's speed the instance may reach.
ThreeWays share_of_model(const KernelInstance& instance, const InstanceCycles& cycles);

}  // namespace sparkbench
