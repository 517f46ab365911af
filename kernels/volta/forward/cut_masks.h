// How a kernel hides scores of a tile that its mask's bounds cut, in one of two forms with the same
// scores at the end. *By words*: 32 keys of each row as bits, of all of a warp's tile. *By ends*:
// the keys before a row's first by a comparison each, and those behind its last, of each 32 keys
// that have such keys, which most tiles have on one side alone. By ends takes fewer instructions.
// But the compiler takes each for another program, so each kernel was measured in both forms, and
// has the faster by the cycle model. Packed sequences have words.
#pragma once

#include "kernels/volta/forward/choices.h"

namespace sparkbench::volta {

/// The form; and whether the mask stands before what a loop has between a tile's last scores and
/// their maxima: the loads of V where K and V have one buffer, whose registers a mask wants too, or
/// the store of V's first piece where they come in pieces. The loops with two buffers have one
/// place for it.
struct CutMask {
  bool is_by_ends, precedes_values;
};

namespace cut_masks {
inline constexpr CutMask kWords{false, false}, kWordsFirst{false, true}, kEnds{true, false},
    kEndsFirst{true, true};
inline constexpr DropoutChoices<CutMask> kAllWords{kWords, kWords}, kAllEnds{kEnds, kEnds},
    kAllWordsFirst{kWordsFirst, kWordsFirst}, kAllEndsFirst{kEndsFirst, kEndsFirst};

inline constexpr KernelChoices<CutMask> kOfLong = {
    {kAllWords, kAllEnds, {kEndsFirst, kWords}, {kEnds, kWords}, kAllWords, kAllEnds},
    {kAllWords, kAllWords, {kWords, kEndsFirst}, {kEnds, kWords}, kAllWords, kAllEnds}};
inline constexpr KernelChoices<CutMask> kOfShort = {
    {kAllWords, kAllEndsFirst, kAllWords, kAllWords, kAllWordsFirst, kAllWords},
    {kAllWords, {kWordsFirst, kWords}, kAllWords, kAllWords, {kWordsFirst, kWords}, kAllWords}};
inline constexpr ColumnChoices<CutMask> kWordsOfAllColumns = {kAllWords, kAllWords, kAllWords,
                                                              kAllWords, kAllWords, kAllWords};
inline constexpr KernelChoices<CutMask> kOfPacked = {kWordsOfAllColumns, kWordsOfAllColumns};
// Of patterns cut tiles have their words in memory: what is chosen is the place alone.
inline constexpr KernelChoices<CutMask> kOfPatterns = {
    {kAllWords, kAllWords, kAllWords, kAllWords, kAllWordsFirst, kAllWords}, kWordsOfAllColumns};
}  // namespace cut_masks

constexpr const KernelChoices<CutMask>& cut_masks_of(ForwardWalk walk) {
  return walk == ForwardWalk::kLong     ? cut_masks::kOfLong
         : walk == ForwardWalk::kShort  ? cut_masks::kOfShort
         : walk == ForwardWalk::kPacked ? cut_masks::kOfPacked
                                        : cut_masks::kOfPatterns;
}

/// Keys that by ends have branches of their own.
inline constexpr int kCutKeys = 32;

}  // namespace sparkbench::volta
