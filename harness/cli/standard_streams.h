// The descriptors that every process should have.
#pragma once

namespace sparkbench {

/// Opens those of standard input, output and error that are closed. Otherwise the next opened
/// files, such as a journal, would get their numbers, and output would end up in them. The
/// replacements can neither be read nor written, so that the user gets the same errors as for
/// closed ones. Call it first.
void open_missing_standard_streams();

/// Restores signals that a launcher may have ignored, except SIGHUP, which nohup ignores on
/// purpose. The end of a child must be reported (SIGCHLD), and writing to a pipe or a full disk
/// must fail in write().
void reset_signals();

}  // namespace sparkbench
