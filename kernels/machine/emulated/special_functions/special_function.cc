#include "kernels/machine/emulated/special_functions/special_function.h"

#include <stdexcept>

#include "kernels/machine/emulated/special_functions/exp2_approx.h"
#include "kernels/machine/emulated/special_functions/log2_approx.h"
#include "kernels/machine/emulated/special_functions/reciprocal.h"

namespace sparkbench {

std::uint32_t emulated_bits(SpecialFunction function, std::uint32_t x) {
  const float value = float_from_bits(x);
  switch (function) {
    case SpecialFunction::kExp2Approx:
      return float_bits(exp2_approx(value));
    case SpecialFunction::kExp2ApproxFtz:
      return float_bits(exp2_approx_ftz(value));
    case SpecialFunction::kLog2Approx:
      return float_bits(log2_approx(value));
    case SpecialFunction::kLog2ApproxFtz:
      return float_bits(log2_approx_ftz(value));
    case SpecialFunction::kReciprocalApprox:
      return float_bits(reciprocal_approx(value));
    case SpecialFunction::kReciprocalApproxFtz:
      return float_bits(reciprocal_approx_ftz(value));
    case SpecialFunction::kReciprocalRn:
      return float_bits(reciprocal_rn(value));
    case SpecialFunction::kExpfIntrinsic:
      return float_bits(expf_intrinsic(value));
    case SpecialFunction::kHalfRn:
      return to_half(value).bits;
  }
  throw std::invalid_argument("no such special function");
}

}  // namespace sparkbench
