// The block-sparse metadata that the launches of a pass read: lists of tiles (sparse_lists.h), one
// after the other in device memory. A pattern that runs as strided passes has lists for each view
// (pattern_launches.h).
#pragma once

#include <utility>
#include <vector>

#include "kernels/block_sparse/sparse_lists.h"

namespace sparkbench {

class PatternLists {
 public:
  void add(SparseTileLists lists) { lists_.push_back(std::move(lists)); }
  /// Lists that are added from here on belong to the next view.
  void begin_view() { firsts_.push_back(size()); }
  int first_of_view(int view) const { return firsts_[static_cast<std::size_t>(view)]; }
  int size() const { return static_cast<int>(lists_.size()); }
  const SparseTileLists& operator[](int index) const {
    return lists_[static_cast<std::size_t>(index)];
  }

  /// Room for all of them, aligned to 16 bytes, and the bytes that go there.
  std::size_t bytes() const { return begin_of(size()); }
  void write(std::byte* to) const {
    for (int i = 0; i < size(); ++i) (*this)[i].write(to + begin_of(i));
  }
  /// List `index` where write() was to `memory`, or to what was copied there; null: here.
  SparseLists at(int index, const void* memory) const {
    if (memory == nullptr) return (*this)[index].on_host();
    return (*this)[index].at(static_cast<const std::byte*>(memory) + begin_of(index));
  }
  const SparseSplit* splits_at(int index, const void* memory) const {
    if (memory == nullptr) return (*this)[index].splits().data();
    return (*this)[index].splits_at(static_cast<const std::byte*>(memory) + begin_of(index));
  }

 private:
  std::size_t begin_of(int index) const {
    std::size_t begin = 0;
    for (int i = 0; i < index; ++i) begin += ((*this)[i].bytes() + 15) / 16 * 16;
    return begin;
  }

  std::vector<SparseTileLists> lists_;
  std::vector<int> firsts_;  // of each view, where there are any
};

}  // namespace sparkbench
