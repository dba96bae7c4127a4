// octavo, the program. Part of program/.
#include "cli/command.h"

int main(int argc, char** argv) { return octavo::cli::command(argc, argv); }
