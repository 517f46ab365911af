// The kernels that NVRTC compiles, compiled for the host: one thread a block, which needs no
// barriers. They make the same lists as the host.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/jit/pattern_source.h"
#include "kernels/jit/test_lists.h"
#include "kernels/jit/tile_sights.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/predicate/whole_numbers.h"

#define __device__
#define __global__
#define __shared__ static

namespace sparkbench {
namespace {

struct Place3 {
  unsigned x;
};
Place3 blockIdx{0}, threadIdx{0}, blockDim{1};

void __syncthreads() {}
int __syncthreads_or(bool of_thread) { return of_thread ? 1 : 0; }
template <class T>
void atomicAdd(T* to, T value) {
  *to += value;
}

/// Arguments: text, head, row's position, key, and both lengths.
std::function<bool(int, Whole, Whole, Whole, Whole, Whole)> answer_of_pair;
bool pattern_sees(int text, Whole h, Whole q, Whole k, Whole seqlen_q, Whole seqlen_k) {
  return answer_of_pair(text, h, q, k, seqlen_q, seqlen_k);
}

}  // namespace
}  // namespace sparkbench

#include "kernels/jit/tile_kernels.cuh"

namespace sparkbench {
namespace {

/// As device_sights.cc asks a GPU.
class KernelSights : public TileSights {
 public:
  KernelSights(const Pattern& pattern, const PatternSource& source)
      : pattern_(pattern), source_(source) {}

  std::vector<SeenTile> of_union(int of_union, const SightedTiles& tiles) const override {
    const TileQuestion asked = question(of_union, tiles);
    std::vector<SeenTile> seen(static_cast<std::size_t>(asked.row_tiles) *
                               static_cast<std::size_t>(asked.key_tiles));
    for (blockIdx.x = 0; blockIdx.x < seen.size(); ++blockIdx.x) see_tiles(asked, seen.data());
    return seen;
  }
  bool write_words(const SightedTiles& tiles, std::span<const Place> firsts,
                   std::span<const Place> others, std::span<std::uint32_t> words) const override {
    int differing = 0;
    blockIdx.x = 0;
    for (const Place& place : firsts) {
      write_tiles(question(place.of_union, tiles), &place.tile, words.data(), nullptr);
    }
    for (const Place& place : others) {
      write_tiles(question(place.of_union, tiles), &place.tile, words.data(), &differing);
    }
    return differing == 0;
  }

 private:
  TileQuestion question(int of_union, const SightedTiles& tiles) const {
    return tile_question(source_, pattern_, of_union, tiles);
  }

  const Pattern& pattern_;
  const PatternSource& source_;
};

/// The memory that a pass needs, asked for before there are lists, is the same with a device block
/// mask.
TEST(TileKernels, MakeTheHostsParts) {
  SparseMask mask = *make_sparse_mask("where:q<16||k<16||abs(q-k)<64", 2560, 2560);
  const PatternSource source = pattern_source(mask.pattern).value();
  const SparseMask on_host = mask;
  answer_of_pair = [&](int, Whole, Whole q, Whole k, Whole, Whole) {
    return sees(mask.pattern, 0, static_cast<int>(q), static_cast<int>(k));
  };
  mask.sights = std::make_shared<KernelSights>(mask.pattern, source);
  mask.plan_facts = std::make_shared<PlanFacts>();
  for (const SparseListKind& kind : {SparseListKind{false, 128, 64}, {true, 128, 32}}) {
    EXPECT_EQ(rows_of_parts(mask, kind), 2 * 128);
    EXPECT_EQ(rows_of_parts(on_host, kind), 2 * 128);
    EXPECT_EQ(bytes_of(SparseTileLists(mask, kind)), bytes_of(SparseTileLists(on_host, kind)));
  }
}

TEST(TileKernels, MakeTheHostsLists) {
  for (const std::string_view spec :
       {"where:k<=q&&(q-k<100||k%64==0)", "window:100/where:q/128==k/128&&abs(q-k)<90",
        "where:(q*7+k*13)%5==0", "where:0", "where:1", "causal-where:(q+h)%3!=0"}) {
    for (const auto& [seqlen_q, seqlen_k] : {std::pair(1, 1), {300, 300}, {290, 430}, {430, 290}}) {
      SparseMask mask = *make_sparse_mask(spec, seqlen_q, seqlen_k, 3);
      const PatternSource source = pattern_source(mask.pattern).value();
      const auto on_host = std::make_unique<SparseMask>(mask);
      answer_of_pair = [&](int text, Whole h, Whole q, Whole k, Whole rows, Whole keys) {
        EXPECT_EQ(rows, seqlen_q);
        EXPECT_EQ(keys, seqlen_k);
        EXPECT_TRUE(q - mask.pattern.row_at < rows && k < keys) << "a pair outside";
        for (std::size_t i = 0; i < source.texts.size(); ++i) {
          if (source.texts[i] != text || source.heads[i] != h) continue;
          return sees(mask.pattern, static_cast<int>(i), static_cast<int>(q) - mask.pattern.row_at,
                      static_cast<int>(k));
        }
        ADD_FAILURE() << "no union has text " << text << " and head " << h;
        return false;
      };
      mask.sights = std::make_shared<KernelSights>(mask.pattern, source);
      for (const SparseListKind& kind : kKindsOfLists) {
        EXPECT_EQ(bytes_of(SparseTileLists(mask, kind)), bytes_of(SparseTileLists(*on_host, kind)))
            << spec << ", " << seqlen_q << " x " << seqlen_k << ", blocks of " << kind.block_rows;
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench
