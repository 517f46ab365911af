// The memory input and output unit (MIO): a queue for each scheduler, one data path for all of
// them, and the SM's share of L2's bandwidth.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/model/sm/machine_constants.h"
#include "harness/model/sm/timed_code.h"

namespace sparkbench {

struct MemoryRequest {
  double issue;
  const TimedInstruction* instruction;
  std::int32_t warp;
  std::int32_t generation;
};

/// When its scoreboards are released.
struct MemoryService {
  MemoryRequest request;
  double result, sources;
};

class MemoryUnit {
 public:
  explicit MemoryUnit(const SmConstants& constants);

  bool is_full(int scheduler) const { return queues_[scheduler].size == constants_.mio_queue; }
  void push(int scheduler, const MemoryRequest& request);

  /// At most one request a cycle is served, round robin over the schedulers.
  std::optional<MemoryService> serve(double now);

  /// The earliest cycle at which a request that waits might be served; infinite without one.
  double next_service() const;

 private:
  struct Queue {
    std::vector<MemoryRequest> ring;
    int first = 0, size = 0;
    double free = 0.0;  // its lanes

    const MemoryRequest& front() const { return ring[first]; }
    MemoryRequest pop();
  };

  MemoryService serve(Queue& queue, double now);

  const SmConstants& constants_;
  std::array<Queue, kSchedulers> queues_;
  double path_free_ = 0.0;
  double l2_free_ = 0.0;
  int turn_ = 0;
};

}  // namespace sparkbench
