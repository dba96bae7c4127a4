// NodeReader: what the reader of one ATen operator sees of the program, and how it builds its part of the graph. Part
// of import/.
#ifndef OCTAVO_IMPORT_PT2_NODE_READER_H_
#define OCTAVO_IMPORT_PT2_NODE_READER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "import/pt2/program.h"

namespace octavo::pt2_import {

inline constexpr int kMaxRank = 64;

// What a name of the program stands for. Names of views share a storage; writing in place makes the others of that
// storage stale.
struct Wire {
  ValueId value;  // does not exist: its node could not be read
  int storage = -1;
  int version = 0;
  bool is_left_out = false;  // a second result that Octavo does not compute (indices of a max-pool)
};

// The graph being built, and what is known of the program's names.
struct Building {
  Graph graph;
  Errors errors;
  std::map<std::string, Wire> wires;
  std::vector<int> versions;                  // by storage: how often it was written in place
  std::map<std::string, std::int64_t> sizes;  // names that stand for a number
  std::int64_t fold_budget = 0;               // elements that constant folding may still make
  std::map<DType, int> activation_types;      // of quantized activations, and how many have it
  bool is_quantized = false;
  std::map<int, double>
      exact_numbers;  // by index of a scalar constant: the number that the program gave, which f32 rounds

  int new_storage() {
    versions.push_back(0);
    return static_cast<int>(versions.size()) - 1;
  }
};

// How a node's result relates to the memory of its first tensor argument.
enum class Aliasing { fresh, view, in_place };

// Errors are sticky: an accessor that fails records the error and gives a harmless value, and from then on nothing is
// built.
class NodeReader {
 public:
  // `where` names file and node in messages, `origin` the node in the graph.
  NodeReader(Building& building, const ProgramNode& node, std::string origin, std::string where);

  const std::string& target() const { return node_.target; }

  // ---- arguments, by their names in the operator's schema; each must be asked for or ignored ----
  bool has(std::string_view name) const;  // given and not None
  bool is_tensor(std::string_view name) const;
  ValueId value(std::string_view name);
  ValueId optional(std::string_view name);
  std::vector<ValueId> values(std::string_view name);
  // A tensor, or a number as a scalar of the type of `like`.
  ValueId value_or_number(std::string_view name, ValueId like);
  std::int64_t integer(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> fallback = {});
  double number(std::string_view name, double fallback);
  std::vector<double> numbers(std::string_view name);
  bool flag(std::string_view name, bool fallback);
  std::string text(std::string_view name, std::string fallback);
  DType element_type(std::string_view name, DType fallback);
  void ignore(std::string_view name) { read_.insert(std::string(name)); }

  // ---- facts ----
  const Fact& fact(ValueId id) const;
  const Shape& shape(ValueId id) const { return fact(id).shape; }
  int rank(ValueId id) const { return fact(id).shape.rank(); }
  DType dtype(ValueId id) const { return fact(id).dtype; }

  // ---- results ----
  std::size_t output_count() const { return node_.outputs.size(); }
  void output(std::size_t index, ValueId value);
  void output_size(std::int64_t size);

  // ---- building: a value that does not exist where something failed before ----
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix = {});
  ValueId add_constant(Tensor tensor, std::string_view suffix);
  ValueId scalar_like(ValueId value, double number, std::string_view suffix);
  ValueId cast(ValueId value, DType to, std::string_view suffix);
  ValueId reshape(ValueId value, std::vector<std::int64_t> dims, std::string_view suffix = {});
  ValueId transpose(ValueId value, std::vector<std::int64_t> perm, std::string_view suffix = {});

  // ---- errors ----
  bool failed() const { return has_failed_; }
  void fail(std::string_view what, std::string found, std::string expected);
  void unsupported(std::string_view what, std::string found, std::string expected);
  // An axis in [-rank, rank), normalised; 0 and an error where it is not.
  std::int64_t axis(std::string_view what, std::int64_t axis, int rank);
  // Distinct axes, normalised, sorted.
  std::vector<std::int64_t> axes(std::string_view what, const std::vector<std::int64_t>& axes, int rank);
  void require_rank(std::string_view what, ValueId value, int lowest, int highest);
  // After reading: arguments that nobody took and results that nobody made are errors. Binds the results' names.
  void finish(Aliasing aliasing);

  Building& building() { return building_; }

 private:
  const Argument* find(std::string_view name);
  const Argument* require(std::string_view name);
  void wrong_kind(std::string_view name, std::string_view expected);
  std::int64_t resolve(const SymInt& number, std::string_view name);
  ValueId resolve(const TensorName& tensor, std::string_view name);
  void record(ErrorKind kind, std::string_view what, std::string found, std::string expected);
  ValueId folded(const OpSpec& spec, const Attrs& attrs, const std::vector<ValueId>& inputs, const std::string& name);
  void bind(const std::string& name, ValueId value, Aliasing aliasing);

  Building& building_;
  const ProgramNode& node_;
  std::string origin_, where_;
  std::map<std::string, const Argument*, std::less<>> arguments_;
  std::set<std::string, std::less<>> read_;
  std::vector<ValueId> outputs_;
  std::string first_tensor_;  // the name that views and writes in place refer to
  bool made_size_ = false;
  bool has_failed_ = false;
  int first_value_;
};

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_NODE_READER_H_
