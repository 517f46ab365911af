// Tells AddressSanitizer that the host thread goes on on another stack, which it cannot see. A
// program without the sanitizer pays nothing.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace sparkbench {

struct StackBounds {
  const void* bottom = nullptr;  // the lowest address
  std::size_t bytes = 0;
};

#ifdef __SANITIZE_ADDRESS__
/// Before a stack is first used: its pages may be another stack's that died with live variables.
inline void clear_stack(const StackBounds& stack) {
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
}
/// Before a switch. Returns what enter_stack() wants when the thread comes back.
inline void* leave_stack(const StackBounds& next) {
  void* left = nullptr;
  __sanitizer_start_switch_fiber(&left, next.bottom, next.bytes);
  return left;
}
/// Before a switch that nobody comes back from.
inline void leave_stack_for_ever(const StackBounds& next) {
  __sanitizer_start_switch_fiber(nullptr, next.bottom, next.bytes);
}
/// After a switch; null on a stack that is new. `previous` becomes the stack that was left.
inline void enter_stack(void* left, StackBounds& previous) {
  __sanitizer_finish_switch_fiber(left, &previous.bottom, &previous.bytes);
}
#else
inline void clear_stack(const StackBounds&) {}
inline void* leave_stack(const StackBounds&) { return nullptr; }
inline void leave_stack_for_ever(const StackBounds&) {}
inline void enter_stack(void*, StackBounds&) {}
#endif

}  // namespace sparkbench
