// The threads of an emulated block: fibers that switch directly to each other, made once and used
// for block after block.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/machine/emulated/blocks/stack_switch.h"

namespace sparkbench {

/// Fibers 0..count-1 and the context that made them, which counts as number `count`. All live on
/// the host thread that made them.
class Fibers {
 public:
  /// Fiber i runs body(i) when it is first switched to. The body never returns, and lets no
  /// exception out but those of switch_to().
  Fibers(int count, std::function<void(int)> body);
  /// Unwinds the fibers' stacks.
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  int maker() const { return static_cast<int>(contexts_.size()) - 1; }

  /// Suspends the running fiber, or the maker, and runs `next`, which is another. Returns when
  /// someone switches back; throws, in a fiber, when the fibers are destroyed.
  void switch_to(int next) {
    switcher_ = std::exchange(running_, next);
    void* const left = leave_stack(at(next).stack);
    resumed(std::move(at(next).fiber).resume(), left);
  }

 private:
  struct Destroyed {};
  struct Context {
    boost::context::fiber fiber;  // while suspended
    StackBounds stack;
  };

  Context& at(int context) { return contexts_[static_cast<std::size_t>(context)]; }
  void resumed(boost::context::fiber switcher, void* left) {
    enter_stack(left, at(switcher_).stack);
    at(switcher_).fiber = std::move(switcher);
    if (destroying_ && running_ != maker()) [[unlikely]]
      throw Destroyed{};
  }
  boost::context::fiber make_fiber(int i);
  boost::context::fiber run_fiber(int i, boost::context::fiber switcher);

  std::function<void(int)> body_;
  std::vector<Context> contexts_;  // the last is the maker's
  int running_;
  int switcher_;  // who switched to the running one
  bool destroying_ = false;
};

}  // namespace sparkbench
