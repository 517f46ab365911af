// A graph's operations, run on the host in fp64 (test_cudnn.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "reference/cudnn/api.h"

namespace sparkbench::cudnn {

/// The contents of a descriptor. Descriptors that it was set into share them, as in cuDNN.
struct State {
  std::map<Attribute, std::vector<char>> values;
  std::map<Attribute, std::vector<std::shared_ptr<State>>> states;

  template <class T>
  T value(Attribute attribute) const {
    T value;
    std::memcpy(&value, values.at(attribute).data(), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> list(Attribute attribute) const {
    const std::vector<char>& bytes = values.at(attribute);
    std::vector<T> list(bytes.size() / sizeof(T));
    std::memcpy(list.data(), bytes.data(), bytes.size());
    return list;
  }
  bool has(Attribute attribute) const { return values.contains(attribute); }
  const State& state(Attribute attribute) const { return *states.at(attribute).front(); }
};

using Raw = std::shared_ptr<State>;  // what a void* points to

/// Runs the operations in order, on the memory that the variant pack names. Throws std::logic_error
/// for an operation that no graph here has, and for a pointer to a tensor that is not in the graph.
void run_graph(const State& pack, const std::vector<Raw>& operations);

}  // namespace sparkbench::cudnn
