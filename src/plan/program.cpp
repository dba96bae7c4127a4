// Checking a program that may be hostile, and who reads what last. Part of plan/.
#include "plan/program.h"

#include <algorithm>
#include <map>

namespace octavo {
namespace {

std::size_t slot_at(std::int32_t index) { return static_cast<std::size_t>(index); }

class Checker {
 public:
  Checker(const Program& program, const std::vector<NetworkPorts>& networks)
      : program_(program),
        networks_(networks),
        is_made_(program.values.size(), false),
        is_visible_(program.values.size(), false) {}

  Status check() {
    if (program_.blocks.empty()) return wrong("no block", "one at least");
    if (program_.output_names.size() != program_.blocks[0].outputs.size())
      return wrong(std::to_string(program_.output_names.size()) + " names of outputs",
                   std::to_string(program_.blocks[0].outputs.size()));
    next_block_ = 1;
    if (Status block = check_block(0, 0); !block) return block;
    if (next_block_ == program_.blocks.size()) return ok_status();
    return wrong("block " + std::to_string(next_block_), "blocks that belong to a part");
  }

 private:
  Error wrong(std::string found, std::string expected) const {
    return {.kind = ErrorKind::invalid_input,
            .where = "program" + (at_.empty() ? "" : ", part '" + at_ + "'"),
            .found = std::move(found),
            .expected = std::move(expected)};
  }

  Status make(std::int32_t value, std::vector<std::int32_t>& made) {
    if (value == kNoIndex) return ok_status();
    if (value < 0 || slot_at(value) >= is_made_.size() || is_made_[slot_at(value)])
      return wrong("value " + std::to_string(value) + ", which is none or made twice", "one of its own");
    is_made_[slot_at(value)] = is_visible_[slot_at(value)] = true;
    made.push_back(value);
    return ok_status();
  }

  Status read(std::int32_t value) const {
    if (value >= 0 && slot_at(value) < is_visible_.size() && is_visible_[slot_at(value)]) return ok_status();
    return wrong("value " + std::to_string(value) + ", which nothing has made", "one of a part before");
  }

  Status read_all(const std::vector<std::int32_t>& values, std::size_t from) const {
    for (std::size_t i = from; i < values.size(); ++i) {
      if (Status known = read(values[i]); !known) return known;
    }
    return ok_status();
  }

  Status check_block(std::size_t index, int depth) {
    if (depth > kMostNestedBlocks)
      return wrong("blocks nested " + std::to_string(depth) + " deep", "at most " + std::to_string(kMostNestedBlocks));
    const ProgramBlock& block = program_.blocks[index];
    std::vector<std::int32_t> made;
    for (const std::int32_t input : block.inputs) {
      if (Status known = make(input, made); !known) return known;
    }
    for (const ProgramPart& part : block.parts) {
      if (Status known = check_part(part, depth); !known) return known;
      for (const std::int32_t output : part.outputs) {
        if (Status known = make(output, made); !known) return known;
      }
    }
    for (const std::int32_t output : block.outputs) {
      if (output == kNoIndex && index != 0) continue;
      if (Status known = read(output); !known) return known;
    }
    for (const std::int32_t value : made) is_visible_[slot_at(value)] = false;
    return ok_status();
  }

  Status check_part(const ProgramPart& part, int depth) {
    at_ = part.name;
    Status known = part.kind == PartKind::network  ? check_network(part)
                   : part.kind == PartKind::branch ? check_branch(part)
                   : part.kind == PartKind::loop   ? check_loop(part)
                                                   : check_refusal(part);
    for (std::size_t i = 0; known && i < part.blocks.size(); ++i) {
      // Each block once, in the order in which they are met: there is no cycle.
      if (part.blocks[i] < 0 || slot_at(part.blocks[i]) != next_block_ || next_block_ >= program_.blocks.size())
        return wrong("block " + std::to_string(part.blocks[i]), "block " + std::to_string(next_block_));
      known = check_block(next_block_++, depth + 1);
      at_ = part.name;
    }
    return known;
  }

  Status check_network(const ProgramPart& part) const {
    if (part.network < 0 || slot_at(part.network) >= networks_.size())
      return wrong("network " + std::to_string(part.network), "below " + std::to_string(networks_.size()));
    const NetworkPorts& ports = networks_[slot_at(part.network)];
    if (part.inputs.size() != ports.inputs || part.outputs.size() != ports.outputs ||
        part.extents.size() != ports.outputs || !part.blocks.empty())
      return wrong(
          std::to_string(part.inputs.size()) + " inputs and " + std::to_string(part.outputs.size()) + " outputs",
          std::to_string(ports.inputs) + " and " + std::to_string(ports.outputs) + " of its network");
    for (const std::int32_t extents : part.extents) {
      if (extents != kNoIndex && (extents < 0 || slot_at(extents) >= ports.outputs))
        return wrong("a shape in output " + std::to_string(extents), "one of its outputs");
    }
    return read_all(part.inputs, 0);
  }

  Status check_refusal(const ProgramPart& part) const {
    return part.inputs.empty() && part.blocks.empty() ? ok_status() : wrong("inputs or blocks", "outputs alone");
  }

  std::size_t outputs_of(const ProgramPart& part, std::size_t block) const {
    const std::int32_t index = part.blocks[block];
    return index >= 0 && slot_at(index) < program_.blocks.size() ? program_.blocks[slot_at(index)].outputs.size() : 0;
  }
  std::size_t inputs_of(const ProgramPart& part, std::size_t block) const {
    const std::int32_t index = part.blocks[block];
    return index >= 0 && slot_at(index) < program_.blocks.size() ? program_.blocks[slot_at(index)].inputs.size() : 0;
  }

  Status check_branch(const ProgramPart& part) const {
    const bool fits = part.inputs.size() == 1 && part.blocks.size() == 2 && inputs_of(part, 0) == 0 &&
                      inputs_of(part, 1) == 0 && outputs_of(part, 0) == part.outputs.size() &&
                      outputs_of(part, 1) == part.outputs.size() && !part.outputs.empty();
    if (!fits) return wrong("another number of inputs, blocks or outputs", "a condition and two blocks of its outputs");
    if (!has_all(part.blocks[0]) || !has_all(part.blocks[1]))
      return wrong("an output that nothing makes", "a value for each output");
    return read_all(part.inputs, 0);
  }

  bool has_all(std::int32_t block) const {
    const std::vector<std::int32_t>& outputs = program_.blocks[slot_at(block)].outputs;
    return std::find(outputs.begin(), outputs.end(), kNoIndex) == outputs.end();
  }

  Status check_loop(const ProgramPart& part) const {
    const std::size_t carried = part.carried < 0 ? 0 : slot_at(part.carried);
    const bool has_test = part.blocks.size() == 2;
    const bool fits =
        part.carried >= 0 && (has_test || part.blocks.size() == 1) &&
        part.inputs.size() == 2 + carried + part.read.size() && inputs_of(part, 0) == part.inputs.size() &&
        part.outputs.size() == carried + part.written.size() && outputs_of(part, 0) == 1 + part.outputs.size() &&
        (!has_test || (inputs_of(part, 1) == carried && outputs_of(part, 1) == 1));
    if (!fits) return wrong("another number of inputs, blocks or outputs", "those of its body");
    const std::vector<std::int32_t>& results = program_.blocks[slot_at(part.blocks[0])].outputs;
    if (std::find(results.begin() + 1, results.end(), kNoIndex) != results.end() ||
        (has_test && !has_all(part.blocks[1])))
      return wrong("an output that nothing makes", "a value for each output of a loop's body");
    for (std::size_t i = 0; i < 2; ++i) {
      if (part.inputs[i] == kNoIndex) continue;
      if (Status known = read(part.inputs[i]); !known) return known;
    }
    for (const auto* axes : {&part.read, &part.written}) {
      for (const ScannedAxis& scanned : *axes) {
        const auto is_bad = [](std::int64_t size) { return size < 0; };
        if (scanned.axis < 0 || std::any_of(scanned.slice.begin(), scanned.slice.end(), is_bad))
          return wrong("a negative axis or size", "those of slices");
      }
    }
    return read_all(part.inputs, 2);
  }

  const Program& program_;
  const std::vector<NetworkPorts>& networks_;
  std::vector<bool> is_made_, is_visible_;
  std::size_t next_block_ = 0;
  std::string at_;
};

// For each value its block, and the part of that block that reads it last: itself, or through blocks inside.
class UseWalker {
 public:
  explicit UseWalker(const Program& program) : program_(program), used_(program.blocks.size()) {
    for (std::size_t i = 0; i < program.blocks.size(); ++i) used_[i].resize(program.blocks[i].parts.size());
  }

  std::vector<std::vector<std::vector<std::int32_t>>> walk() {
    walk_block(0);
    for (const auto& [value, use] : last_) {
      if (use.part != kOutput) used_[use.block][use.part].push_back(value);
    }
    return std::move(used_);
  }

 private:
  static constexpr std::size_t kOutput = static_cast<std::size_t>(-1);
  struct Use {
    std::size_t block, part;
  };

  void make(std::int32_t value, std::size_t block, std::size_t part) {
    if (value != kNoIndex) last_[value] = {block, part};
  }

  // Where the parts that are being walked stand in the blocks around them.
  void read(std::int32_t value) {
    const auto found = last_.find(value);
    if (found == last_.end()) return;
    const auto here =
        std::find_if(path_.begin(), path_.end(), [&](const Use& use) { return use.block == found->second.block; });
    if (here != path_.end() && found->second.part != kOutput) found->second.part = here->part;
  }

  void walk_block(std::size_t index) {
    const ProgramBlock& block = program_.blocks[index];
    path_.push_back({index, 0});
    for (const std::int32_t input : block.inputs) {
      if (!block.parts.empty()) make(input, index, 0);
    }
    for (std::size_t i = 0; i < block.parts.size(); ++i) {
      const ProgramPart& part = block.parts[i];
      path_.back().part = i;
      for (const std::int32_t input : part.inputs) read(input);
      for (const std::int32_t inner : part.blocks) walk_block(slot_at(inner));
      for (const std::int32_t output : part.outputs) make(output, index, i);
    }
    for (const std::int32_t output : block.outputs) {
      const auto found = last_.find(output);
      if (found == last_.end()) continue;
      if (found->second.block == index) found->second.part = kOutput;
      else read(output);
    }
    path_.pop_back();
  }

  const Program& program_;
  std::vector<std::vector<std::vector<std::int32_t>>> used_;
  std::map<std::int32_t, Use> last_;
  std::vector<Use> path_;
};

}  // namespace

Status check_program(const Program& program, const std::vector<NetworkPorts>& networks) {
  return Checker(program, networks).check();
}

std::vector<std::vector<std::vector<std::int32_t>>> last_uses(const Program& program) {
  return UseWalker(program).walk();
}

}  // namespace octavo
