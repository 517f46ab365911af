// The body of an instance for the emulated machine: KernelInstance::emulate.
#pragma once

namespace sparkbench {

class EmulatedMachine;

// NOLINTBEGIN(bugprone-macro-parentheses): types take none.
/// Defines name<Config>(machine, params) as a thread of body<Config>.
#define SPARK_EMULATED_BODY(name, body, Params)                 \
  template <class Config>                                       \
  void name(EmulatedMachine& machine, const void* params) {     \
    body<Config>(machine, *static_cast<const Params*>(params)); \
  }
/// Compiles it for a row.
#define SPARK_EMULATED(name, ...) template void name<__VA_ARGS__>(EmulatedMachine&, const void*);
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace sparkbench
