#include "kernels/machine/emulated/tensor_core/warp_wgmma.h"

#include <algorithm>
#include <cstring>

namespace sparkbench {
namespace {

/// Calls visit(elements, row, column) for every two adjacent elements of C in a lane.
template <class Visit>
void for_pairs(const WarpAccumulators& c, int n, Visit visit) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int j = 0; j < n / 8; ++j) {
      for (int i = 0; i < 4; i += 2) {
        visit(&c[static_cast<std::size_t>(lane)][j].element[i], m16n8k16::c_row(lane, i),
              8 * j + m16n8k16::c_column(lane, i));
      }
    }
  }
}

}  // namespace

void gather_a(const std::array<m16n8k16::FragmentA, 32>& fragments, RowsOperands& operands) {
  for (int lane = 0; lane < 32; ++lane) {
    Bits16 elements[8];
    std::memcpy(elements, &fragments[static_cast<std::size_t>(lane)], sizeof elements);
    for (int i = 0; i < 8; ++i) {
      operands.a[m16n8k16::a_row(lane, i)][m16n8k16::a_column(lane, i)] = elements[i];
    }
  }
}

void poison(const WarpAccumulators& c, int n) {
  for (auto* fragments : c) {
    std::memset(fragments, 0xff, sizeof(*fragments) * static_cast<std::size_t>(n / 8));
  }
}

void warp_wgmma(const ArithmeticProfile& profile, MultiplyRows* multiply,
                const RowsOperands& operands, int n, bool accumulates, const WarpAccumulators& c) {
  RowsAccumulator rows;
  if (accumulates) {
    for_pairs(c, n, [&](float* pair, int row, int column) {
      std::memcpy(&rows.value[row][column], pair, 2 * sizeof(float));
    });
  } else {
    for (auto& row : rows.value) std::fill_n(row, n, 0.0f);
  }
  multiply(profile, operands, n, rows);
  for_pairs(c, n, [&](float* pair, int row, int column) {
    std::memcpy(pair, &rows.value[row][column], 2 * sizeof(float));
  });
}

}  // namespace sparkbench
