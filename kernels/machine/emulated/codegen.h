// EmulatedCodegen: a kernel's hints to the compiler (kernels/machine/codegen.h) on the host. Hints
// change nothing there, but a wrong one is found.
#pragma once

#include "kernels/machine/codegen.h"
#include "kernels/machine/emulated/blocks/block_runner.h"
#include "kernels/machine/emulated/memory/memory_access.h"
#include "kernels/machine/emulated/report/call_site.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

class EmulatedCodegen {
 public:
  EmulatedCodegen(BlockRunner& runner, int thread) : runner_(runner), thread_(thread) {}

  void recompute_indices() const {}
  void recompute_indices(int multiple_of_32, CallSite site = CallSite::current()) const {
    if (multiple_of_32 % 32 != 0) [[unlikely]]
      runner_.report_corrupt_indices(thread_, multiple_of_32, site);
  }
  template <class T>
  T opaque(T value) const {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): a pointer is as wide as the hint takes it.
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "one register, or a pair");
    return value;
  }
  Bits128 load_opaque_global(const void* address, CallSite site = CallSite::current()) const {
    return runner_.memory().load_global<Bits128>(
        {AccessKind::kLoadGlobal, sizeof(Bits128), address, thread_, site});
  }
  int uniform(int value) const { return value; }
  template <int kRegisters>
  void give_registers() const {}
  template <int kRegisters>
  void take_registers() const {}

 protected:
  BlockRunner& runner_;
  int thread_;
};

}  // namespace sparkbench
