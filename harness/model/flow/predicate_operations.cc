// Comparisons, choices by predicates, and votes.
#include <array>

#include "harness/model/flow/operation.h"

namespace sparkbench {
namespace {

using Operands = OperationOperands;

/// Which of less, equal and greater a comparison takes for true.
struct Comparison {
  bool less, equal, greater;
};

Comparison comparison_of(const Operands& operands) {
  const auto has = [&](Modifier modifier) { return operands.has(modifier); };
  return {has(Modifier::kLt) || has(Modifier::kLe) || has(Modifier::kNe),
          has(Modifier::kEq) || has(Modifier::kLe) || has(Modifier::kGe),
          has(Modifier::kGt) || has(Modifier::kGe) || has(Modifier::kNe)};
}

LaneTruth combined(const Operands& operands, const LaneTruth& a, const LaneTruth& b) {
  if (operands.has(Modifier::kAnd)) return a & b;
  return operands.has(Modifier::kOr) ? a | b : a ^ b;
}

/// Where the words are equal, .EX asks what the comparison of the lower words told.
LaneTruth compared(const WarpValues& state, const Operands& operands) {
  LaneWords a_scratch, b_scratch;
  const LaneWords& a = state.read(operands.sources[0], a_scratch);
  const LaneWords& b = state.read(operands.sources[1], b_scratch);
  const Comparison is = comparison_of(operands);
  const std::uint32_t offset = operands.has(Modifier::kU32) ? 0u : 0x80000000u;
  LaneMask less = 0, equal = 0;
  for (int i = 0; i < kLanes; ++i) {
    less |= LaneMask{(a.value[i] ^ offset) < (b.value[i] ^ offset)} << i;
    equal |= LaneMask{a.value[i] == b.value[i]} << i;
  }
  const LaneMask greater = ~less & ~equal;
  LaneTruth result{(is.less ? less : 0) | (is.equal ? equal : 0) | (is.greater ? greater : 0),
                   a.known & b.known};
  if (operands.has(Modifier::kEx)) {
    const LaneTruth lower = state.read_truth(operands.conditions[1]);
    result.value = (result.value & ~equal) | (lower.value & equal);
    result.known &= lower.known | ~equal;
  }
  return result;
}

/// The second predicate is what the opposite comparison would give.
void run_isetp(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const LaneTruth result = compared(state, operands);
  const LaneTruth other = state.read_truth(operands.conditions[0]);
  state.write(operands.truths[0], combined(operands, result, other), lanes);
  state.write(operands.truths[1], combined(operands, !result, other), lanes);
}

void run_sel(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  LaneWords a_scratch, b_scratch, result;
  const LaneWords& a = state.read(operands.sources[0], a_scratch);
  const LaneWords& b = state.read(operands.sources[1], b_scratch);
  const LaneTruth is_a = state.read_truth(operands.conditions[0]);
  LaneMask equal = 0;
  for (int i = 0; i < kLanes; ++i) {
    result.value[i] = has_lane(is_a.value, i) ? a.value[i] : b.value[i];
    equal |= LaneMask{a.value[i] == b.value[i]} << i;
  }
  result.known =
      (is_a.is_true() & a.known) | (is_a.is_false() & b.known) | (a.known & b.known & equal);
  state.write(operands.destination.first, result, lanes);
}

int byte_shift(const Operands& operands) {
  if (operands.has(Modifier::kB1)) return 8;
  if (operands.has(Modifier::kB2)) return 16;
  return operands.has(Modifier::kB3) ? 24 : 0;
}

/// P2R R, PR, Ra, mask: predicates as bits, the others from Ra.
void run_p2r(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  LaneWords scratch;
  const std::uint32_t mask = operands.sources[2].value;
  LaneWords result = state.read(operands.sources[1], scratch);
  const int shift = byte_shift(operands);
  for (int p = 0; p < kPredicateTrue; ++p) {
    if ((mask >> p & 1u) == 0) continue;
    const LaneTruth truth = state.predicate(p);
    result.known &= truth.known;
    for (int i = 0; i < kLanes; ++i) {
      std::uint32_t& word = result.value[i];
      word = (word & ~(1u << (p + shift))) | (truth.value >> i & 1u) << (p + shift);
    }
  }
  state.write(operands.destination.first, result, lanes);
}

/// R2P PR, R, mask
void run_r2p(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  LaneWords scratch;
  const LaneWords& words = state.read(operands.sources[1], scratch);
  const std::uint32_t mask = operands.sources[2].value;
  const int shift = byte_shift(operands);
  for (std::uint8_t p = 0; p < kPredicateTrue; ++p) {
    if ((mask >> p & 1u) == 0) continue;
    LaneTruth truth{0, words.known};
    for (int i = 0; i < kLanes; ++i) {
      truth.value |= LaneMask{(words.value[i] >> (p + shift) & 1u) != 0} << i;
    }
    state.write(p, truth, lanes);
  }
}

/// The vote's outcome; known as soon as one lane decides it.
LaneTruth outcome(const Operands& operands, const LaneTruth& vote, LaneMask voters) {
  const bool any = (vote.is_true() & voters) != 0, not_all = (vote.is_false() & voters) != 0;
  const bool is_known = (voters & ~vote.known) == 0;
  const auto decided = [](bool truth, bool is_decided) {
    return LaneTruth{truth ? kAllLanes : 0, is_decided ? kAllLanes : 0};
  };
  if (operands.has(Modifier::kAny)) return decided(any, any || is_known);
  if (operands.has(Modifier::kAll)) return decided(!not_all, not_all || is_known);
  return decided(any != not_all, (any && not_all) || is_known);
}

void run_vote(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  LaneTruth vote = state.read_truth(operands.conditions[0]);
  vote.known &= ~lanes.possible;  // who may not vote at all
  LaneWords ballot = LaneWords::all(vote.is_true() & lanes.any());
  if ((lanes.any() & ~vote.known) != 0) ballot.known = 0;
  state.write(operands.destination.first, ballot, lanes);
  state.write(operands.truths[0], outcome(operands, vote, lanes.any()), lanes);
}

constexpr Operation kPredicateOperations[] = {
    {"ISETP", run_isetp, false, 2}, {"SEL", run_sel}, {"P2R", run_p2r}, {"R2P", run_r2p, false},
    {"VOTE", run_vote, true, 1},
};

}  // namespace

std::span<const Operation> predicate_operations() { return kPredicateOperations; }

}  // namespace sparkbench
