// Keeps a lane's load and store addresses of the dK/dV kernel from step to step. Recomputing them
// costs 40 to 60 issue slots each, mostly outside MMA phases. For kernels that have the registers.
#pragma once

#include "kernels/tile/walk.h"
#include "kernels/volta/backward/block.h"

namespace sparkbench::volta {

template <class Config>
class QueryCursor {
 public:
  using Staged = typename Config::StagedQueries;

  /// At the first step of a head, whose rows of Q and dO are on their way or in shared memory.
  template <class Machine>
  SPARK_DEVICE void begin(Machine& machine, const BackwardParams& params,
                          const BackwardBlock& block, int place, int first_query) {
    const int row = first_query + Staged::first_row(machine);
    rows_left_ = copied_rows<Config, Staged>(machine, params,
                                             query_end_of_block<Config>(machine, params, block)) -
                 row;
    const auto chunk = [&](const ChunkedView<const Bits16>& tensor) {
      return tensor.chunk(block.batch, kIsVarlen<Config> ? block.first_q + row : row,
                          block.head(params, place)) +
             static_cast<std::uint32_t>(Staged::column_chunk(machine));
    };
    q_chunk_ = chunk(params.q);
    d_o_chunk_ = chunk(params.d_o);
    staged_ = Staged::lane_place(machine);
  }

  /// Q and dO of the team's next step of the head.
  template <class Machine>
  SPARK_DEVICE void load_next(Machine& machine, const BackwardParams& params, Staged& q,
                              Staged& d_o) {
    constexpr int kApart = Config::kTeams * Config::kStep;
    q_chunk_ = machine.opaque(q_chunk_) + kApart * params.q.row;
    d_o_chunk_ = machine.opaque(d_o_chunk_) + kApart * params.d_o.row;
    rows_left_ = machine.opaque(rows_left_) - kApart;
    load(machine, params, params.q, q_chunk_, q);
    load(machine, params, params.d_o, d_o_chunk_, d_o);
  }
  template <class Machine>
  SPARK_DEVICE void store(Machine& machine, const Staged& rows,
                          typename Config::QueryTile& tile) const {
    auto place = staged_;
    place.offset_bytes = machine.opaque(place.offset_bytes);
    rows.store(machine, tile, place);
  }

 private:
  template <class Machine>
  SPARK_DEVICE void load(Machine& machine, const BackwardParams& params,
                         const ChunkedView<const Bits16>& tensor, std::uint32_t chunk,
                         Staged& rows) const {
    rows.load_from_chunk(machine, machine.opaque(tensor.at_chunk(chunk)), tensor.row_stride(), 0,
                         rows_left_, copies_last<Config, Staged>(machine, params));
  }

  std::uint32_t q_chunk_, d_o_chunk_;  // the lane's first, of this step
  int rows_left_;                      // from its first row on that exist
  typename Config::QueryTile::LanePlace staged_;
};

}  // namespace sparkbench::volta
