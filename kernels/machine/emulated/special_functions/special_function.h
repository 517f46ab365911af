// The special functions by name: as recordings call them, and as a GPU can be asked for them
// (kernels/machine/sfu_probe.h). No CUDA header, C++17.
#pragma once

#include <cstdint>

namespace sparkbench {

enum class SpecialFunction {
  kExp2Approx,           // ex2.approx.f32
  kExp2ApproxFtz,        // ex2.approx.ftz.f32
  kLog2Approx,           // lg2.approx.f32
  kLog2ApproxFtz,        // lg2.approx.ftz.f32
  kReciprocalApprox,     // rcp.approx.f32
  kReciprocalApproxFtz,  // rcp.approx.ftz.f32
  kReciprocalRn,         // rcp.rn.f32
  kExpfIntrinsic,        // __expf, compiled without -ftz
  kHalfRn,               // cvt.rn.f16.f32, the 16 bits of the result
};

struct NamedSpecialFunction {
  SpecialFunction function;
  const char* name;
};

inline constexpr NamedSpecialFunction kSpecialFunctions[] = {
    {SpecialFunction::kExp2Approx, "ex2_approx"},
    {SpecialFunction::kExp2ApproxFtz, "ex2_approx_ftz"},
    {SpecialFunction::kLog2Approx, "lg2_approx"},
    {SpecialFunction::kLog2ApproxFtz, "lg2_approx_ftz"},
    {SpecialFunction::kReciprocalApprox, "rcp_approx"},
    {SpecialFunction::kReciprocalApproxFtz, "rcp_approx_ftz"},
    {SpecialFunction::kReciprocalRn, "rcp_rn"},
    {SpecialFunction::kExpfIntrinsic, "expf_intrinsic"},
    {SpecialFunction::kHalfRn, "cvt_rn_f16"},
};

/// The bits that the emulated machine makes of the float with the bits `x`.
std::uint32_t emulated_bits(SpecialFunction function, std::uint32_t x);

}  // namespace sparkbench
