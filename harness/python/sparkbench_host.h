/* The program as a shared library, for a host that has kernels of its own: a Python interpreter.
 *
 * libsparkbench_host.so exports sparkbench_main(), which is the program `sparkbench` with one
 * difference: `--kernel` also takes what the host can load. C99. */
#ifndef SPARKBENCH_HOST_H
#define SPARKBENCH_HOST_H

#include "harness/plugin/sparkbench_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names as C has them. */

typedef struct sparkbench_host {
  size_t struct_bytes;
  /* How to start this program again, as a worker: an executable's path and its first arguments,
   * then null. The arguments of the program follow. Null: cases run in this process. */
  const char* const* worker_command;
  /* An item of --kernel: its kernel of this index, from 0, or null after the last one. Null for
   * index 0 if the item is not the host's, or if it cannot be loaded; load_error() tells which. */
  const sparkbench_kernel* (*load)(const char* item, uint32_t index);
  /* Why the last load() failed. Null: the item is not the host's. */
  const char* (*load_error)(void);
  /* For a kernel that load() returned: the item of --kernel that names it alone, and the file that
   * it was read from, whose hash is recorded, or null. */
  const char* (*item_of)(const sparkbench_kernel* kernel);
  const char* (*file_of)(const sparkbench_kernel* kernel);
} sparkbench_host;

/* Runs `sparkbench argv[1..argc)` and returns its exit status (harness/cli/exit_code.h). Uses the
 * process's standard streams, and its signals while it runs. One call at a time. Throws nothing. */
int sparkbench_main(int argc, const char* const* argv, const sparkbench_host* host);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
