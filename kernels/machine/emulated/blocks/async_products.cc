#include "kernels/machine/emulated/blocks/async_products.h"

#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace sparkbench {

void AsyncProducts::start(const Product& product, bool is_late) {
  if (!profile_->has_wgmma) {
    throw std::invalid_argument("no wgmma in the arithmetic profile " +
                                std::string(profile_->name));
  }
  Product started = product;
  if (is_late || late_ != 0) {
    ++late_;
    if (!started.call.accumulates) poison(started.lanes.c, started.call.n);
  } else {
    compute(started);
  }
  products_.start(started);
}

void AsyncProducts::wait(int pending) {
  products_.end_groups(static_cast<std::size_t>(pending), [&](Product& product) {
    if (product.is_done) return;
    --late_;
    compute(product);
  });
}

void AsyncProducts::compute(Product& product) {
  read_a(product);
  read_b(product);
  warp_wgmma(*profile_, operands_, product.call.n, product.call.accumulates, product.lanes.c);
  product.is_done = true;
}

void AsyncProducts::read_a(const Product& product) {
  if (product.call.has_a_in_registers) {
    gather_a(product.lanes.a, operands_);
    return;
  }
  const auto a = wgmma::decoded(product.call.a_descriptor);
  const int first_row = product.thread / kWarpLanes % wgmma::kWarps * wgmma::kWarpM;
  for (int row = 0; row < wgmma::kWarpM; ++row) {
    for (int k = 0; k < wgmma::kK; k += 8) {
      Half piece[8];
      read_piece(product, wgmma::k_major_address(a, first_row + row, k), piece);
      std::memcpy(&operands_.a[row][k], piece, sizeof piece);
    }
  }
}

void AsyncProducts::read_b(const Product& product) {
  const auto b = wgmma::decoded(product.call.b_descriptor);
  Half piece[8];
  if (product.call.major_b == Major::kRow) {
    for (int k = 0; k < wgmma::kK; ++k) {
      for (int column = 0; column < product.call.n; column += 8) {
        read_piece(product, wgmma::mn_major_address(b, k, column), piece);
        std::memcpy(&operands_.b[k][column], piece, sizeof piece);
      }
    }
    return;
  }
  for (int column = 0; column < product.call.n; ++column) {
    for (int k = 0; k < wgmma::kK; k += 8) {
      read_piece(product, wgmma::k_major_address(b, column, k), piece);
      for (int i = 0; i < 8; ++i) operands_.b[k + i][column] = piece[i];
    }
  }
}

void AsyncProducts::read_piece(const Product& product, std::size_t offset, Half (&piece)[8]) {
  if (memory_->load_async(offset, product.thread, product.call.site)) {
    std::memcpy(piece, memory_->bytes() + offset, sizeof piece);
  } else {
    std::memset(piece, 0xff, sizeof piece);
  }
}

}  // namespace sparkbench
