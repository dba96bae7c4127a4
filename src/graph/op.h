// OpSpec and Attrs: how an operator is described to everything that is not the operator. Part of graph/.
// The operators themselves are in ops/, one folder each; ops/list.h joins them.
#ifndef OCTAVO_GRAPH_OP_H_
#define OCTAVO_GRAPH_OP_H_

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/tensor.h"

namespace octavo {

// Scale and zero point that a wire of an integer type carries; for printing, dumps and comparisons.
// One entry each, or one per index of `axis`.
struct QuantParams {
  std::vector<float> scale;
  std::vector<std::int32_t> zero_point;
  int axis = -1;  // -1: per tensor
  bool operator==(const QuantParams&) const = default;
};

// What is known of a value.
struct Fact {
  DType dtype = DType::f32;
  OpenShape shape;
  std::optional<QuantParams> quant;
  std::shared_ptr<const Tensor> constant;  // where known at compile time
  // Of a constant whose elements are open extents, or sums and products of them: one for each. `constant` has the
  // examples.
  std::shared_ptr<const std::vector<Dim>> extents;

  bool is_constant() const { return constant != nullptr; }
  // Same element type and shape, whatever the sizes.
  bool same_type(const Fact& other) const { return dtype == other.dtype && is_same(shape, other.shape); }
};

// The attributes of a node: one plain struct with fields(), held by value behind a small erased type.
class Attrs {
 public:
  // Instantiated where the operator is defined (graph/attrs_of.h): once, not wherever a node is made.
  template <HasFields T>
  Attrs(T value);

  template <HasFields T>
  const T& as() const {
    assert(model_->type() == typeid(T));
    return *static_cast<const T*>(model_->value());
  }
  template <HasFields T>
  bool is() const {
    return model_->type() == typeid(T);
  }
  // The struct where it is one of that type, else nullptr. Each operator with attributes has a type of its own.
  template <HasFields T>
  const T* get_if() const {
    return is<T>() ? &as<T>() : nullptr;
  }

  std::string to_string() const { return model_->to_string(); }
  // What of them shapes the work: see print_structure.
  std::string structure() const { return model_->structure(); }
  Bytes encoded() const { return model_->encoded(); }
  // With what stands for each open extent among `dims`: numbers (Sizes::evaluate), or expressions of another table.
  Attrs with_extents(std::span<const Dim> dims) const { return model_->with_extents(dims); }
  bool operator==(const Attrs& other) const { return model_->equals(*other.model_); }

 private:
  struct Concept {
    virtual ~Concept() = default;
    virtual const std::type_info& type() const = 0;
    virtual const void* value() const = 0;
    virtual std::string to_string() const = 0;
    virtual std::string structure() const = 0;
    virtual Bytes encoded() const = 0;
    virtual Attrs with_extents(std::span<const Dim> dims) const = 0;
    virtual bool equals(const Concept& other) const = 0;
  };
  template <class T>
  struct Holder;
  std::shared_ptr<const Concept> model_;
};

// For operators without attributes.
struct NoAttrs {
  bool operator==(const NoAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(); }
};

// An input that is left out has no fact.
using InputFacts = std::span<const Fact* const>;
// For the reference: a view without data stands for an input that is left out.
using InputViews = std::span<const ConstTensorView>;
using OutputViews = std::span<const TensorView>;

// ---- traits: what passes ask of an operator, instead of knowing operators by name ----

// Where the elements of the results come from. What may change places with a change of representation follows from it.
enum class Elements : std::uint8_t {
  computed,   // new values
  converted,  // the same numbers, between integers and floats
  moved,      // each is one of the first input's, by its position alone
  joined,     // each is one of some input's, by its position alone
  padded,     // moved, or the only element of the second input (0 where that is left out)
  selected,   // each is one of the first input's, by their order: commutes with increasing functions
  ranked,     // positions, which depend on the order of the first input's elements
};

// Axis i of a value is axis axes[i] of what is stored.
using Axes = std::vector<std::int64_t>;

// An operator on inputs whose axes are stored in another order.
struct Reordered {
  Attrs attrs;
  Axes axes;  // in which the results are then stored
};

// What a node can do in an 8-bit network.
enum class Role : std::uint8_t {
  product,    // convolution or matrix product: 8-bit in, 8-bit or f32 out
  kernel,     // sum, gate, mean: 8-bit in and out
  pointwise,  // f(x) of one value: a table where its result is wanted in 8 bits
  moving,     // copies elements: the type and scale of its input pass through
  floating,   // computes in f32
};
struct NodeRole {
  Role role = Role::floating;
  std::string reason;  // why floating; empty where the node has nothing to do with f32 activations
};

// Of an operator that ends in an epilogue (ops/epilogue.h): its place in the attributes, and the first input that is an
// operand of it.
struct Epilogue;
struct EpilogueTrait {
  const Epilogue& (*of)(const Attrs&);
  Attrs (*with)(const Attrs&, const Epilogue&);
  std::size_t operands;
};

// One operator, described once. Instances have static storage; identity is the address. A trait that is left out says
// the weaker thing: passes then leave the operator alone.
struct OpSpec {
  std::string_view name;
  std::string_view summary;  // one line for docs/operators.md: the meaning, as a formula where it is arithmetic
  std::vector<std::string_view>
      inputs;  // "x", "bias?" may be left out (trailing or as an empty input), "xs*" any number (last only)
  int outputs = 1;

  // Facts in -> facts out (dtype and shape; `quant` where the op knows it), or what disagrees.
  // Must itself reject every attribute and shape that `reference` could not handle: files may be hostile.
  // Error::where is filled in by the caller when left empty.
  Result<std::vector<Fact>> (*infer)(const Attrs&, InputFacts) = nullptr;

  // The meaning: scalar, obvious, normative. Outputs are allocated by the caller with the inferred facts.
  // Called only with facts that infer accepted.
  void (*reference)(const Attrs&, InputViews, OutputViews) = nullptr;

  // Attributes from bytes that may be hostile; nothing where they are not valid.
  std::optional<Attrs> (*decode_attrs)(std::span<const std::byte>) = nullptr;

  // The traits below are asked with attributes and facts that infer accepted.

  // The attributes with which it computes slice i along axis 0 of its outputs from slice i of its inputs that are not
  // constant, alone, for every i; nothing where it cannot. Those inputs have equally many slices; constants are read
  // whole. Null: never.
  std::optional<Attrs> (*for_one_image)(const Attrs&, InputFacts) = nullptr;

  // Null: computed. Ask by elements_of.
  Elements (*elements)(const Attrs&) = nullptr;

  // How many of its first inputs y[i] is a function of, element by element (one, or with broadcasting), the others
  // being constants that belong to the function; 0 where it is none with these facts. Null: never.
  int (*pointwise)(const Attrs&, InputFacts) = nullptr;

  // Computes with integers; floats are only what it may begin with or end in.
  bool is_integer = false;

  // Null: it has no epilogue.
  const EpilogueTrait* epilogue = nullptr;

  // The attributes, all but an epilogue, for the same numbers where s8 inputs (one entry each says which) and s8
  // results are stored as u8 with 128 added. Null: they stay as they are where it has an epilogue or moves elements;
  // other operators have no such form.
  Attrs (*relabelled)(const Attrs&, const std::vector<bool>& is_relabelled) = nullptr;

  // The result's bytes are those of the first input, under another shape.
  bool is_view = false;

  // The importer replaces it by its result where all inputs are constant: its work is in proportion to its elements.
  // Not dequantization: the integers must stay visible.
  bool folds_at_import = false;

  // Whether the result equals the first input, given that type and shape agree. Null: never.
  bool (*is_identity)(const Attrs&, InputFacts) = nullptr;

  // Products of which each element of the first result is a sum. Null: none. Ask by macs_of.
  std::int64_t (*depth)(const Attrs&, InputFacts) = nullptr;

  // Operators on images ([N, C, spatial], 1 or 2 spatial axes becoming 2): the attributes with channels last; nothing
  // where they are already. The first `images` inputs (image, weights) have their channels on axis 1.
  std::optional<Attrs> (*channels_last)(const Attrs&) = nullptr;
  int images = 1;

  // The operator where its inputs are stored in the order `axes`: the first one; all where elements are joined; all,
  // aligned at the last axis, where it is pointwise in several. Other inputs stay in the file's order. Nothing where it
  // needs the file's order itself. Null: it always does.
  std::optional<Reordered> (*reordered)(const Attrs&, InputFacts, const Axes& axes) = nullptr;

  // What it does in an 8-bit network, for f32 in and out; asked before pairs are placed. Null: floating.
  NodeRole (*role)(const Attrs&, InputFacts) = nullptr;

  // The axis of input 1 that counts output channels, of f32 operators whose weights are quantized; -1: no others.
  int weight_axis = -1;

  // For docs/operators.md: the operators of files that become it, alone or with others ("ONNX Conv, QLinearConv; TFLite
  // CONV_2D"); empty where lower/ makes it.
  std::string_view read_from;
  // For docs/operators.md: what lower/ makes of it in an 8-bit network, in words; empty where that is nothing, or where
  // it works on integers itself.
  std::string_view integer_form;
};

inline Elements elements_of(const OpSpec& spec, const Attrs& attrs) {
  return spec.elements == nullptr ? Elements::computed : spec.elements(attrs);
}

// Multiply-accumulates of one call, 0 where it is no sum of products. Saturates.
std::int64_t macs_of(const OpSpec& spec, const Attrs& attrs, InputFacts inputs, const OpenShape& result);

// Checks the number and presence of inputs against spec.inputs, then infers. Errors carry the op's name.
Result<std::vector<Fact>> infer_checked(const OpSpec& spec, const Attrs& attrs, InputFacts inputs);

// An error of infer: found/expected, kind invalid_input.
inline Error shape_error(std::string what, std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input,
          .where = std::move(what),
          .found = std::move(found),
          .expected = std::move(expected)};
}

}  // namespace octavo

#endif  // OCTAVO_GRAPH_OP_H_
