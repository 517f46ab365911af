// A graph's operations, run on the host in fp64 (test_cudnn.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "reference/cudnn/api.h"

namespace sparkbench::cudnn {

/// What a descriptor holds; shared by the descriptors that it was set into, as in cuDNN.
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

/// In their order, on the memory that the pack of variables names. Throws std::logic_error for what
/// no graph here says, and for a pointer of no tensor of the graph.
void run_graph(const State& pack, const std::vector<Raw>& operations);

}  // namespace sparkbench::cudnn
