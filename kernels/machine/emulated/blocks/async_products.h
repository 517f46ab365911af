// The asynchronous products of a warp (wgmma): computed when they are started or when they are
// waited for, in the order in which they were started.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/machine/emulated/memory/block_memory.h"
#include "kernels/machine/emulated/memory/in_flight.h"
#include "kernels/machine/emulated/report/call_site.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/machine/emulated/tensor_core/mma_exchange.h"
#include "kernels/machine/emulated/tensor_core/warp_wgmma.h"

namespace sparkbench {

/// The arguments of a wgmma that are the same in all lanes of a warp.
struct ProductCall {
  MultiplyRows* multiply;  // of the operands' type
  int n;
  Major major_a, major_b;  // of A in shared memory
  bool has_a_in_registers;
  bool accumulates;
  std::uint64_t a_descriptor, b_descriptor;
  CallSite site;
};

/// One warp's part of a wgmma.
struct Product {
  ProductCall call;
  int thread;           // that answers for the warp: its first
  WgmmaExchange lanes;  // A as it was when the product was started
  bool is_done = false;
};

class AsyncProducts {
 public:
  /// Both must outlive it.
  AsyncProducts(const ArithmeticProfile& profile, BlockMemory& memory)
      : profile_(&profile), memory_(&memory) {}

  /// Computes the product now, unless it is late or an earlier one has not been computed. Throws
  /// std::invalid_argument if the profile has no wgmma.
  void start(const Product& product, bool is_late);
  void commit() { products_.commit(); }
  /// The products of all but the last `pending` groups are computed when this returns.
  void wait(int pending);
  void forget() {
    products_.forget();
    late_ = 0;
  }

 private:
  void compute(Product& product);
  /// A product holds its operands until it has been waited for.
  void watch_operands(const Product& product);

  const ArithmeticProfile* profile_;
  BlockMemory* memory_;
  InFlight<Product> products_;
  int late_ = 0;  // of them not computed
  RowsOperands operands_{};
};

}  // namespace sparkbench
