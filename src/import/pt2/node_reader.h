// NodeReader: what the reader of one ATen operator sees of an exported program. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_NODE_READER_H_
#define OCTAVO_IMPORT_PT2_NODE_READER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/pt2/program.h"
#include "import/verbs.h"

namespace octavo::pt2_import {

using namespace importing;

// What a view shows of another tensor: `range` of the axis (of step 1), which is gone where `is_index`.
struct Part {
  std::int64_t axis = 0;
  Range range;
  bool is_index = false;
};

// What a name of the program stands for. Names of views share a storage; writing in place makes the others of that
// storage stale, except the tensors that the name shows a part of.
struct Wire {
  ValueId value;  // does not exist: its node could not be read
  int storage = -1;
  int version = 0;
  std::optional<Part> part = std::nullopt;  // of the tensor called `base`
  std::string base = {};
  bool is_left_out = false;  // a second result that Octavo does not compute (indices of a max-pool)
};

// What was made of x where the program chose a scale from its range. `bytes`, one row of x each, are u8; q has the type
// and shape of the program.
struct RunQuantized {
  ValueId x, q, bytes, scale, zero_point;
  DType type = DType::s8;
  bool is_symmetric = false;  // the program's zero point is 0
};

// The graph being built, and what is known of the program's names.
struct Building : GraphBuilder {
  using GraphBuilder::GraphBuilder;
  std::map<std::string, Wire> wires;
  std::vector<int> versions;         // by storage: how often it was written in place
  std::map<std::string, Dim> sizes;  // names that stand for a number
  bool is_quantized = false;
  std::map<int, RunQuantized> run_quantized;  // by index of the scale that the program sees
  std::map<int, double>
      exact_numbers;  // by index of a scalar constant: the number that the program gave, which f32 rounds

  int new_storage() {
    versions.push_back(0);
    return static_cast<int>(versions.size()) - 1;
  }
};

// How a node's result relates to the memory of its first tensor argument; `same`: it is that argument.
enum class Aliasing { fresh, view, same, in_place };
inline constexpr Aliasing kFresh = Aliasing::fresh, kView = Aliasing::view, kSame = Aliasing::same;

class NodeReader : public NodeBuilder {
 public:
  NodeReader(Building& building, const ProgramNode& node, const std::string& origin);

  // "Tensor" of "aten.add.Tensor".
  std::string_view overload() const;

  // ---- arguments, by their names in the operator's schema; each must be asked for or ignored ----
  bool has(std::string_view name) const;  // given and not None
  bool is_tensor(std::string_view name) const { return is<TensorName>(name); }
  bool is_text(std::string_view name) const { return is<std::string>(name); }
  bool is_real(std::string_view name) const { return is<double>(name); }
  bool is_whole(std::string_view name) const { return is<SymInt>(name); }  // an integer, which may be an open extent
  ValueId value(std::string_view name);
  ValueId optional(std::string_view name);
  std::vector<ValueId> values(std::string_view name);
  std::vector<ValueId> optional_values(std::string_view name);  // None does not exist
  // A tensor, or a number as a scalar of the type of `like`.
  ValueId value_or_number(std::string_view name, ValueId like);
  // The data of a tensor that must be known at compile time.
  std::shared_ptr<const Tensor> constant_of(std::string_view name);
  Number integer(std::string_view name);
  Number integer(std::string_view name, std::int64_t fallback);
  // An integer that may be an open extent.
  Dim extent(std::string_view name);
  Dim extent(std::string_view name, const Dim& fallback);
  Numbers integers(std::string_view name, Integers fallback = {});
  // The same with a number per spatial axis; a single one stands for all.
  Numbers per_axis(std::string_view name, int rank, Integers fallback = {});
  double number(std::string_view name, double fallback);
  float real(std::string_view name, float fallback) { return static_cast<float>(number(name, fallback)); }
  std::vector<double> numbers(std::string_view name);
  bool flag(std::string_view name, bool fallback = false);
  std::string text(std::string_view name, std::string fallback);
  DType element_type(std::string_view name, DType fallback);
  void ignore(std::string_view name) { read_.insert(std::string(name)); }

  // ---- results ----
  // The result is this part of the first tensor argument, which is written with it.
  void shows(const Part& part) { part_ = part; }
  // A number instead of a tensor.
  ValueId output_size(const Dim& size);
  // After reading: arguments that nobody took and results that nobody made are errors. Binds the results' names.
  void finish(Aliasing aliasing);

  Building& building() { return building_; }

 private:
  template <class T>
  bool is(std::string_view name) const {
    const auto found = arguments_.find(name);
    return found != arguments_.end() && std::holds_alternative<T>(*found->second);
  }
  // The argument where it is given and of this kind; nullptr, and an error where it is of another.
  template <class T>
  const T* find(std::string_view name, std::string_view kind);
  const Argument* find(std::string_view name);
  void wrong_kind(std::string_view name, std::string_view expected);
  Dim resolve(const SymInt& number, std::string_view name);
  ValueId resolve(const TensorName& tensor, std::string_view name);
  void bind(const std::string& name, ValueId value, Aliasing aliasing);
  void write_bases(Wire& written);
  void check_in_place();

  Building& building_;
  const ProgramNode& node_;
  std::map<std::string, const Argument*, std::less<>> arguments_;
  std::set<std::string, std::less<>> read_;
  std::string first_tensor_;  // the name that views and writes in place refer to
  std::optional<Part> part_;
  bool made_size_ = false;
};

// x with `part` in place of [start, start + its size) of the axis.
ValueId replaced(NodeReader& in, ValueId x, ValueId part, std::int64_t axis, const Dim& start, std::string_view suffix);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_NODE_READER_H_
