// The descriptors that every process is taken to have.
#pragma once

namespace sparkbench {

/// Opens what is closed of the standard input, output and error. Else the next files to be opened,
/// a journal say, would get their numbers, and what is printed would land in them. What is opened
/// can neither be read nor written: who closed it is told as if it still were. Call it first.
void open_missing_standard_streams();

/// Undoes what a launcher may have left ignored, but for what it means to (SIGHUP of nohup): a
/// child's end must be told (SIGCHLD), and writing to a pipe or a full disk is an error of write().
void reset_signals();

}  // namespace sparkbench
