// The bodies of the instances for the emulated machine. Each is compiled in the .cc file of its
// kind: forward_emulated.cc, backward_emulated.cc, packed_emulated.cc.
#pragma once

#include "kernels/launch/emulated_body.h"

namespace sparkbench::hopper {

/// Runs one thread of Config's kernel, whose parameters `params` are.
template <class Config>
void emulate_forward_thread(EmulatedMachine& machine, const void* params);
template <class Config>
void emulate_backward_thread(EmulatedMachine& machine, const void* params);
template <class Config>
void emulate_backward_carried_thread(EmulatedMachine& machine, const void* params);
template <class Config>
void emulate_backward_dq_thread(EmulatedMachine& machine, const void* params);
template <class Config>
void emulate_statistics_thread(EmulatedMachine& machine, const void* params);
template <class Config>
void emulate_round_dq_thread(EmulatedMachine& machine, const void* params);

#define SPARK_EMULATED_FORWARD(symbol, id, ...) SPARK_EMULATED(emulate_forward_thread, __VA_ARGS__)
#define SPARK_EMULATED_BACKWARD(symbol, id, ...) \
  SPARK_EMULATED(emulate_backward_thread, __VA_ARGS__)
#define SPARK_EMULATED_BACKWARD_CARRIED(symbol, id, ...) \
  SPARK_EMULATED(emulate_backward_carried_thread, __VA_ARGS__)
#define SPARK_EMULATED_BACKWARD_DQ(symbol, id, ...) \
  SPARK_EMULATED(emulate_backward_dq_thread, __VA_ARGS__)
#define SPARK_EMULATED_STATISTICS(symbol, id, ...) \
  SPARK_EMULATED(emulate_statistics_thread, __VA_ARGS__)
#define SPARK_EMULATED_ROUND_DQ(symbol, id, ...) \
  SPARK_EMULATED(emulate_round_dq_thread, __VA_ARGS__)

}  // namespace sparkbench::hopper
