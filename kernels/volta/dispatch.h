// From a problem and a device to the row of instances.h that serves them.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "kernels/base/ceil_divide.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/instances.h"
#include "kernels/volta/short_blocks.h"

namespace sparkbench::volta {

/// How a launch's blocks find their place: which rows serve it.
enum class Blocks {
  kOfGrid,  // one after the other
  kPacked,  // of packed sequences, by a list that is made before the launch
  kSparse,  // of a pattern, by a list that is made with it
};

/// What a row has to serve. One that asks a block for more shared memory than the device has is
/// passed over. A dropout threshold of 0 drops nothing and takes the row without dropout.
struct Wanted {
  const Problem& problem;
  std::size_t shared_bytes_per_block;

  template <class Config>
  bool is_met_by(std::size_t shared_bytes) const {
    return serves_head_dim<Config>() &&
           wants_blocks(Config::kShortWindow, Config::kHeadDim, problem) &&
           Config::kHasDropout == (problem.dropout().threshold != 0) &&
           shared_bytes <= shared_bytes_per_block;
  }
  template <class Config>
  bool serves_head_dim() const {
    return problem.head_dim >= Config::kLeastHeadDim && problem.head_dim <= Config::kHeadDim &&
           problem.head_dim % kChunkHalves == 0;
  }
  [[noreturn]] void refuse() const {
    throw std::invalid_argument("no Volta kernel is for head_dim " +
                                std::to_string(problem.head_dim) + " and " +
                                std::to_string(shared_bytes_per_block) + " bytes of shared memory");
  }
};

/// Like those below, calls visit(Config{}, id) of the first row that serves, of those for such
/// blocks. Throws std::invalid_argument when there is none.
template <Blocks kBlocks = Blocks::kOfGrid, class Visit>
void visit_forward(Accumulator accumulator, const Wanted& wanted, Visit&& visit) {
  const auto is_met_by = [&](auto config) {
    using Config = decltype(config);
    return Config::kAccumulator == accumulator &&
           wanted.template is_met_by<Config>(sizeof(ForwardTiles<Config>));
  };
#define SPARK_ROW(symbol, id, ...) \
  if (is_met_by(__VA_ARGS__{})) return visit(__VA_ARGS__{}, id);
  if constexpr (kBlocks == Blocks::kPacked) {
    SPARK_VOLTA_PACKED_FORWARD(SPARK_ROW)
  } else if constexpr (kBlocks == Blocks::kSparse) {
    SPARK_VOLTA_SPARSE_FORWARD(SPARK_ROW)
  } else {
    SPARK_VOLTA_FORWARD(SPARK_ROW)
  }
#undef SPARK_ROW
  wanted.refuse();
}

/// dK and dV; `computes_dq`: dQ as well, by sums.
template <Blocks kBlocks = Blocks::kOfGrid, class Visit>
void visit_backward(Accumulator accumulator, bool computes_dq, const Wanted& wanted,
                    Visit&& visit) {
  const auto is_met_by = [&](auto config) {
    using Config = decltype(config);
    return Config::kAccumulator == accumulator && Config::kComputesDq == computes_dq &&
           wanted.template is_met_by<Config>(sizeof(BackwardTiles<Config>));
  };
#define SPARK_ROW(symbol, id, ...) \
  if (is_met_by(__VA_ARGS__{})) return visit(__VA_ARGS__{}, id);
  if constexpr (kBlocks == Blocks::kPacked) {
    SPARK_VOLTA_PACKED_BACKWARD(SPARK_ROW)
  } else if constexpr (kBlocks == Blocks::kSparse) {
    SPARK_VOLTA_SPARSE_BACKWARD(SPARK_ROW)
  } else {
    SPARK_VOLTA_BACKWARD(SPARK_ROW)
  }
#undef SPARK_ROW
  wanted.refuse();
}

/// dK, dV and dQ of a pass in relay (backward/relay_plan.h). False where a block has too little
/// shared memory.
template <class Visit>
bool visit_backward_relay(Accumulator accumulator, const Wanted& wanted, Visit&& visit) {
#define SPARK_ROW(symbol, id, ...)                                                  \
  if (__VA_ARGS__::kAccumulator == accumulator &&                                   \
      wanted.template is_met_by<__VA_ARGS__>(sizeof(BackwardTiles<__VA_ARGS__>))) { \
    visit(__VA_ARGS__{}, id);                                                       \
    return true;                                                                    \
  }
  SPARK_VOLTA_BACKWARD_RELAY(SPARK_ROW)
#undef SPARK_ROW
  return false;
}

template <Blocks kBlocks = Blocks::kOfGrid, class Visit>
void visit_backward_dq(Accumulator accumulator, const Wanted& wanted, Visit&& visit) {
  const auto is_met_by = [&](auto config) {
    using Config = decltype(config);
    return Config::kAccumulator == accumulator &&
           wanted.template is_met_by<Config>(sizeof(BackwardDqTiles<Config>));
  };
#define SPARK_ROW(symbol, id, ...) \
  if (is_met_by(__VA_ARGS__{})) return visit(__VA_ARGS__{}, id);
  if constexpr (kBlocks == Blocks::kPacked) {
    SPARK_VOLTA_PACKED_BACKWARD_DQ(SPARK_ROW)
  } else if constexpr (kBlocks == Blocks::kSparse) {
    SPARK_VOLTA_SPARSE_BACKWARD_DQ(SPARK_ROW)
  } else {
    SPARK_VOLTA_BACKWARD_DQ(SPARK_ROW)
  }
#undef SPARK_ROW
  wanted.refuse();
}

/// The row-wise kernels: those before the products, and those after them.
template <Blocks kBlocks = Blocks::kOfGrid, class Visit>
void visit_statistics(Accumulator accumulator, const Wanted& wanted, Visit&& visit) {
#define SPARK_ROW(symbol, id, ...)                      \
  if (__VA_ARGS__::kAccumulator == accumulator &&       \
      wanted.template serves_head_dim<__VA_ARGS__>()) { \
    return visit(__VA_ARGS__{}, id);                    \
  }
  if constexpr (kBlocks == Blocks::kPacked) {
    SPARK_VOLTA_PACKED_STATISTICS(SPARK_ROW)
  } else {
    SPARK_VOLTA_STATISTICS(SPARK_ROW)
  }
  wanted.refuse();
}

template <Blocks kBlocks = Blocks::kOfGrid, class Visit>
void visit_round_dq(Accumulator accumulator, const Wanted& wanted, Visit&& visit) {
  if constexpr (kBlocks == Blocks::kPacked) {
    SPARK_VOLTA_PACKED_ROUND_DQ(SPARK_ROW)
  } else {
    SPARK_VOLTA_ROUND_DQ(SPARK_ROW)
  }
#undef SPARK_ROW
  wanted.refuse();
}

}  // namespace sparkbench::volta
