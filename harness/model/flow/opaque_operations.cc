// Instructions whose results this model does not follow: floating point, tensor cores, memory.
// That they are listed says what they write.
#include "harness/model/flow/operation.h"

namespace sparkbench {
namespace {

void run_opaque(WarpValues& state, const OperationOperands& operands, const ActiveLanes& lanes) {
  forget_results(state, operands, lanes);
}

constexpr Operation kOpaque[] = {
    {"HMMA", run_opaque},
    {"FADD", run_opaque},
    {"FMUL", run_opaque},
    {"FFMA", run_opaque},
    {"FMNMX", run_opaque},
    {"FSEL", run_opaque},
    {"FSET", run_opaque},
    {"FSWZADD", run_opaque},
    {"FRND", run_opaque},
    {"F2F", run_opaque},
    {"HADD2", run_opaque},
    {"HMUL2", run_opaque},
    {"HFMA2", run_opaque},
    {"HSET2", run_opaque},
    {"DADD", run_opaque},
    {"DMUL", run_opaque},
    {"DFMA", run_opaque},
    {"I2I", run_opaque},
    {"IDP", run_opaque},
    {"LD", run_opaque},
    {"ATOM", run_opaque, true, 1},
    {"ATOMG", run_opaque, true, 1},
    {"B2R", run_opaque, true, 1},

    {"FSETP", run_opaque, false, 2},
    {"HSETP2", run_opaque, false, 2},
    {"DSETP", run_opaque, false, 2},
    {"FCHK", run_opaque, false, 1},

    {"ST", run_opaque, false},
    {"STG", run_opaque, false},
    {"RED", run_opaque, false},
    {"NOP", run_opaque, false},
    {"MEMBAR", run_opaque, false},
    {"ERRBAR", run_opaque, false},
    {"DEPBAR", run_opaque, false},
    {"CCTL", run_opaque, false},
    {"CCTLL", run_opaque, false},
    {"YIELD", run_opaque, false},
    {"NANOSLEEP", run_opaque, false},
};

}  // namespace

std::span<const Operation> opaque_operations() { return kOpaque; }

}  // namespace sparkbench
