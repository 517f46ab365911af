// The bodies of the instances for the emulated machine. Each is compiled in the .cc file of its
// kind: forward_emulated.cc, backward_emulated.cc, packed_emulated.cc, sparse_emulated.cc.
#pragma once

namespace sparkbench {
class EmulatedMachine;
}

namespace sparkbench::volta {

/// Runs one thread of Config's kernel, whose parameters `params` are.
template <class Config>
void emulate_forward_thread(EmulatedMachine& machine, const void* params);
template <class Config>
void emulate_backward_thread(EmulatedMachine& machine, const void* params);
template <class Config>
void emulate_backward_dq_thread(EmulatedMachine& machine, const void* params);
template <class Config>
void emulate_statistics_thread(EmulatedMachine& machine, const void* params);
template <class Config>
void emulate_round_dq_thread(EmulatedMachine& machine, const void* params);

// Defines one, and compiles it for a row. NOLINTBEGIN(bugprone-macro-parentheses): types take none.
#define SPARK_EMULATED_BODY(name, body, Params)                 \
  template <class Config>                                       \
  void name(EmulatedMachine& machine, const void* params) {     \
    body<Config>(machine, *static_cast<const Params*>(params)); \
  }
#define SPARK_EMULATED(name, ...) template void name<__VA_ARGS__>(EmulatedMachine&, const void*);
#define SPARK_EMULATED_FORWARD(symbol, id, ...) SPARK_EMULATED(emulate_forward_thread, __VA_ARGS__)
#define SPARK_EMULATED_BACKWARD(symbol, id, ...) \
  SPARK_EMULATED(emulate_backward_thread, __VA_ARGS__)
#define SPARK_EMULATED_BACKWARD_DQ(symbol, id, ...) \
  SPARK_EMULATED(emulate_backward_dq_thread, __VA_ARGS__)
#define SPARK_EMULATED_STATISTICS(symbol, id, ...) \
  SPARK_EMULATED(emulate_statistics_thread, __VA_ARGS__)
#define SPARK_EMULATED_ROUND_DQ(symbol, id, ...) \
  SPARK_EMULATED(emulate_round_dq_thread, __VA_ARGS__)
// NOLINTEND(bugprone-macro-parentheses)
}  // namespace sparkbench::volta
