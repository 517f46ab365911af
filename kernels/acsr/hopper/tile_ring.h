// How a block of the chain's products copies rows, wherever they lie, to tiles of shared memory,
// some tiles ahead of those that it multiplies; and rows of a result back.
#pragma once

#include "kernels/hopper/tile/accumulator.h"
#include "kernels/hopper/tile/swizzled_panels.h"
#include "kernels/machine/machine.h"
#include "kernels/tile/chunked_view.h"

namespace sparkbench::acsr::hopper {

// Of the vocabulary of wgmma.
using sparkbench::hopper::clear;
using sparkbench::hopper::columns_step;
using sparkbench::hopper::describe_columns;
using sparkbench::hopper::describe_rows;
using sparkbench::hopper::descriptor_step;
using sparkbench::hopper::kColumnsAreK;
using sparkbench::hopper::kPanelChunks;
using sparkbench::hopper::kRowsAreK;
using sparkbench::hopper::kRowsAreKOfA;
using sparkbench::hopper::rows_step;
using sparkbench::hopper::store_accumulator;

/// Copies that are on their way while tiles before are multiplied. start(tile, stage) begins those
/// of a tile, multiply(tile, stage) ends when nothing reads the stage any more.
template <int kStages, class Machine, class Start, class Multiply>
SPARK_DEVICE void multiply_tiles(Machine& machine, int tiles, Start start, Multiply multiply) {
  constexpr int kAhead = kStages - 1;
  for (int tile = 0; tile < kAhead; ++tile) {
    if (tile < tiles) start(tile, tile);
    machine.commit_copies();
  }
  int stage = 0, free_stage = kAhead;
  for (int tile = 0; tile < tiles; ++tile) {
    machine.template wait_for_copies<kAhead - 1>();
    machine.fence_async_proxy();
    machine.barrier();
    if (tile + kAhead < tiles) start(tile + kAhead, free_stage);
    machine.commit_copies();
    multiply(tile, stage);
    free_stage = stage;
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
}

/// Where a thread of kThreads stands that go over a tile's chunks, kRowChunks side by side in a
/// row.
template <int kThreads, int kRowChunks>
struct TileWalk {
  static constexpr int kRowsAtOnce = kThreads / kRowChunks;

  SPARK_DEVICE static int chunk(int thread) { return thread % kRowChunks; }
  SPARK_DEVICE static int row(int thread, int i) { return kRowsAtOnce * i + thread / kRowChunks; }
};

/// address(row) is where a row begins, null for zeros; so are chunks from `chunks` on.
template <int kThreads, class Tile, class Machine, class Address>
SPARK_DEVICE void copy_tile(Machine& machine, Tile& tile, int chunks, Address address) {
  using Walk = TileWalk<kThreads, Tile::kChunksPerRow>;
  const int chunk = Walk::chunk(machine.thread());
#pragma unroll
  for (int i = 0; i < Tile::kRows / Walk::kRowsAtOnce; ++i) {
    const int row = Walk::row(machine.thread(), i);
    const Half* const first = address(row);
    const bool exists = first != nullptr && chunk < chunks;
    machine.copy_async(tile.at(row, chunk), exists ? first + kChunkHalves * chunk : nullptr,
                       exists);
  }
}

/// A warp's rows of a tile, from `of_warp` on, a panel's chunks of each.
template <class Machine, class Tile, int kCopies>
SPARK_DEVICE void load_tile_rows(Machine& machine, const Tile& tile, int of_warp, int first_chunk,
                                 Bits128 (&bits)[kCopies]) {
  using Walk = TileWalk<32, kPanelChunks>;
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    bits[i] = machine.template load_shared<Bits128>(
        tile.at(of_warp + Walk::row(machine.lane(), i), first_chunk + Walk::chunk(machine.lane())));
  }
}

/// kRows of them to memory: address(row) as above, of which those that are null go nowhere.
template <int kRows, class Tile, class Machine, class Address>
SPARK_DEVICE void write_tile_rows(Machine& machine, const Tile& tile, int of_warp, int chunks,
                                  Address address) {
  using Walk = TileWalk<32, kPanelChunks>;
#pragma unroll
  for (int first_chunk = 0; first_chunk < Tile::kChunksPerRow; first_chunk += kPanelChunks) {
    Bits128 bits[kRows / Walk::kRowsAtOnce];
    load_tile_rows(machine, tile, of_warp, first_chunk, bits);
    const int chunk = first_chunk + Walk::chunk(machine.lane());
#pragma unroll
    for (int i = 0; i < kRows / Walk::kRowsAtOnce; ++i) {
      Half* const first = address(of_warp + Walk::row(machine.lane(), i));
      if (first != nullptr && chunk < chunks) {
        machine.store_global(first + kChunkHalves * chunk, bits[i]);
      }
    }
  }
}

}  // namespace sparkbench::acsr::hopper
