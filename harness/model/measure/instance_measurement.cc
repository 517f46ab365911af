#include "harness/model/measure/instance_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "harness/model/flow/block_paths.h"
#include "harness/model/measure/specimen.h"
#include "harness/model/sm/cycle_bounds.h"
#include "results/record/case_id.h"

namespace sparkbench {
namespace {

constexpr int kInstructionBytes = 16;
/// Between the starts of two blocks of an SM, or of two teams of a block, cycles: what they are is
/// not known, so figures are the mean over several.
constexpr std::array kStartOffsets = {400, 800, 1200, 1600, 2000, 2400, 2800, 3200};

/// Some instances of a kernel on an SM.
struct ResidentBlocks {
  const TimedCode& code;
  int blocks;
  int teams;  // of a block

  std::span<const int> offsets() const {
    return blocks * teams == 1 ? std::span<const int>(kStartOffsets).first(1) : kStartOffsets;
  }
};

bool is_product(const TimedCode& code, const PathStep& step) {
  return step.is_executed && code.instructions[step.instruction].flop > 0;
}

int first_product(const TimedCode& code, const WarpPath& path) {
  const auto found = std::find_if(path.begin(), path.end(),
                                  [&](const PathStep& step) { return is_product(code, step); });
  return static_cast<int>(found - path.begin());
}

int last_product(const TimedCode& code, const WarpPath& path) {
  const auto found = std::find_if(path.rbegin(), path.rend(),
                                  [&](const PathStep& step) { return is_product(code, step); });
  return static_cast<int>(path.rend() - found) - 1;
}

SmResult run_blocks(const ResidentBlocks& resident, const BlockPaths& paths, int blocks,
                    int offset) {
  SmWork work{.blocks = std::vector<const BlockPaths*>(blocks, &paths),
              .start_offsets = staggered_starts(resident.blocks, offset)};
  work.marks = late_teams(resident.code, work.blocks, resident.teams, offset);
  return simulate(resident.code, work);
}

template <class Cycles>
double mean_over_offsets(const ResidentBlocks& resident, Cycles&& cycles) {
  double sum = 0.0;
  for (const int offset : resident.offsets()) sum += cycles(offset);
  return sum / static_cast<double>(resident.offsets().size());
}

/// Duration of blocks that fill the SM once.
double duration_together(const ResidentBlocks& resident, const BlockPaths& paths) {
  return mean_over_offsets(resident, [&](int offset) {
    double sum = 0.0;
    for (const BlockTimes& block : run_blocks(resident, paths, resident.blocks, offset).blocks) {
      sum += static_cast<double>(block.end - block.start);
    }
    return sum / resident.blocks;
  });
}

/// Duration of a block in a row of equal ones: what each further block in every slot adds.
double duration_in_a_row(const ResidentBlocks& resident, const BlockPaths& paths) {
  constexpr int kRounds = 4;
  return mean_over_offsets(resident, [&](int offset) {
    const auto cycles_of = [&](int rounds) {
      return static_cast<double>(
          run_blocks(resident, paths, resident.blocks * rounds, offset).cycles);
    };
    return (cycles_of(1 + kRounds) - cycles_of(1)) / kRounds;
  });
}

/// For a block alone, the share of the time without products that comes before the first.
double share_before_products(const TimedCode& code, const BlockPaths& paths) {
  SmWork work{.blocks = {&paths}, .start_offsets = {0}};
  for (int warp = 0; warp < static_cast<int>(paths.size()); ++warp) {
    work.marks.push_back({0, warp, first_product(code, paths[warp])});
    work.marks.push_back({0, warp, last_product(code, paths[warp])});
  }
  const SmResult result = simulate(code, work);
  const auto [first, last] = std::minmax_element(result.marks.begin(), result.marks.end());
  const auto before = static_cast<double>(*first - result.blocks.front().start);
  const auto behind = static_cast<double>(result.blocks.front().end - *last);
  return before / (before + behind);
}

/// At least 0: where teams that are out of step come out of it better, more costs nothing.
double cycles_of_more_part(const ResidentBlocks& resident, const Specimen& all_parts,
                           const Specimen& cut) {
  const double longer =
      duration_together(resident, all_parts.paths) - duration_together(resident, cut.paths);
  return std::max(0.0, longer / static_cast<double>(all_parts.work.more_parts));
}

/// What a part saves that a scheduler lacks to the busiest, in `stairs`, whose blocks share an SM
/// with each other as those of a pattern do.
double cycles_of_idle_part(const ResidentBlocks& resident, const Specimen& all_parts,
                           const Specimen& stairs, double more_part) {
  if (stairs.work.idle_parts == 0) return 0.0;
  const double of_more_parts =
      more_part * static_cast<double>(all_parts.work.more_parts - stairs.work.more_parts);
  const double shorter = duration_together(resident, all_parts.paths) -
                         duration_together(resident, stairs.paths) - of_more_parts;
  return std::max(0.0, shorter / static_cast<double>(stairs.work.idle_parts));
}

StageCycles measure_stages(const ResidentBlocks& resident, const Specimens& specimens) {
  const auto& [few, many, cut, as_cut, all_parts, stairs, few_halves, many_halves, group] =
      specimens;
  const double of_few = duration_together(resident, few.paths);
  const auto cut_tiles = [](const Specimen& specimen) {
    return static_cast<double>(specimen.work.cut_tiles);
  };
  const auto tiles = [&](const Specimen& specimen) {
    return static_cast<double>(specimen.work.full_tiles) + cut_tiles(specimen);
  };
  const double mask =
      (duration_together(resident, cut.paths) - duration_together(resident, as_cut.paths)) /
      (cut_tiles(cut) - cut_tiles(as_cut));
  const double full_tile = (duration_together(resident, many.paths) - of_few -
                            mask * (cut_tiles(many) - cut_tiles(few))) /
                           (tiles(many) - tiles(few));
  double cut_tile = full_tile + mask;
  double more_part = all_parts ? cycles_of_more_part(resident, *all_parts, cut) : 0.0;
  const double idle_part =
      stairs ? cycles_of_idle_part(resident, *all_parts, *stairs, more_part) : 0.0;
  if (many_halves) {
    const double half_tile = (duration_together(resident, many_halves->paths) -
                              duration_together(resident, few_halves->paths)) /
                             (tiles(*many_halves) - tiles(*few_halves));
    more_part = (cut_tile - half_tile) / resident.teams;
    cut_tile = half_tile;
  }
  // Parts of patterns' cut tiles are of no specimen that this is asked of.
  const auto in_tiles = [&](const Specimen& specimen) {
    return full_tile * static_cast<double>(specimen.work.full_tiles) +
           cut_tile * cut_tiles(specimen) +
           more_part * static_cast<double>(specimen.work.more_parts);
  };
  const double rest = duration_in_a_row(resident, few.paths) - in_tiles(few);
  const double share = share_before_products(resident.code, few.paths);
  double next_head = 0.0;
  if (group) {
    const double longer =
        duration_together(resident, group->paths) - of_few - (in_tiles(*group) - in_tiles(few));
    // As of parts above.
    next_head = std::max(0.0, longer / static_cast<double>(group->work.more_heads));
  }
  return {.prologue = share * rest,
          .full_tile = full_tile,
          .cut_tile = cut_tile,
          .epilogue = (1.0 - share) * rest,
          .next_head = next_head,
          .more_part = more_part,
          .idle_part = idle_part};
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

}  // namespace

std::string code_hash(const SassFunction& function) {
  constexpr std::string_view kEnd = "\xff";  // no text has this byte: where one ends counts
  std::uint64_t hash = fnv1a("");
  for (const SassInstruction& instruction : function.instructions) {
    hash = fnv1a(kEnd, fnv1a(text_of(instruction), hash));
    hash = fnv1a(kEnd, fnv1a(fmt::format("{:x}", instruction.control.value_or(0)), hash));
  }
  return to_hex(hash);
}

std::vector<PathMark> late_teams(const TimedCode& code, std::span<const BlockPaths* const> blocks,
                                 int teams, int offset) {
  std::vector<PathMark> pauses;
  for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
    const BlockPaths& paths = *blocks[block];
    const int warps = static_cast<int>(paths.size()), warps_of_team = warps / teams;
    for (int warp = warps_of_team; warp < warps; ++warp) {
      pauses.push_back(
          {block, warp, first_product(code, paths[warp]), warp / warps_of_team * offset});
    }
  }
  return pauses;
}

InstanceCycles measure_instance(const SassFunction& function, const KernelInstance& instance,
                                int blocks_per_sm) {
  const Specimens specimens = specimens_of(function, instance);
  const BlockWork &many = specimens.many.work, &few = specimens.few.work;
  const auto tiles =
      static_cast<int>(many.full_tiles + many.cut_tiles - few.full_tiles - few.cut_tiles);
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
      cycles.stages[assumption].push_back(
          measure_stages({code, resident, instance.teams}, specimens));
    }
  }
  return cycles;
}

}  // namespace sparkbench
