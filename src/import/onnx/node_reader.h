// NodeReader: what the reader of one operator sees of the file, and how it builds its part of the graph. Part of
// import/.
#ifndef OCTAVO_IMPORT_ONNX_NODE_READER_H_
#define OCTAVO_IMPORT_ONNX_NODE_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "import/onnx/attributes.h"

namespace octavo::onnx_import {

// Far above any network; keeps the work per tensor bounded.
inline constexpr int kMaxRank = 64;

// The graph being built, and what is known of the file's names.
struct Building {
  Graph graph;
  Errors errors;
  std::string folder;                     // of external data
  std::map<std::string, ValueId> values;  // by the file's name; an id that does not exist: its node could not be read
  std::map<int, ValueId> wide;            // by index of an f16 or bf16 value: the f32 value that it is rounded from
  std::int64_t fold_budget = 0;           // elements that constant folding may still make
  std::map<DType, int> activation_types;  // of quantized activations, and how many have it
};

// Errors are sticky: an accessor that fails records the error and gives a harmless value, and from then on nothing is
// built. A reader looks at failed() before it takes a shape or an attribute apart.
class NodeReader {
 public:
  NodeReader(Building& building, const onnx::NodeProto& node, int opset, std::string name, std::string origin,
             std::string where);

  const std::string& op() const;
  int opset() const { return opset_; }
  bool is_microsoft() const;

  // ---- inputs, by position ----
  int input_count() const { return input_count_; }  // empty ones at the end do not count
  bool has(int index) const;
  ValueId value(int index);     // must be there
  ValueId optional(int index);  // does not exist where left out
  const Fact& fact(ValueId id) const;
  const Shape& shape(ValueId id) const { return fact(id).shape; }
  int rank(ValueId id) const { return fact(id).shape.rank(); }
  DType dtype(ValueId id) const { return fact(id).dtype; }
  // The data of an input that must be known at compile time; nullptr and an error where it is not.
  std::shared_ptr<const Tensor> constant(int index, std::string_view name);
  std::vector<std::int64_t> constant_integers(int index, std::string_view name);
  std::vector<float> constant_floats(int index, std::string_view name);

  // ---- attributes ----
  AttributeReader attributes;

  // ---- outputs ----
  int output_count() const;
  bool wants(int index) const;
  void output(int index, ValueId value);

  // ---- building: a value that does not exist where something failed before ----
  // Inputs of f16 and bf16 are computed in f32 and the result is rounded; between two such nodes the f32 value is
  // passed on.
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix = {});
  // Without widening, any number of outputs.
  std::vector<ValueId> add_exactly(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs,
                                   std::string_view suffix = {});
  ValueId add_constant(Tensor tensor, std::string_view suffix);
  ValueId scalar_like(ValueId value, double number,
                      std::string_view suffix);  // a scalar constant of the type of `value`
  ValueId cast(ValueId value, DType to, std::string_view suffix);
  // An f32 value in type `to`; where that is f16 or bf16, readers that compute in f32 go on with the value before
  // rounding.
  ValueId rounded(ValueId value, DType to, std::string_view suffix = {});
  ValueId reshape(ValueId value, std::vector<std::int64_t> dims, std::string_view suffix);
  ValueId transpose(ValueId value, std::vector<std::int64_t> perm, std::string_view suffix);

  // ---- errors ----
  bool failed() const { return has_failed_ || !attributes.errors().empty(); }
  void fail(std::string_view what, std::string found, std::string expected);
  void unsupported(std::string_view what, std::string found, std::string expected);
  // An axis in [-rank, rank), normalised; 0 and an error where it is not.
  std::int64_t axis(std::string_view what, std::int64_t axis, int rank);
  // Distinct axes, normalised, in the file's order.
  std::vector<std::int64_t> axes(std::string_view what, const std::vector<std::int64_t>& axes, int rank);
  void require_rank(std::string_view what, ValueId value, int lowest, int highest);
  // After reading: attributes and outputs that nobody took are errors. Moves all errors to the Building. True where
  // there were none.
  bool finish();

  Building& building() { return building_; }
  const std::string& folder() const { return building_.folder; }

 private:
  void record(ErrorKind kind, std::string_view what, std::string found, std::string expected);
  ValueId widened(ValueId value);

  Building& building_;
  const onnx::NodeProto& node_;
  int opset_;
  int input_count_;
  int first_value_;  // values from here on were made by this node
  std::string name_, origin_, where_;
  std::vector<ValueId> outputs_;
  Errors errors_;
  bool has_failed_ = false;
};

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_NODE_READER_H_
