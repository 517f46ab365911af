#include "harness/model/sm/memory_unit.h"

#include <algorithm>
#include <limits>

namespace sparkbench {
MemoryUnit::MemoryUnit(const SmConstants& constants) : constants_(constants) {
  for (Queue& queue : queues_) queue.ring.resize(constants.mio_queue);
}

MemoryRequest MemoryUnit::Queue::pop() {
  const MemoryRequest request = front();
  first = (first + 1) % static_cast<int>(ring.size());
  --size;
  return request;
}

void MemoryUnit::push(int scheduler, const MemoryRequest& request) {
  Queue& queue = queues_[scheduler];
  queue.ring[(queue.first + queue.size) % queue.ring.size()] = request;
  ++queue.size;
}

std::optional<MemoryService> MemoryUnit::serve(double now) {
  if (path_free_ > now) return std::nullopt;
  for (int i = 0; i < kSchedulers; ++i) {
    const int scheduler = (turn_ + i) % kSchedulers;
    Queue& queue = queues_[scheduler];
    if (queue.size == 0 || queue.free > now) continue;
    if (queue.front().issue + constants_.mio_min_latency > now) continue;
    turn_ = scheduler + 1;
    return serve(queue, now);
  }
  return std::nullopt;
}

MemoryService MemoryUnit::serve(Queue& queue, double now) {
  const MemoryRequest request = queue.pop();
  const TimedInstruction& instruction = *request.instruction;
  const int latency = instruction.latency;
  queue.free = now + constants_.mio_interval;
  if (uses_data_path(instruction.timing_class)) path_free_ = now + instruction.wavefronts;
  double result = now - constants_.mio_min_latency + latency + instruction.wavefronts - 1;
  if (goes_to_l2(instruction.timing_class)) {
    const double begin = std::max(l2_free_, now);
    l2_free_ = begin + instruction.bytes / constants_.l2_bytes;
    result = std::max(result, l2_free_ + latency - instruction.bytes / constants_.l2_bytes);
  }
  return {request, result, now + constants_.mio_read_release + instruction.wavefronts - 1};
}

double MemoryUnit::next_service() const {
  double next = std::numeric_limits<double>::infinity();
  for (const Queue& queue : queues_) {
    if (queue.size == 0) continue;
    next = std::min(
        next, std::max({queue.front().issue + constants_.mio_min_latency, queue.free, path_free_}));
  }
  return next;
}

}  // namespace sparkbench
