#include "harness/predict/instance_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "harness/cycles/cycle_bounds.h"
#include "harness/cycles/sm_simulator.h"
#include "harness/paths/block_paths.h"
#include "harness/predict/specimen.h"

namespace sparkbench {
namespace {

constexpr int kInstructionBytes = 16;
/// Between the starts of two blocks of an SM, cycles: what they are is not known, so figures are
/// the mean over several.
constexpr std::array kStartOffsets = {400, 1000, 2000, 3000};

std::span<const int> offsets_of(int resident) {
  return resident == 1 ? std::span<const int>(kStartOffsets).first(1) : kStartOffsets;
}

double mean_duration(const SmResult& result) {
  double sum = 0.0;
  for (const BlockTimes& block : result.blocks) sum += static_cast<double>(block.end - block.start);
  return sum / static_cast<double>(result.blocks.size());
}

/// Of blocks that fill the SM once.
double duration_together(const TimedCode& code, const BlockPaths& paths, int resident) {
  double sum = 0.0;
  for (const int offset : offsets_of(resident)) {
    const SmWork work{.blocks = std::vector<const BlockPaths*>(resident, &paths),
                      .start_offsets = staggered_starts(resident, offset)};
    sum += mean_duration(simulate(code, work));
  }
  return sum / static_cast<double>(offsets_of(resident).size());
}

/// Of a block in a row of its like: what `rounds` more blocks in every place take, each.
double duration_in_a_row(const TimedCode& code, const BlockPaths& paths, int resident) {
  constexpr int kRounds = 4;
  double sum = 0.0;
  for (const int offset : offsets_of(resident)) {
    const auto cycles_of = [&](int rounds) {
      const SmWork work{.blocks = std::vector<const BlockPaths*>(resident * rounds, &paths),
                        .start_offsets = staggered_starts(resident, offset)};
      return static_cast<double>(simulate(code, work).cycles);
    };
    sum += (cycles_of(1 + kRounds) - cycles_of(1)) / kRounds;
  }
  return sum / static_cast<double>(offsets_of(resident).size());
}

/// Of a block alone: the share of the time without products that comes before the first.
double share_before_products(const TimedCode& code, const BlockPaths& paths) {
  SmWork work{.blocks = {&paths}, .start_offsets = {0}};
  for (int warp = 0; warp < static_cast<int>(paths.size()); ++warp) {
    const WarpPath& path = paths[warp];
    const auto is_product = [&](const PathStep& step) {
      return step.is_executed && code.instructions[step.instruction].flop > 0;
    };
    const auto first = std::find_if(path.begin(), path.end(), is_product);
    const auto last = std::find_if(path.rbegin(), path.rend(), is_product);
    work.marks.push_back({0, warp, static_cast<int>(first - path.begin())});
    work.marks.push_back({0, warp, static_cast<int>(path.rend() - last) - 1});
  }
  const SmResult result = simulate(code, work);
  const auto [first, last] = std::minmax_element(result.marks.begin(), result.marks.end());
  const auto before = static_cast<double>(*first - result.blocks.front().start);
  const auto behind = static_cast<double>(result.blocks.front().end - *last);
  return before / (before + behind);
}

StageCycles measure_stages(const TimedCode& code, const Specimens& specimens, int resident) {
  const auto& [few, many, cut] = specimens;
  const double duration_of_many = duration_together(code, many.paths, resident);
  const double full_tile = (duration_of_many - duration_together(code, few.paths, resident)) /
                           static_cast<double>(many.work.full_tiles - few.work.full_tiles);
  const double longer = duration_together(code, cut.paths, resident) - duration_of_many;
  const double rest = duration_in_a_row(code, few.paths, resident) -
                      full_tile * static_cast<double>(few.work.full_tiles);
  const double share = share_before_products(code, few.paths);
  return {.prologue = share * rest,
          .full_tile = full_tile,
          .cut_tile = full_tile + longer / static_cast<double>(cut.work.cut_tiles),
          .epilogue = (1.0 - share) * rest};
}

int steps_of(const BlockPaths& paths) {
  std::size_t steps = 0;
  for (const WarpPath& path : paths) steps += path.size();
  return static_cast<int>(steps / paths.size());
}

/// What the tiles by which `many` is longer than `few` keep busy for the longest.
std::string_view binding_of(const TimedCode& code, const Specimens& specimens) {
  std::vector<CycleBound> bounds = cycle_bounds(code, {&specimens.many.paths});
  for (CycleBound& bound : bounds) {
    for (const CycleBound& other : cycle_bounds(code, {&specimens.few.paths})) {
      if (other.unit == bound.unit) bound.cycles -= other.cycles;
    }
  }
  return name_of(std::max_element(bounds.begin(), bounds.end(), [](const auto& a, const auto& b) {
                   return a.cycles < b.cycles;
                 })->unit);
}

void add_text(std::uint64_t& hash, std::string_view text) {
  for (const char character : text) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;  // FNV-1a
  }
  hash = (hash ^ 0xff) * 0x100000001b3;  // no text has this byte: where it ends counts
}

}  // namespace

std::string code_hash(const SassFunction& function) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const SassInstruction& instruction : function.instructions) {
    add_text(hash, text_of(instruction));
    add_text(hash, fmt::format("{:x}", instruction.control.value_or(0)));
  }
  return fmt::format("{:016x}", hash);
}

InstanceCycles measure_instance(const SassFunction& function, const KernelInstance& instance,
                                int blocks_per_sm) {
  const Specimens specimens = specimens_of(function, instance);
  const auto tiles =
      static_cast<int>(specimens.many.work.full_tiles - specimens.few.work.full_tiles);
  InstanceCycles cycles{.id = std::string(instance.id),
                        .code_hash = code_hash(function),
                        .threads = instance.threads,
                        .blocks_per_sm = blocks_per_sm};
  cycles.loop_bytes =
      kInstructionBytes * (steps_of(specimens.many.paths) - steps_of(specimens.few.paths)) / tiles;
  cycles.binding = binding_of(time_code(function, SmConstants{}), specimens);
  for (int assumption = 0; assumption < kChipAssumptions; ++assumption) {
    const TimedCode code = time_code(
        function, with_assumption(SmConstants{}, static_cast<ChipAssumption>(assumption)));
    for (int resident = 1; resident <= blocks_per_sm; ++resident) {
      cycles.stages[assumption].push_back(measure_stages(code, specimens, resident));
    }
  }
  return cycles;
}

}  // namespace sparkbench
