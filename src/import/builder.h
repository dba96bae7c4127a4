// The graph that an importer builds, and the builder of one operator's part of it: what all formats share. A format
// only finds an operator's arguments in its file; the verbs (verbs.h) know their defaults, check them and add the
// nodes. Part of import/.
#ifndef OCTAVO_IMPORT_BUILDER_H_
#define OCTAVO_IMPORT_BUILDER_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "import/import.h"
#include "import/program_builder.h"
#include "ops/binary/binary.h"
#include "ops/unary/unary.h"

namespace octavo::importing {

using Integers = std::vector<std::int64_t>;
using Extents = std::vector<Dim>;

inline constexpr int kMaxRank = 64;              // far above any network; keeps the work per tensor bounded
inline constexpr int kAnyNumber = 1 << 30;       // of inputs or outputs
inline constexpr std::size_t kErrorLimit = 100;  // of one file: a hostile one may have millions
inline constexpr float kUnbounded = std::numeric_limits<float>::infinity();

// "f32 1x3", for messages.
inline std::string type_text(DType dtype, const OpenShape& shape) {
  return std::string(name_of(dtype)) + " " + shape.to_string();
}
inline std::string type_text(const Fact& fact) { return type_text(fact.dtype, fact.shape); }

// A number, or a list of numbers or open extents, and where it stands in the file ("attribute 'axis'"), for messages.
// Code that knows better than the file gives no place.
struct Number {
  Number(std::int64_t given = 0, std::string where = {}) : value(given), place(std::move(where)) {}
  operator std::int64_t() const { return value; }
  std::int64_t value;
  std::string place;
};
struct Numbers {
  Numbers() = default;
  Numbers(Extents given, std::string where = {}) : values(std::move(given)), place(std::move(where)) {}
  Numbers(const Integers& given, std::string where = {})
      : values(given.begin(), given.end()), place(std::move(where)) {}
  // Open extents as Dim::fixed.
  operator Integers() const { return fixed(values); }
  std::size_t size() const { return values.size(); }
  bool empty() const { return values.empty(); }
  const Dim& operator[](std::size_t i) const { return values[i]; }
  auto begin() const { return values.begin(); }
  auto end() const { return values.end(); }
  Extents values;
  std::string place;
};

// A dimension that a file declares: a size, or a symbol that stands for one ("N", "?").
struct DeclaredDim {
  std::int64_t size = 0;
  std::string symbol;                           // empty: `size` it is
  std::optional<std::int64_t> lowest, highest;  // of a symbol
  bool is_assumed = false;                      // the file says `size`, which may be meant as any batch
};
struct DeclaredInput {
  std::string name;
  DType dtype = DType::f32;
  std::optional<std::vector<DeclaredDim>> dims;  // none: not even the rank is known
};

// The graph of one file while it grows, and all that is wrong with the file.
class GraphBuilder {
 public:
  // Both must outlive it. `file_name` names the file in messages.
  GraphBuilder(const std::string& file_name, const ImportOptions& given) : file(file_name), options(given) {}

  // ---- inputs and outputs, in the file's order ----
  // A graph input, its open dimensions resolved: the first is the batch, others come from the options. A constant where
  // the options bind it. Nothing and an error where its shape stays open or cannot be.
  ValueId add_input(const DeclaredInput& input);
  // After the last input: a batch that none of them takes up, and names in the options that none of them has, are
  // errors. `hint` says how the batch would become open.
  void check_inputs(std::string hint);
  // A value that no node makes, or that is an output already, gets a node of its own.
  void add_output(ValueId value, const std::string& name);
  // A value with a node of its own that has the same elements.
  ValueId copied(ValueId value, const std::string& name);
  // The graph is empty again, and what is known of its values is forgotten.
  void begin_graph();
  // The graph gets a table of open sizes.
  void add_sizes(SizesOf of);
  // Constant folding may make this many elements for a file that stores `elements`.
  void allow_folding(std::int64_t elements) { fold_budget = (std::int64_t{1} << 25) + 8 * elements; }

  // The name, or another one where a node of the graph has it: scales and what is told of layers go by names.
  std::string unique_name(const std::string& name);

  // ---- errors ----
  // `place` is inside the file: "input 'x'"; empty: the file itself.
  void report(ErrorKind kind, const std::string& place, std::string found, std::string expected, std::string hint = {});
  void report(const Errors& errors);
  bool is_full() const { return errors.size() >= kErrorLimit; }
  // One error per type of operator that has no reader, naming its operators. `noun`: "node".
  void report_unread(const std::map<std::string, std::vector<std::string>>& by_type, const std::string& noun,
                     const std::string& expected, const std::string& hint = {});

  // " u8", the type of most quantized activations; empty where there are none.
  std::string activation_type() const;
  Result<ImportedModel> finish(std::string dialect, bool is_quantized, int source_nodes);
  // Of a program.
  Result<ImportedModel> finish(Result<ImportedProgram> program, std::string dialect, bool is_quantized,
                               int source_nodes);

  const std::string& file;
  const ImportOptions& options;
  Graph graph;
  Errors errors;
  std::int64_t fold_budget = 0;           // elements that constant folding may still make
  std::map<DType, int> activation_types;  // of quantized activations, and how many have it

  // ---- what a format asks for ----
  Profile profile = Profile::onnx;  // of its quantize nodes
  bool widens_halves = false;       // operators on f16 and bf16 compute in f32 and round; between two, f32 is passed on
  bool folds_integer_casts = true;  // false: a cast of 8-bit constants stays visible
  bool fixes_sizes = false;         // shapes that are given must agree with the file's sizes, and symbols with another
  int loops = 0;                    // that what is read now stands in
  std::string scope;                // before an operator in messages: "subgraph 0, "

  std::vector<ModelState> states;  // inputs that the engine of the file begins itself

  Dim batch = 1;  // the first dimension of the last input that leaves it open

  std::map<int, ValueId> wide;            // by index of an f16 or bf16 value: the f32 value that it is rounded from
  std::map<int, ComputedShape> computed;  // by index of a value: who reads it leaves the graph before

 private:
  std::optional<OpenShape> shape_of(const DeclaredInput& input, const std::string& place);
  std::optional<Dim> dim_of(const DeclaredInput& input, std::size_t axis, const Extent* given,
                            const std::string& place);
  std::optional<Dim> open_size(const DeclaredInput& input, std::size_t axis, const Extent* given,
                               const std::string& place);
  bool agrees(const DeclaredDim& dim, std::int64_t size, const std::string& place);

  std::string input_names_;  // "'x', 'y'"
  std::set<std::string> known_inputs_;
  std::map<std::string, std::int64_t> symbols_;
  std::set<std::string> node_names_;  // of the graph that is being built
  std::map<std::string, Dim> open_;   // by symbol
  std::set<int> output_values_;       // by index
};

// Builds what one operator of the file means. Errors are sticky: what fails records the error with its place and gives
// a harmless value, and from then on nothing is built; a reader looks at failed() before it takes a shape apart.
class NodeBuilder {
 public:
  // `origin` names the operator: "node 'conv1' (Conv, opset 17)"; `name` its nodes.
  NodeBuilder(GraphBuilder& built, std::string name, std::string origin);

  // ---- facts; harmless ones of a value that does not exist ----
  const Fact& fact(ValueId id) const;
  const OpenShape& shape(ValueId id) const { return fact(id).shape; }
  int rank(ValueId id) const { return fact(id).shape.rank(); }
  DType dtype(ValueId id) const { return fact(id).dtype; }
  bool is_constant(ValueId id) const { return fact(id).is_constant(); }
  // What a value is called in messages: "input 'x'".
  ValueId placed(ValueId value, std::string place);
  std::string place_of(ValueId value) const;

  // ---- building: a value that does not exist where something failed before ----
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix = {});
  // Without widening, any number of outputs.
  std::vector<ValueId> add_exactly(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs,
                                   std::string_view suffix = {});
  ValueId constant(Tensor tensor, std::string_view suffix);
  // A list of extents, in s64.
  ValueId extents(const Extents& extents, std::string_view suffix);
  ValueId scalar_like(ValueId value, double number, std::string_view suffix);  // a constant of the type of `value`
  ValueId unary(const UnaryAttrs& attrs, ValueId x, std::string_view suffix = {});
  ValueId binary(BinaryKind kind, ValueId a, ValueId b, std::string_view suffix = {});
  // The value itself where it is so already.
  ValueId cast(ValueId value, DType to, std::string_view suffix = {});
  ValueId reshape(ValueId value, Extents dims, std::string_view suffix = {});
  // An f32 value in type `to`; operators that compute in f32 go on with the value before rounding.
  ValueId rounded(ValueId value, DType to, std::string_view suffix = {});

  // ---- errors: give no value, so that a reader can return them ----
  bool failed() const { return has_failed_; }
  ValueId fail(std::string_view what, std::string found, std::string expected);
  ValueId unsupported(std::string_view what, std::string found, std::string expected);
  // An axis in [-rank, rank), normalised; 0 and an error where it is not.
  std::int64_t axis(const Number& axis, int rank);
  // Distinct axes, normalised, in the file's order.
  Integers axes(const Numbers& axes, int rank);
  void require_rank(ValueId value, int lowest, int highest);
  // The data of a value that must be known at compile time; nullptr and an error where it is not. `name` is the file's
  // for the value.
  // Open extents as Dim::fixed: who takes them as they are asks for extents_of.
  std::shared_ptr<const Tensor> data_of(ValueId value, const std::string& name);
  std::shared_ptr<const Tensor> list_of(ValueId value, const std::string& name, bool (*is_type)(DType),
                                        std::string_view types);
  // The elements of an integer list that is known at compile time.
  Extents extents_of(ValueId value, const std::string& name);

  // The value whose elements are the first of `value`, which has room for the most that there can be; `extents` is its
  // shape, `axes` those whose extents are not known before.
  ValueId with_shape(ValueId value, ValueId extents, std::vector<int> axes);

  // ---- results ----
  int output_count() const { return static_cast<int>(outputs_.size()); }
  void output(int index, ValueId value) {
    if (index < output_count() && value.exists()) outputs_[static_cast<std::size_t>(index)] = value;
  }

  GraphBuilder& built() { return built_; }
  const std::string& name() const { return name_; }

 protected:
  void record(ErrorKind kind, std::string_view what, std::string found, std::string expected);
  // The name of the file goes on what this operator made, not on a value that it only passes on.
  void name_result(ValueId made, const std::string& name);
  bool is_own(ValueId value) const { return value.index >= first_value_; }

  std::vector<ValueId> outputs_;
  bool has_failed_ = false;

 private:
  ValueId widened(ValueId value);
  std::string called(std::string_view suffix) const {
    return suffix.empty() ? name_ : name_ + "." + std::string(suffix);
  }

  GraphBuilder& built_;
  int first_value_;  // values from here on were made by this operator
  std::string name_, origin_;
  std::vector<std::pair<ValueId, std::string>> places_;
};

// Quoted for messages: "attribute 'axis'".
inline std::string quoted(std::string_view noun, std::string_view name) {
  return std::string(noun) + " '" + std::string(name) + "'";
}

}  // namespace octavo::importing

#endif  // OCTAVO_IMPORT_BUILDER_H_
