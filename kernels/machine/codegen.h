// Hints of a kernel to the compiler. None of them changes a result: they only persuade ptxas to
// recompute what it would otherwise keep in registers, or spill, around a loop. Every Machine has
// these members in addition to those of machine.h: GpuMachine from GpuCodegen (codegen.cuh),
// EmulatedMachine from EmulatedCodegen (emulated/codegen.h). They belong into cursors that own
// addresses, not into the lines of an algorithm.
//
//   void recompute_indices()                      what derives from thread(), lane() and warp() is
//                                                 recomputed from here on
//   void recompute_indices(int multiple_of_32)    the same for block() too, and even ptxas cannot
//                                                 undo it. Pass a loop variable that is always a
//                                                 multiple of 32, because its low five bits, which
//                                                 only we know to be zero, are added to the
//                                                 indices. The emulator reports any other number.
//   T    opaque(T)                                the same pointer or 4-byte integer, but the
//                                                 compiler no longer knows what it was computed
//                                                 from, so it computes nothing from it beforehand
//   Bits128 load_opaque_global(const void*)       load_global<Bits128>() for an opaque address, for
//                                                 which the compiler cannot know the address space
//   int  uniform(int)                             a number that all lanes of the warp have, so that
//                                                 the compiler knows it: wgmma then allows a branch
//                                                 on it. All lanes call it
//   void give_registers<int k>()                  setmaxnreg.dec: a thread of the warpgroup keeps k
//   void take_registers<int k>()                  setmaxnreg.inc: it has k from here on, once other
//                                                 warpgroups have given them. Multiples of 8
#pragma once
