#include "kernels/machine/emulated/blocks/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <map>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "kernels/machine/emulated/blocks/block_runner.h"
#include "kernels/machine/emulated/blocks/grid_counters.h"
#include "kernels/machine/emulated/blocks/warp_schedule.h"

namespace sparkbench {
namespace {

using Block = std::array<int, 3>;

constexpr int kMaxThreads = 1024;

std::uint64_t block_index(const Block& block, const Block& grid) {
  const auto at = [](const Block& b, std::size_t i) { return static_cast<std::uint64_t>(b[i]); };
  return at(block, 0) + at(grid, 0) * (at(block, 1) + at(grid, 1) * at(block, 2));
}

/// The grid, and a block of it, with the axis that `work` is indexed by as the first.
Block work_grid(const LaunchShape& shape) {
  const Block& grid = shape.grid;
  return shape.works_by_items ? Block{grid[1] * grid[2], grid[0], 1} : grid;
}
Block work_block(const LaunchShape& shape, const Block& block) {
  return shape.works_by_items ? Block{block[1] + shape.grid[1] * block[2], block[0], 0} : block;
}

void validate(const LaunchShape& shape, const EmulationOptions& options) {
  if (options.profile == nullptr) throw std::invalid_argument("no arithmetic profile");
  if (shape.shared_bytes > options.shared_bytes_per_block) {
    throw std::invalid_argument(fmt::format("{} bytes of shared memory a block, of {}",
                                            shape.shared_bytes, options.shared_bytes_per_block));
  }
  if (shape.threads < kWarpLanes || shape.threads > kMaxThreads ||
      shape.threads % kWarpLanes != 0) {
    throw std::invalid_argument(fmt::format("a block of {} threads", shape.threads));
  }
  const auto inside_grid = [&](const Block& block) {
    return std::equal(block.begin(), block.end(), shape.grid.begin(),
                      [](int at, int extent) { return at >= 0 && at < extent; });
  };
  if (!inside_grid({0, 0, 0}) ||
      !std::all_of(shape.blocks.begin(), shape.blocks.end(), inside_grid)) {
    throw std::invalid_argument("a grid without blocks, or blocks outside the grid");
  }
  const int positions = work_grid(shape)[0];
  if (!shape.work.empty() && shape.work.size() != static_cast<std::size_t>(positions)) {
    throw std::invalid_argument(
        fmt::format("work of {} blocks, in a grid of {}", shape.work.size(), positions));
  }
  const Block last = {shape.grid[0] - 1, shape.grid[1] - 1, shape.grid[2] - 1};
  if (block_index(last, shape.grid) >= std::numeric_limits<std::uint32_t>::max() / kMaxThreads) {
    throw std::invalid_argument("a grid of more threads than 32 bits number");
  }
}

/// In launch order if blocks wait for earlier ones.
std::vector<Block> blocks_to_run(const LaunchShape& shape, bool in_order, std::uint64_t seed) {
  std::vector<Block> blocks = shape.blocks;
  if (blocks.empty()) {
    for (int z = 0; z < shape.grid[2]; ++z) {
      for (int y = 0; y < shape.grid[1]; ++y) {
        for (int x = 0; x < shape.grid[0]; ++x) blocks.push_back({x, y, z});
      }
    }
  }
  if (in_order) {
    std::sort(blocks.begin(), blocks.end(), [&](const Block& a, const Block& b) {
      return block_index(a, shape.grid) < block_index(b, shape.grid);
    });
  } else {
    permute(blocks, seed);
  }
  return blocks;
}

/// One worker's findings and counts.
struct Share {
  std::vector<BlockCounters> blocks;  // in the order run
  std::vector<SiteCounters> sites;
  FindingLog findings;
  std::exception_ptr error;
};

/// Blocks in order, each taken by the first worker that is free.
class BlockQueue {
 public:
  explicit BlockQueue(std::vector<Block> blocks)
      : blocks_(std::move(blocks)), ended_(blocks_.size()) {}

  std::size_t size() const { return blocks_.size(); }
  const Block& operator[](std::size_t position) const { return blocks_[position]; }
  /// size() or more when there is none left.
  std::size_t take() { return next_.fetch_add(1); }
  void end(std::size_t position) { ended_[position].store(true, std::memory_order_release); }
  /// Whether one of the blocks before it has not ended.
  bool any_runs_before(std::size_t position) const {
    return !std::all_of(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(position),
                        [](const auto& ended) { return ended.load(std::memory_order_acquire); });
  }
  void cancel() {
    next_ = blocks_.size();
    for (std::atomic<bool>& ended : ended_) ended = true;
  }

 private:
  std::vector<Block> blocks_;
  std::vector<std::atomic<bool>> ended_;
  std::atomic<std::size_t> next_ = 0;
};

std::vector<SiteCounters> merge_sites(const std::vector<Share>& shares) {
  std::map<std::pair<std::string, int>, SiteCounters> merged;
  for (const Share& share : shares) {
    for (const SiteCounters& site : share.sites) {
      SiteCounters& sum = merged[{site.file, site.line}];
      sum.file = site.file;
      sum.line = site.line;
      sum.instructions += site.instructions;
      sum.shared_wavefronts += site.shared_wavefronts;
      sum.bank_conflicts += site.bank_conflicts;
      sum.global_sectors += site.global_sectors;
    }
  }
  std::vector<SiteCounters> sites;
  sites.reserve(merged.size());
  for (auto& [line, site] : merged) sites.push_back(std::move(site));
  std::stable_sort(sites.begin(), sites.end(), [](const SiteCounters& a, const SiteCounters& b) {
    return std::tie(a.bank_conflicts, a.shared_wavefronts) >
           std::tie(b.bank_conflicts, b.shared_wavefronts);
  });
  return sites;
}

EmulationReport merge(const std::vector<Share>& shares, const LaunchShape& shape) {
  EmulationReport report;
  FindingLog findings("");
  std::vector<BlockCounters> blocks;
  for (const Share& share : shares) {
    if (share.error) std::rethrow_exception(share.error);
    blocks.insert(blocks.end(), share.blocks.begin(), share.blocks.end());
    findings.merge(share.findings);
  }
  for (const BlockCounters& block : blocks) report.counters += block.counters;
  for (BlockCounters& each : blocks) each.block = work_block(shape, each.block);
  report.grid_counters = extrapolate_to_grid(blocks, work_grid(shape), shape.work);
  report.is_sample =
      blocks.size() < block_index({0, 0, shape.grid[2]}, shape.grid);  // one past the last
  report.sites = merge_sites(shares);
  report.findings = findings.first(kMaxFindings);
  report.findings_total = findings.total();
  return report;
}

std::size_t worker_count(int wanted, std::size_t blocks) {
  const auto cores = static_cast<std::size_t>(std::thread::hardware_concurrency());
  const auto workers = wanted > 0 ? static_cast<std::size_t>(wanted) : cores;
  return std::clamp<std::size_t>(workers, 1, blocks);
}

}  // namespace

EmulationReport emulate(const LaunchShape& shape, std::span<const GlobalRegion> regions,
                        const EmulationOptions& options, const EmulatedKernel& kernel) {
  validate(shape, options);
  const auto start = std::chrono::steady_clock::now();
  GlobalMemory global(regions, shape.threads, options.detect);
  const bool waits = global.turned() != nullptr || global.published() != nullptr;
  BlockQueue queue(blocks_to_run(shape, waits, options.schedule_seed));
  std::vector<Share> shares(worker_count(options.workers, queue.size()),
                            Share{{}, {}, FindingLog(shape.kernel), nullptr});
  const auto work = [&](Share& share) {
    try {
      BlockRunner runner(shape, options, kernel, global);
      for (std::size_t at = queue.take(); at < queue.size(); at = queue.take()) {
        const Block& block = queue[at];
        const Counters before = runner.counters();
        runner.run(block, static_cast<std::uint32_t>(block_index(block, shape.grid)),
                   [&queue, at] { return queue.any_runs_before(at); });
        queue.end(at);
        share.blocks.push_back({block, runner.counters()});
        share.blocks.back().counters -= before;
      }
      share.sites = runner.sites();
      share.findings = runner.findings();
    } catch (...) {
      share.error = std::current_exception();
      queue.cancel();
    }
  };
  {
    std::vector<std::jthread> workers;
    workers.reserve(shares.size());
    for (Share& share : shares) workers.emplace_back(work, std::ref(share));
  }
  EmulationReport report = merge(shares, shape);
  report.host_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

void add_report(EmulationReport& total, const EmulationReport& launch) {
  total.counters += launch.counters;
  total.grid_counters += launch.grid_counters;
  total.is_sample = total.is_sample || launch.is_sample;
  total.sites.insert(total.sites.end(), launch.sites.begin(), launch.sites.end());
  for (const Finding& finding : launch.findings) {
    if (total.findings.size() < kMaxFindings) total.findings.push_back(finding);
  }
  total.findings_total += launch.findings_total;
  total.host_seconds += launch.host_seconds;
}

}  // namespace sparkbench
