#include "kernels/machine/emulated/blocks/fibers.h"

#include <unistd.h>

#include <boost/context/protected_fixedsize_stack.hpp>
#include <boost/context/stack_context.hpp>
#include <memory>

namespace sparkbench {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;

/// Boost's own are compiled for programs: they put the thread-local memory of a shared library
/// where dlopen() has room for little, and libspark_attention.so could not be loaded after PyTorch.
struct PageTraits {
  static std::size_t page_size() noexcept {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }
  static std::size_t default_size() noexcept { return kStackBytes; }
  static bool is_unbounded() noexcept { return true; }
  static std::size_t minimum_size() noexcept { return kStackBytes; }
  static std::size_t maximum_size() noexcept { return kStackBytes; }
};

/// A guarded stack that starts a little lower. Stacks of pages all start at the same offset in a
/// page, so the same sets of the cache would hold the hot end of all 32 lanes' stacks.
class StaggeredStack {
 public:
  explicit StaggeredStack(int fiber) : lowered_bytes_(static_cast<std::size_t>(fiber) % 16 * 256) {}

  boost::context::stack_context allocate() { return lowered(pages_.allocate(), lowered_bytes_); }
  void deallocate(boost::context::stack_context& stack) {
    boost::context::stack_context whole = stack;
    whole.sp = static_cast<char*>(stack.sp) + lowered_bytes_;
    whole.size = stack.size + lowered_bytes_;
    pages_.deallocate(whole);
  }

 private:
  static boost::context::stack_context lowered(boost::context::stack_context stack,
                                               std::size_t bytes) {
    stack.sp = static_cast<char*>(stack.sp) - bytes;
    stack.size -= bytes;
    return stack;
  }

  boost::context::basic_protected_fixedsize_stack<PageTraits> pages_{kStackBytes};
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
