#include "kernels/machine/emulated/tensor_core/warp_wgmma.h"

#include <cstring>

#include "kernels/machine/emulated/tensor_core/block_dot.h"

namespace sparkbench {

void gather_a(const std::array<m16n8k16::FragmentA, 32>& fragments, WgmmaOperands& operands) {
  for (int lane = 0; lane < 32; ++lane) {
    Half halves[8];
    std::memcpy(halves, &fragments[static_cast<std::size_t>(lane)], sizeof halves);
    for (int i = 0; i < 8; ++i) {
      operands.a[m16n8k16::a_row(lane, i)][m16n8k16::a_column(lane, i)] = halves[i];
    }
  }
}

void poison(const WarpAccumulators& c, int n) {
  for (auto* fragments : c) {
    std::memset(fragments, 0xff, sizeof(*fragments) * static_cast<std::size_t>(n / 8));
  }
}

void warp_wgmma(const ArithmeticProfile& profile, const WgmmaOperands& operands, int n,
                bool accumulates, const WarpAccumulators& c) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < n / 2; ++i) {
      const int column = i / 4 * 8 + m16n8k16::c_column(lane, i % 4);
      Half b[wgmma::kK];
      for (int k = 0; k < wgmma::kK; ++k) b[k] = operands.b[k][column];
      float& element = c[static_cast<std::size_t>(lane)][i / 4].element[i % 4];
      element = dot_accumulate(profile, operands.a[m16n8k16::c_row(lane, i % 4)], b,
                               accumulates ? element : 0.0f);
    }
  }
}

}  // namespace sparkbench
