// How loops over many numbers become vector instructions, in portable binaries and with the same
// bits everywhere (contraction is off in every clone).
#pragma once

// Before a function: compile it for AVX-512, for AVX2 and for the least x86-64 there is, and take
// the best one that the processor has when the program starts. Sanitizers are the exception: they
// instrument the start-up code that picks a clone before they are themselves ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SPARKBENCH_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SPARKBENCH_VECTOR_CLONES
#endif

// Before a function that computes one number without branches: inline it into the loops of every
// clone, which are then vectorised around it.
#define SPARKBENCH_LANE [[gnu::always_inline]] inline
