// What `octavo diagnose` writes: the repaired file. Part of cli/.
#ifndef OCTAVO_CLI_REPAIR_H_
#define OCTAVO_CLI_REPAIR_H_

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace octavo::cli {

void add_diagnose(CLI::App& app, int& exit_code);

struct RepairArguments {
  std::string output;              // empty: nothing is repaired
  std::vector<std::string> names;  // empty: all that find a place
};

// --write-fixed and --repairs.
void add_repair_options(CLI::App& verb, RepairArguments& arguments);

// Repairs the file, checks that it answers as promised, writes it and says what was done, in `report` under "repairs",
// too. The exit code: 1 where no repair finds a place, and nothing is written.
int write_fixed(const std::string& model, const RepairArguments& arguments, nlohmann::json& report);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_REPAIR_H_
