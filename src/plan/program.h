// Program: a model whose control flow or shapes depend on data, as a tree of parts over numbered values, as data. Part
// of plan/.
//
// A part is a network, which is compiled, planned and run like any other model, or decides which parts run next. The
// importer makes programs, artifact/ writes and reads them, run/ walks over them.
#ifndef OCTAVO_PLAN_PROGRAM_H_
#define OCTAVO_PLAN_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "octavo/dtype.h"

namespace octavo {

inline constexpr std::int32_t kNoIndex = -1;
// Far above any model; keeps the stack of who walks over a program bounded.
inline constexpr int kMostNestedBlocks = 32;

// Numbers are part of the artifact format.
enum class PartKind : std::uint8_t { network = 0, branch = 1, loop = 2, refusal = 3 };
constexpr int count_of(PartKind) { return 4; }
constexpr std::string_view name_of(PartKind kind) {
  constexpr std::string_view names[] = {"network", "branch", "loop", "refusal"};
  return names[static_cast<int>(kind)];
}

// A tensor between parts. Its shape is known in a run; what is known before is in words, "1", "N", "2 * N", for who
// asks.
struct ProgramValue {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::string> shape;

  bool operator==(const ProgramValue&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &ProgramValue::name}, Field{"dtype", &ProgramValue::dtype},
                      Field{"shape", &ProgramValue::shape});
  }
};

// An axis along which a loop reads or writes a slice per iteration.
struct ScannedAxis {
  std::int64_t axis = 0;     // not negative
  bool is_reversed = false;  // the last slice first
  // Of a written one: its shape where there is no iteration, without the axis.
  std::vector<std::int64_t> slice;

  bool operator==(const ScannedAxis&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"axis", &ScannedAxis::axis}, Field{"is_reversed", &ScannedAxis::is_reversed},
                      Field{"slice", &ScannedAxis::slice});
  }
};

// Values are indices into Program::values, blocks into Program::blocks.
//
// network: outputs[i] becomes output i of network `network`. Where extents[i] is an index of one of its outputs too,
//   that one (s64, as many elements as output i has axes) tells the shape of the value, whose elements are the first of
//   output i: it has room for the most that there can be, or is one element, which fills the shape. An output that is
//   kNoIndex is only such a shape.
// branch: inputs[0] is a condition (bool, one element); blocks[0] runs where it is true, else blocks[1]; outputs are
//   the outputs of the block that ran.
// loop: inputs are the number of iterations (s64, one element), a condition (bool, one element), either of which may be
//   kNoIndex, then `carried` values, then one for each of `read`. blocks[0] runs once per iteration while there are
//   iterations left, slices to read, and its condition is true; its inputs are the iteration (s64 scalar) and the
//   condition, either of which may be kNoIndex, the carried values and the slices; its outputs the next condition
//   (kNoIndex: true), the carried values and a slice for each of `written`. blocks[1], where it is there, gives the
//   condition before each iteration instead, from the carried values. outputs: the carried values, then what was
//   written, its slices stacked along their axes.
// refusal: what of the file has no meaning at the sizes that it was read for, in words, is its name: a run that comes
//   to it ends with that error. Nobody makes its outputs.
struct ProgramPart {
  PartKind kind = PartKind::network;
  std::string name;  // "node 'search' (Loop, opset 17)"
  std::int32_t network = kNoIndex;
  std::vector<std::int32_t> inputs, outputs, extents, blocks;
  std::int32_t carried = 0;
  std::vector<ScannedAxis> read, written;

  bool operator==(const ProgramPart&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kind", &ProgramPart::kind}, Field{"name", &ProgramPart::name},
                      Field{"network", &ProgramPart::network}, Field{"inputs", &ProgramPart::inputs},
                      Field{"outputs", &ProgramPart::outputs}, Field{"extents", &ProgramPart::extents},
                      Field{"blocks", &ProgramPart::blocks}, Field{"carried", &ProgramPart::carried},
                      Field{"read", &ProgramPart::read}, Field{"written", &ProgramPart::written});
  }
};

// Parts in order. Blocks read what those around them have made.
struct ProgramBlock {
  std::vector<std::int32_t> inputs;  // kNoIndex: nobody reads it
  std::vector<ProgramPart> parts;
  std::vector<std::int32_t> outputs;

  bool operator==(const ProgramBlock&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"inputs", &ProgramBlock::inputs}, Field{"parts", &ProgramBlock::parts},
                      Field{"outputs", &ProgramBlock::outputs});
  }
};

// An input of the model that keeps a value from run to run, which begins as zeros: this number, stored.
struct ModelState {
  std::string name;
  std::int32_t zero_point = 0;

  bool operator==(const ModelState&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &ModelState::name}, Field{"zero_point", &ModelState::zero_point});
  }
};

struct Program {
  std::vector<ProgramValue> values;
  std::vector<ProgramBlock> blocks;       // the first is the model; each other belongs to one part of one before it
  std::vector<std::string> output_names;  // of the first block

  bool operator==(const Program&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"values", &Program::values}, Field{"blocks", &Program::blocks},
                      Field{"output_names", &Program::output_names});
  }
};

// How many inputs and outputs a network has.
struct NetworkPorts {
  std::size_t inputs = 0, outputs = 0;
};

// That every index exists, every value is made once and before it is read, every block belongs to one part and is not
// nested too deeply, and numbers of inputs and outputs are what a part's kind and network need. Error (invalid_input):
// the first thing that is not so. A program may be hostile.
Status check_program(const Program& program, const std::vector<NetworkPorts>& networks);

// Of every block and part, the values of its own block that nobody reads after it.
std::vector<std::vector<std::vector<std::int32_t>>> last_uses(const Program& program);

}  // namespace octavo

#endif  // OCTAVO_PLAN_PROGRAM_H_
