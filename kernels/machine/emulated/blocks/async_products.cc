#include "kernels/machine/emulated/blocks/async_products.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

constexpr int kPiece = 8;  // elements that lie together, whatever the swizzle

/// Calls visit(address, row, k) for the warp's pieces of A in shared memory: eight k, or eight rows
/// of A column-major.
template <class Visit>
void for_pieces_of_a(const Product& product, Visit visit) {
  if (product.call.has_a_in_registers) return;
  const auto a = wgmma::decoded(product.call.a_descriptor);
  const int first_row = product.thread / kWarpLanes % wgmma::kWarps * wgmma::kWarpM;
  if (product.call.major_a == Major::kColumn) {
    for (int k = 0; k < wgmma::kK; ++k) {
      for (int row = 0; row < wgmma::kWarpM; row += kPiece) {
        visit(wgmma::mn_major_address(a, k, first_row + row), row, k);
      }
    }
    return;
  }
  for (int row = 0; row < wgmma::kWarpM; ++row) {
    for (int k = 0; k < wgmma::kK; k += kPiece) {
      visit(wgmma::k_major_address(a, first_row + row, k), row, k);
    }
  }
}

/// Calls visit(address, k, column) for the pieces of B: eight k, or eight columns of B row-major.
template <class Visit>
void for_pieces_of_b(const Product& product, Visit visit) {
  const auto b = wgmma::decoded(product.call.b_descriptor);
  if (product.call.major_b == Major::kRow) {
    for (int k = 0; k < wgmma::kK; ++k) {
      for (int column = 0; column < product.call.n; column += kPiece) {
        visit(wgmma::mn_major_address(b, k, column), k, column);
      }
    }
    return;
  }
  for (int column = 0; column < product.call.n; ++column) {
    for (int k = 0; k < wgmma::kK; k += kPiece) {
      visit(wgmma::k_major_address(b, column, k), k, column);
    }
  }
}

}  // namespace

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
    if (product.is_done) {
      watch_operands(product);
    } else {
      --late_;
      compute(product);
    }
  });
}

void AsyncProducts::compute(Product& product) {
  if (product.call.has_a_in_registers) gather_a(product.lanes.a, operands_);
  Bits16 piece[kPiece];
  const auto read_piece = [&](std::uint32_t offset) {
    if (memory_->load_async(offset, product.thread, product.call.site)) {
      std::memcpy(piece, memory_->bytes() + offset, sizeof piece);
    } else {
      std::memset(piece, 0xff, sizeof piece);
    }
  };
  for_pieces_of_a(product, [&](std::uint32_t offset, int row, int k) {
    read_piece(offset);
    if (product.call.major_a == Major::kColumn) {
      for (int i = 0; i < kPiece; ++i) operands_.a[row + i][k] = piece[i];
    } else {
      std::memcpy(&operands_.a[row][k], piece, sizeof piece);
    }
  });
  for_pieces_of_b(product, [&](std::uint32_t offset, int k, int column) {
    read_piece(offset);
    if (product.call.major_b == Major::kRow) {
      std::memcpy(&operands_.b[k][column], piece, sizeof piece);
    } else {
      for (int i = 0; i < kPiece; ++i) operands_.b[k + i][column] = piece[i];
    }
  });
  warp_wgmma(*profile_, product.call.multiply, operands_, product.call.n, product.call.accumulates,
             product.lanes.c);
  product.is_done = true;
}

void AsyncProducts::watch_operands(const Product& product) {
  if (!memory_->detects()) return;
  const auto watch = [&](std::uint32_t offset, int, int) {
    memory_->load_async(offset, product.thread, product.call.site);
  };
  for_pieces_of_a(product, watch);
  for_pieces_of_b(product, watch);
}

}  // namespace sparkbench
