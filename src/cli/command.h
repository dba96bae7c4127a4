// The whole command line: what main() of a program calls. Part of cli/.
#ifndef OCTAVO_CLI_COMMAND_H_
#define OCTAVO_CLI_COMMAND_H_

namespace octavo::cli {

// Runs the verb that the arguments name, in a process that is there for nothing else: its signals, and descriptors 0 to
// 2 where they are closed, are set up for that. The exit code, as docs/cli.md tells them.
int command(int argc, char** argv);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_COMMAND_H_
