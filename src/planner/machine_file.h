// Machine files: a Machine as JSON, as `octavo inspect --machine --calibrate` writes it. Part of planner/.
#ifndef OCTAVO_PLANNER_MACHINE_FILE_H_
#define OCTAVO_PLANNER_MACHINE_FILE_H_

#include <string>
#include <string_view>
#include <tuple>

#include "base/machine.h"

namespace octavo {

// {"format": "octavo machine 1", "name": "...", "isa": "scalar avx2 ...", "l1_bytes": 32768, "l2_bytes": ...,
// "l3_bytes": ..., "cores": 2, "speeds": {"gigahertz": 3.7, ...}}: every member of Machine and of MachineSpeeds.
std::string machine_text(const Machine& machine);
// The same backwards. Errors: invalid_input, where a key is missing, unknown or of an impossible value. `where`: the
// file's name.
Result<Machine> parse_machine(std::string_view text, const std::string& where);

// What --target and --machine say together: without a file the target's machine; with one that of the file, with the
// target's instructions where that is not "host". `machine_file` may be the name of one of known_cores.h instead.
// Errors: those of machine_for_target, of reading, of parse_machine.
Result<Machine> compiled_for(const std::string& target, const std::string& machine_file);

// f(name, member) of each of MachineSpeeds, in the order of the file.
template <class F>
void for_each_speed(const F& f) {
  std::apply([&](const auto&... field) { (f(std::string(field.name), field.member), ...); }, MachineSpeeds::fields());
}

}  // namespace octavo

#endif  // OCTAVO_PLANNER_MACHINE_FILE_H_
