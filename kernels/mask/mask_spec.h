// A problem's mask, before its lengths are known. mask_table.h has a row for each kind, key_mask.h
// applies it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

enum class MaskKind { kFull, kCausal, kWindow, kBand, kPrefix };

/// In each, row q stands at key p = q + seqlen_k - seqlen_q (bottom right: the last row at the last
/// key), whether or not there is such a key.
///   full         every key
///   causal       the keys up to p
///   window:W     the last W of these, p itself included; W >= 1
///   band:L:R     from L keys before p to R keys after it; L, R >= 0. What a pattern has of its
///                tokens i * stride + residue (pattern/mask_passes.h) may have one below 0
///   prefix:P     the keys up to p, and for every row those below P; P >= 0
struct MaskSpec {
  MaskKind kind = MaskKind::kFull;
  int first = 0;   // W, L or P
  int second = 0;  // R

  static constexpr MaskSpec full() { return {}; }
  static constexpr MaskSpec causal() { return {MaskKind::kCausal, 0, 0}; }
  static constexpr MaskSpec window(int keys) { return {MaskKind::kWindow, keys, 0}; }
  static constexpr MaskSpec band(int before, int after) { return {MaskKind::kBand, before, after}; }
  static constexpr MaskSpec prefix(int keys) { return {MaskKind::kPrefix, keys, 0}; }
  /// The mask of a switch `--causal`.
  static constexpr MaskSpec causal_if(bool is_causal) { return is_causal ? causal() : full(); }

  constexpr bool operator==(const MaskSpec& other) const {
    return kind == other.kind && first == other.first && second == other.second;
  }
  constexpr bool operator!=(const MaskSpec& other) const { return !(*this == other); }
};

/// "window:256": what parse_mask() reads.
std::string name_of(const MaskSpec& mask);

/// Throws std::invalid_argument, which says what was wrong and what is allowed.
MaskSpec parse_mask(std::string_view text);

/// The mask with one of its numbers off by one, down and up, as far as it may be.
std::vector<MaskSpec> masks_one_off(const MaskSpec& mask);

/// "full, causal, window:W (W >= 1), ...": every form that parse_mask() takes.
std::string_view mask_forms();

}  // namespace sparkbench
