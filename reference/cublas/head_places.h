// Addresses of the matrices of each head of some tensors.
#pragma once

#include <cstddef>

struct CUstream_st;

namespace sparkbench {

/// Byte address of the matrix that head h of batch element b owns (or reads, for keys and values):
/// first + b * batch_bytes + h / group_size * head_bytes.
struct HeadPlaces {
  std::byte* first;
  std::size_t batch_bytes, head_bytes;
  int group_size = 1;

  bool operator==(const HeadPlaces& other) const {
    return first == other.first && batch_bytes == other.batch_bytes &&
           head_bytes == other.head_bytes && group_size == other.group_size;
  }
};

inline constexpr int kMostHeadTensors = 9;  // a backward pass: q k v dO P dP dQ dK dV

/// As a kernel parameter.
struct HeadPlacesOfTensors {
  HeadPlaces of[kMostHeadTensors];
};

/// The contents of the arrays of head_pointers.cuh, and the stream that wrote them. A pass over the
/// same tensors need not write them again.
struct WrittenHeadPlaces {
  HeadPlacesOfTensors places = {};
  int tensors = 0;
  CUstream_st* stream = nullptr;

  bool hold(const HeadPlacesOfTensors& asked, int asked_tensors, CUstream_st* asked_stream) const {
    if (tensors != asked_tensors || stream != asked_stream) return false;
    for (int i = 0; i < tensors; ++i) {
      if (!(places.of[i] == asked.of[i])) return false;
    }
    return true;
  }
};

}  // namespace sparkbench
