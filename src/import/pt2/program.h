// An exported program as its file describes it: the JSON of torch.export as plain structs. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_PROGRAM_H_
#define OCTAVO_IMPORT_PT2_PROGRAM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "import/pt2/json.h"

namespace octavo::pt2_import {

inline constexpr std::int64_t kSchemaMajor = 8;

// A number, or the name of one that is known at run time only (sizes, mostly).
struct SymInt {
  std::int64_t value = 0;
  std::string name;  // empty: `value` it is
};

// A dimension: a number or an expression over symbols.
struct ProgramDim {
  std::int64_t value = 0;
  std::string expression;  // empty: `value` it is; "s77" where it is a symbol alone
};

struct TensorMeta {
  std::int64_t type = 0;  // PyTorch's number
  std::vector<ProgramDim> sizes, strides;
  ProgramDim offset;
};

// The argument of an operator.
struct NoArgument {};
struct TensorName {
  std::string name;
};
using TensorNames = std::vector<std::optional<TensorName>>;  // nothing where a list has None
struct TypeNumber {
  std::int64_t type = 0;
};
struct OtherArgument {  // of a kind that no operator of ours takes: devices, layouts, graphs, ...
  std::string kind;
};
using Argument = std::variant<NoArgument, TensorName, TensorNames, SymInt, std::vector<SymInt>, double,
                              std::vector<double>, bool, std::vector<bool>, std::string, TypeNumber, OtherArgument>;

struct NamedArgument {
  std::string name;
  Argument value;
};

struct ProgramNode {
  std::string name;
  std::string target;       // "aten.conv2d.default", "_operator.mul"
  std::string source_line;  // "net.py:12", the innermost line of the user's program; empty where unknown
  std::vector<NamedArgument> inputs;
  std::vector<std::string> outputs;  // names of tensors or sizes, in order; empty where one is None
};

enum class InputKind { user, parameter, buffer, constant };

struct ProgramInput {
  InputKind kind = InputKind::user;
  std::string name;    // in the graph
  std::string source;  // of a parameter, buffer or constant: its name among the weights
};

struct SymbolRange {
  std::optional<std::int64_t> lowest, highest;
};

struct Program {
  std::vector<ProgramInput> inputs;
  std::vector<std::string> outputs;  // names of tensors; of those that the user's function returns
  std::vector<ProgramNode> nodes;
  std::map<std::string, TensorMeta> tensors;  // by name
  std::map<std::string, SymbolRange> ranges;  // by symbol
  std::string torch_version;
};

// `file` names the archive, `entry` the document in it. Errors: everything that is not as it should be.
Result<Program> read_program(const Json& document, const std::string& where);

// The meta of one tensor.
TensorMeta read_tensor_meta(const JsonPlace& place);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_PROGRAM_H_
