// OpSpec and Attrs: how an operator is described to everything that is not the operator. Part of graph/.
// The operators themselves are in ops/, one folder each; ops/list.h joins them.
#ifndef OCTAVO_GRAPH_OP_H_
#define OCTAVO_GRAPH_OP_H_

#include <cassert>
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
  Shape shape;
  std::optional<QuantParams> quant;
  std::shared_ptr<const Tensor> constant;  // where known at compile time

  bool is_constant() const { return constant != nullptr; }
  // Same element type and shape: what a Patch must keep.
  bool same_type(const Fact& other) const { return dtype == other.dtype && shape == other.shape; }
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

  std::string to_string() const { return model_->to_string(); }
  // What of them shapes the work: see print_structure.
  std::string structure() const { return model_->structure(); }
  Bytes encoded() const { return model_->encoded(); }
  bool operator==(const Attrs& other) const { return model_->equals(*other.model_); }

 private:
  struct Concept {
    virtual ~Concept() = default;
    virtual const std::type_info& type() const = 0;
    virtual const void* value() const = 0;
    virtual std::string to_string() const = 0;
    virtual std::string structure() const = 0;
    virtual Bytes encoded() const = 0;
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

// One operator, described once. Instances are constexpr objects with static storage; identity is the address.
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

  // The attributes with which it computes slice i along axis 0 of its outputs from slice i of its inputs that are not
  // constant, alone, for every i; nothing where it cannot. Those inputs have equally many slices; constants are read
  // whole. Null: never.
  std::optional<Attrs> (*for_one_image)(const Attrs&, InputFacts) = nullptr;

  // Attributes from bytes that may be hostile; nothing where they are not valid.
  std::optional<Attrs> (*decode_attrs)(std::span<const std::byte>) = nullptr;
};

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
