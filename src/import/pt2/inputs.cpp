// The inputs of an exported program. Part of import/.
#include "import/pt2/inputs.h"

#include <map>
#include <optional>

#include "import/pt2/types.h"

namespace octavo::pt2_import {
namespace {

std::string print_dims(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims)
    text += (text.empty() ? "" : "x") + (dim.expression.empty() ? std::to_string(dim.value) : dim.expression);
  return text.empty() ? "scalar" : text;
}

class InputReader {
 public:
  InputReader(const Program& program, const std::string& file, const ImportOptions& options, Building& building)
      : program_(program), file_(file), options_(options), building_(building) {}

  void run() {
    for (const ProgramInput& input : program_.inputs) {
      if (input.kind == InputKind::user) read(input.name);
    }
    check_batch();
    for (const auto& [name, shape] : options_.shapes) check_name(name);
    for (const auto& [name, tensor] : options_.bound_inputs) check_name(name);
  }

 private:
  void report(ErrorKind kind, const std::string& where, std::string found, std::string expected,
              std::string hint = {}) {
    building_.errors.push_back({kind, where, std::move(found), std::move(expected), std::move(hint)});
  }

  void read(const std::string& name) {
    const std::string where = file_ + ": input '" + name + "'";
    Wire& wire = building_.wires[name];
    if (wire.storage >= 0) return report(ErrorKind::invalid_input, where, "it twice", "inputs of different names");
    wire.storage = building_.new_storage();
    const auto meta = program_.tensors.find(name);
    if (meta == program_.tensors.end()) return report(ErrorKind::invalid_input, where, "no type and sizes", "both");
    const auto dtype = dtype_of_torch(meta->second.type);
    if (!dtype)
      return report(ErrorKind::unsupported, where, "elements of type " + torch_type_name(meta->second.type),
                    "integers, floats or bool");
    names_ += (names_.empty() ? "'" : ", '") + name + "'";
    if (const auto bound = options_.bound_inputs.find(name); bound != options_.bound_inputs.end()) {
      if (bound->second.dtype() != *dtype)
        return report(ErrorKind::usage, where, "a bound tensor of another type", std::string(name_of(*dtype)));
      wire.value = building_.graph.add_constant(name, bound->second);
      return;
    }
    const auto dims = shape_of(name, meta->second.sizes, where);
    if (!dims) return;
    if (dims->size() > kMaxRank || !checked_elements(*dims)) {
      return report(ErrorKind::invalid_input, where, "shape " + print_dims(meta->second.sizes),
                    "at most 2^33 elements in 64 dimensions");
    }
    wire.value = building_.graph.add_input(name, *dtype, Shape(*dims));
  }

  // The dimensions with numbers for symbols: the user's, or the batch for a first one.
  std::optional<std::vector<std::int64_t>> shape_of(const std::string& name, const std::vector<Dim>& sizes,
                                                    const std::string& where) {
    const auto given = options_.shapes.find(name);
    if (given != options_.shapes.end() && given->second.rank() != static_cast<int>(sizes.size())) {
      report(ErrorKind::usage, where, "the given shape " + given->second.to_string(), "one like " + print_dims(sizes));
      return std::nullopt;
    }
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Dim& dim = sizes[i];
      const bool is_symbol = !dim.expression.empty();
      std::int64_t number = dim.value;
      if (given != options_.shapes.end()) number = given->second[static_cast<int>(i)];
      else if (const auto bound = symbols_.find(dim.expression); is_symbol && bound != symbols_.end())
        number = bound->second;
      else if (is_symbol && i == 0) number = options_.batch;
      else if (is_symbol) {
        report(ErrorKind::usage, where, "shape " + print_dims(sizes), "known dimensions",
               "Give them with --shape " + name + "=..., for example 1x3x224x224");
        return std::nullopt;
      }
      if (!is_symbol && number != dim.value) {
        report(ErrorKind::usage, where, "the given shape " + given->second.to_string(),
               "one like " + print_dims(sizes) + ", which the program is made for",
               "Export the model with dynamic_shapes");
        return std::nullopt;
      }
      if (is_symbol && !bind(dim.expression, number, where)) return std::nullopt;
      dims.push_back(number);
    }
    return dims;
  }

  // One number for a symbol in all inputs, inside the range that the program is made for.
  bool bind(const std::string& symbol, std::int64_t number, const std::string& where) {
    const auto [bound, is_new] = symbols_.emplace(symbol, number);
    if (!is_new && bound->second != number) {
      report(ErrorKind::usage, where, std::to_string(number) + " for the dimension '" + symbol + "'",
             std::to_string(bound->second) + ", as before");
      return false;
    }
    const auto range = program_.ranges.find(symbol);
    if (range == program_.ranges.end()) return true;
    // PyTorch says "at least 2" of every dimension that is not fixed; its programs compute 1 as well.
    constexpr std::int64_t kUsualLowest = 2;
    const auto& [lowest, highest] = range->second;
    if (!(lowest && *lowest > kUsualLowest && number < *lowest) && !(highest && number > *highest)) return true;
    report(ErrorKind::usage, where, std::to_string(number) + " for the dimension '" + symbol + "'",
           std::to_string(lowest.value_or(0)) + " to " + (highest ? std::to_string(*highest) : "any number"));
    return false;
  }

  // A batch that no input takes up would be lost silently.
  void check_batch() {
    std::string fixed;
    for (ValueId id : building_.graph.inputs()) {
      const Value& input = building_.graph.value(id);
      const Shape& shape = input.fact.shape;
      if (options_.shapes.count(input.name) != 0 || (shape.rank() > 0 && shape[0] == options_.batch)) return;
      fixed += (fixed.empty() ? "'" : ", '") + input.name + "' " + shape.to_string();
    }
    if (options_.batch == 1 || fixed.empty()) return;
    report(ErrorKind::usage, file_, "inputs of fixed shape: " + fixed,
           "a batch dimension for the batch of " + std::to_string(options_.batch),
           "Export the model with a dynamic first dimension");
  }

  void check_name(const std::string& name) {
    for (const ProgramInput& input : program_.inputs) {
      if (input.kind == InputKind::user && input.name == name) return;
    }
    report(ErrorKind::usage, file_, "a shape or tensor for '" + name + "', which is no input",
           names_.empty() ? "none" : names_);
  }

  const Program& program_;
  const std::string& file_;
  const ImportOptions& options_;
  Building& building_;
  std::map<std::string, std::int64_t> symbols_;
  std::string names_;
};

}  // namespace

void read_inputs(const Program& program, const std::string& file, const ImportOptions& options, Building& building) {
  InputReader(program, file, options, building).run();
}

}  // namespace octavo::pt2_import
