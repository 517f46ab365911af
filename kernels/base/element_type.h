// The element type of a problem's tensors.
#pragma once

namespace sparkbench {

/// The type of all tensors but LSE.
enum class ElementType {
  kFp16,
  kBf16,  // 8 exponent bits as in fp32, 7 fraction bits
};

}  // namespace sparkbench
