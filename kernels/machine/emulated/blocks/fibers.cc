#include "kernels/machine/emulated/blocks/fibers.h"

#include <unistd.h>

#include <boost/context/protected_fixedsize_stack.hpp>
#include <boost/context/stack_context.hpp>
#include <memory>
#include <mutex>

namespace sparkbench {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;

/// Not Boost's traits: these are compiled for programs, with thread-local memory that dlopen() has
/// little room for, and libspark_attention.so could not be loaded after PyTorch.
struct PageTraits {
  static std::size_t page_size() noexcept {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }
  static std::size_t default_size() noexcept { return kStackBytes; }
  static bool is_unbounded() noexcept { return true; }
  static std::size_t minimum_size() noexcept { return kStackBytes; }
  static std::size_t maximum_size() noexcept { return kStackBytes; }
};

/// Guarded stacks, which outlive their launch: the many short launches of a test would otherwise
/// map and unmap hundreds each, and touch all of their pages again.
class SpareStacks {
 public:
  SpareStacks() = default;
  SpareStacks(const SpareStacks&) = delete;
  SpareStacks& operator=(const SpareStacks&) = delete;
  ~SpareStacks() {
    for (boost::context::stack_context& stack : spare_) pages_.deallocate(stack);
  }

  boost::context::stack_context take() {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        const boost::context::stack_context stack = spare_.back();
        spare_.pop_back();
        return stack;
      }
    }
    return pages_.allocate();
  }

  void give_back(boost::context::stack_context& stack) {
    {
      const std::lock_guard lock(mutex_);
      if (spare_.size() < kMostSpare) {
        spare_.push_back(stack);
        return;
      }
    }
    pages_.deallocate(stack);
  }

 private:
  static constexpr std::size_t kMostSpare = 1024;  // of four workers with blocks of 256 threads

  boost::context::basic_protected_fixedsize_stack<PageTraits> pages_{kStackBytes};
  std::mutex mutex_;
  std::vector<boost::context::stack_context> spare_;
};

/// One per process: launches have nothing else in common, and no result depends on it.
SpareStacks& spare_stacks() {
  static SpareStacks stacks;
  return stacks;
}

/// A guarded stack that starts a little lower. Stacks of pages all start at the same offset in a
/// page, so the same sets of the cache would hold the hot end of all 32 lanes' stacks.
class StaggeredStack {
 public:
  explicit StaggeredStack(int fiber) : lowered_bytes_(static_cast<std::size_t>(fiber) % 16 * 256) {}

  boost::context::stack_context allocate() {
    return lowered(spare_stacks().take(), lowered_bytes_);
  }
  void deallocate(boost::context::stack_context& stack) {
    boost::context::stack_context whole = stack;
    whole.sp = static_cast<char*>(stack.sp) + lowered_bytes_;
    whole.size = stack.size + lowered_bytes_;
    spare_stacks().give_back(whole);
  }

 private:
  static boost::context::stack_context lowered(boost::context::stack_context stack,
                                               std::size_t bytes) {
    stack.sp = static_cast<char*>(stack.sp) - bytes;
    stack.size -= bytes;
    return stack;
  }

  std::size_t lowered_bytes_;
};

}  // namespace

Fibers::Fibers(int count, std::function<void(int)> body)
    : body_(std::move(body)),
      contexts_(static_cast<std::size_t>(count) + 1),
      running_(count),
      switcher_(count) {
  for (int i = 0; i < count; ++i) at(i).fiber = make_fiber(i);
}

Fibers::~Fibers() {
  destroying_ = true;
  for (int i = 0; i < maker(); ++i) switch_to(i);
}

boost::context::fiber Fibers::make_fiber(int i) {
  StaggeredStack allocator(i);
  const boost::context::stack_context stack = allocator.allocate();
  at(i).stack = {static_cast<char*>(stack.sp) - stack.size, stack.size};
  clear_stack(at(i).stack);
  const boost::context::preallocated whole(stack.sp, stack.size, stack);
  return {std::allocator_arg, whole, allocator,
          [this, i](boost::context::fiber switcher) { return run_fiber(i, std::move(switcher)); }};
}

boost::context::fiber Fibers::run_fiber(int i, boost::context::fiber switcher) {
  try {
    resumed(std::move(switcher), nullptr);
    body_(i);
  } catch (const Destroyed&) {
  }
  switcher_ = std::exchange(running_, maker());
  leave_stack_for_ever(at(maker()).stack);
  return std::move(at(maker()).fiber);
}

}  // namespace sparkbench
