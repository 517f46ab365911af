// Shared by the tests of lists from a device block mask: which lists, and all of their bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/block_sparse/sparse_lists.h"

namespace sparkbench {

inline constexpr SparseListKind kKindsOfLists[] = {{false, 128, 64}, {false, 256, 64},
                                                   {false, 128, 32}, {true, 128, 32},
                                                   {false, 64, 32},  {true, 64, 32}};

inline std::vector<std::byte> bytes_of(const SparseTileLists& lists) {
  std::vector<std::byte> bytes(lists.bytes());
  lists.write(bytes.data());
  return bytes;
}

}  // namespace sparkbench
