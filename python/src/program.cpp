// octavo, the program of the wheel.
#include "bindings/bindings.h"

int main(int argc, char** argv) { return octavo::v1::run_command(argc, argv); }
