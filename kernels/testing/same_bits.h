// For tests: whether two tensors have the same bits.
#pragma once

#include <cstring>
#include <vector>

namespace sparkbench {

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace sparkbench
