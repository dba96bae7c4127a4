// artifact: a compiled model, and the .octv file that holds it. Part of artifact/.
//
// File: header (magic, format version, checksum, file size), a table of typed sections, and these: the model, its
// plans, what is told of them (may be left out), the network where its sizes are open, constants (starting on a page,
// so that they can be mapped and used in place; that network's weights first, which are not read, not even for the
// checksum, before something plans). A model of several parts has none of these, but a section that says how they
// follow one another, and one of whole files, one for each network, each on a page. Sections of a type that a release
// does not know are skipped. Structs are encoded as base/fields.h does. Little-endian. No machine code.
#ifndef OCTAVO_ARTIFACT_ARTIFACT_H_
#define OCTAVO_ARTIFACT_ARTIFACT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/constants.h"
#include "plan/open_network.h"
#include "plan/plan.h"
#include "plan/program.h"

namespace octavo {

// A change of any encoded struct, enum number or kernel's packed form is a new version.
inline constexpr std::uint32_t kArtifactVersion = 15;

// What an .octv holds.
struct CompiledModel {
  std::string source;  // file name, for reports
  std::string dialect;
  int source_nodes = 0;
  std::string pictures;  // SPEC of what becomes of pictures inside (pictures/preprocess.h); empty: it takes none
  std::vector<ModelState> states;
  std::vector<StoredPacking> packings;  // of `network`, what the first size finds ready
  std::vector<Plan> plans;
  std::optional<OpenNetwork> network;           // where sizes stay open: what plans of other sizes are made of
  std::span<const std::byte> constants;         // aligned to kAlignment
  std::shared_ptr<const void> constants_owner;  // keeps them alive: a ConstantPool's bytes or a mapped file
  // Of several parts: then all above but where it comes from is empty, and these are compiled models of one each, by
  // ProgramPart::network.
  std::optional<Program> program;
  std::vector<CompiledModel> networks;
};

// Of a model that is one network.
NetworkPorts ports_of(const CompiledModel& network);

// check_program() with its networks. Error: invalid_input.
Status check_program(const CompiledModel& model);

// Takes over the pool's bytes as the model's constants, and notes the checksum of those that are the network's weights.
void adopt_constants(CompiledModel& model, ConstantPool& pool);

// Reads all weights of the model's network. Error (invalid_input): not those that were written.
Status check_weights(const CompiledModel& model);

// The whole file, in memory.
AlignedBytes encode_artifact(const CompiledModel& model);

// All or nothing, as write_file() does. Error: resource.
Status write_artifact(const CompiledModel& model, const std::string& path);

// Maps the file and keeps the mapping for the constants. Indices inside the plans and programs exist
// (check_indices, check_program); what they lead to is verified by load_model, not here. Errors: resource (cannot be
// read), invalid_input (not an .octv file, of another version, truncated, damaged).
Result<CompiledModel> read_artifact(const std::string& path);

// The same from memory; the constants are copied. `name` stands for the path in messages.
Result<CompiledModel> parse_artifact(std::span<const std::byte> bytes, const std::string& name);

// Whether a file that starts with these bytes is meant to be an .octv.
bool looks_like_artifact(std::span<const std::byte> bytes);

// Makes size and checksum of a damaged file right again, so that tests and fuzzing reach what lies behind them.
void repair_checksum(std::span<std::byte> bytes);

}  // namespace octavo

#endif  // OCTAVO_ARTIFACT_ARTIFACT_H_
