// A pass as its launches, in order: said once, by one function a family. Four ways to run them:
// on a stream (run_gpu.h), on the emulated machine (run_emulated.h), as bytes for whoever reads
// machine code (instance_launch.h), and as a prediction (harness/model/predict/pass_launches.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/launch/kernel_instance.h"
#include "kernels/machine/tensor_copy/tensor_map.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

class PatternLists;  // kernels/block_sparse/pattern_lists.h

/// Mask metadata that an unfused kernel reads, built once for a mask and its lengths.
class MaskTables {
 public:
  virtual ~MaskTables() = default;
  /// To be copied to memory that is aligned to 16 bytes.
  virtual std::vector<std::byte> bytes() const = 0;
};

/// The parameters of a kernel, as a launch copies them.
class ParamBytes {
 public:
  ParamBytes() = default;
  template <class Params>
  explicit ParamBytes(const Params& params)
      : lines_((sizeof params + sizeof(Line) - 1) / sizeof(Line)), size_(sizeof params) {
    static_assert(std::is_trivially_copyable_v<Params> && alignof(Params) <= alignof(Line),
                  "a launch copies its parameters");
    std::memcpy(lines_.data(), &params, size_);
  }

  template <class Params>
  const Params& as() const {
    return *static_cast<const Params*>(data());
  }
  template <class Params>
  Params& as() {
    return *reinterpret_cast<Params*>(lines_.data());
  }
  const void* data() const { return lines_.data(); }
  std::size_t size() const { return size_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
  std::size_t size_ = 0;
};

/// Part of a pass's workspace, or of the lists that it reads.
struct MemoryPart {
  const char* name;
  const void* first;
  std::uint64_t bytes;
};

struct Memset {
  void* first = nullptr;
  int byte = 0;
  std::uint64_t bytes = 0;
};

/// One launch, or one memset.
struct Step {
  const KernelInstance* instance = nullptr;  // null: only `zero`
  std::array<int, 3> grid{};
  ParamBytes params;
  /// Beside the pass's tensors. What it adds to is in both.
  std::vector<MemoryPart> reads, writes;
  Memset zero{};
  std::shared_ptr<const Problem> view = nullptr;  // its problem, where that is a strided view's
};

inline Step memset_step(const MemoryPart& part, int byte) {
  Step step;
  step.zero = {const_cast<void*>(part.first), byte, part.bytes};
  return step;
}

/// Aligns each part of a workspace to 256 bytes. Saturates.
class WorkspacePlaces {
 public:
  explicit WorkspacePlaces(std::uint64_t begin) : end_(begin) {}

  std::uint64_t take(std::uint64_t size);
  std::uint64_t end() const { return end_; }

 private:
  std::uint64_t end_;
};

/// Memory in which launches of a pass leave results for later ones.
class Workspace {
 public:
  virtual ~Workspace() = default;
  /// The next part: aligned to 256 bytes.
  virtual void* take(const char* name, std::uint64_t bytes) = 0;

  template <class T>
  T* take(const char* name, std::uint64_t bytes) {
    return static_cast<T*>(take(name, bytes));
  }
};

/// Parts of one allocation, one after the other; of none, to count them.
class DeviceWorkspace : public Workspace {
 public:
  using Workspace::take;

  explicit DeviceWorkspace(const void* memory = nullptr)
      : memory_(reinterpret_cast<std::uintptr_t>(memory)) {}
  void* take(const char* /*name*/, std::uint64_t bytes) override {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): of a count, there is no memory
    return reinterpret_cast<void*>(memory_ + places_.take(bytes));
  }
  std::uint64_t bytes() const { return places_.end(); }

 private:
  std::uintptr_t memory_;
  WorkspacePlaces places_{0};
};

/// The arguments of a plan. Either `forward` or `backward` is set, and selects the pass.
struct PlanRequest {
  /// With `lengths` a varlen problem (kernels/problem/packed.h).
  const Problem& problem;
  std::size_t shared_bytes_per_block;  // of the device
  const ForwardTensors* forward = nullptr;
  const BackwardTensors* backward = nullptr;
  bool is_deterministic = false;
  const PackedLengths* lengths = nullptr;
  /// Block-sparse metadata of a pattern, from list `first_list` on: in `list_memory`, or on the
  /// host if that is null.
  const PatternLists* lists = nullptr;
  const void* list_memory = nullptr;
  int first_list = 0;
  /// The result of AttentionKernel::tables, and its bytes() in the memory of the device.
  const MaskTables* tables = nullptr;
  const void* table_memory = nullptr;
  int sms = 0;  // of the device, where launches have as many blocks as it holds
  /// Describes a tensor to the tensor memory accelerator; null if the device has none.
  TensorMap (*encode_map)(const TensorMapShape&) = nullptr;

  /// The same of another problem, such as one without its pattern.
  PlanRequest of(const Problem& other) const {
    return {other,
            shared_bytes_per_block,
            forward,
            backward,
            is_deterministic,
            lengths,
            lists,
            list_memory,
            first_list,
            tables,
            table_memory,
            sms,
            encode_map};
  }
};

/// Plans a pass: its launches, whose workspace is taken from `workspace`. Without a pattern's
/// lists, or without table_memory, it only takes the workspace and returns no steps.
using PlanPass = std::function<std::vector<Step>(const PlanRequest& request, Workspace& workspace)>;

/// Device memory that a pass of the request takes beside its tensors, which it need not have: of a
/// training step, what either of its passes takes, which follow each other. 0 where no instance
/// serves. Saturates at 2^64 - 1.
std::uint64_t workspace_bytes(const PlanPass& plan, const PlanRequest& request, Pass pass);

inline PlanRequest forward_request(const Problem& problem, const ForwardTensors& tensors) {
  return {problem, 0, &tensors};
}
inline PlanRequest backward_request(const Problem& problem, const BackwardTensors& tensors,
                                    bool is_deterministic) {
  return {problem, 0, nullptr, &tensors, is_deterministic};
}

}  // namespace sparkbench
