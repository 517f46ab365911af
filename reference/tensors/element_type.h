// The element type of a problem's tensors. The host keeps every tensor as Half, whatever the type:
// inputs are numbers that fp16 and bf16 both hold, and a bf16 output is kept as the nearest fp16
// number, which is exact from 2^-17 to 65504.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/base/element_type.h"
#include "kernels/base/half.h"

namespace sparkbench {

/// "fp16", "bf16"
std::string_view name_of(ElementType element);

/// Throws std::invalid_argument for an unknown name.
void parse_name(std::string_view name, ElementType& element);

/// `value` after a store to memory of this type: to nearest, ties to even; overflow to infinity.
float rounded_to(ElementType element, float value);

/// The bits of bf16(value), as cvt.rn.bf16.f32: every NaN becomes 0x7fff.
std::uint16_t to_bf16_bits(float value);

/// As the host keeps an input: rounded to bf16 first for bf16.
Half to_input(ElementType element, float value);

/// A unit in the last place of 1: 2^-10, 2^-7.
double unit_of(ElementType element);

/// Tensors as a kernel has them, whose words are bits of the type, and as the host keeps them. For
/// fp16 both are the same.
std::vector<Half> as_kernel_has(ElementType element, std::span<const Half> kept);
std::vector<Half> as_host_keeps(ElementType element, std::vector<Half> words);

}  // namespace sparkbench
