// OnnxEdit: an ONNX graph while repairs change it: who writes and who reads each tensor, constants, new nodes. Part of
// diagnose/.
#ifndef OCTAVO_DIAGNOSE_REPAIR_ONNX_EDIT_H_
#define OCTAVO_DIAGNOSE_REPAIR_ONNX_EDIT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/tensor.h"
#include "import/onnx/proto.h"

namespace octavo::repair {

// The per-tensor or per-channel numbers of a QuantizeLinear or DequantizeLinear node, where they are constant.
struct Scales {
  std::vector<float> scale;
  Tensor zero_point;  // with its type
  std::int64_t axis = 1;
  bool is_per_tensor() const { return scale.size() == 1; }
  std::int64_t zero() const { return static_cast<std::int64_t>(element_as_double(zero_point.view(), 0)); }
};

class OnnxEdit {
 public:
  // No tensor has its data in another file.
  explicit OnnxEdit(onnx::ModelProto model);
  OnnxEdit(const OnnxEdit&) = delete;
  OnnxEdit& operator=(const OnnxEdit&) = delete;

  // Those that are left, in the order of the file, new ones last. Stay where they are until finish().
  std::vector<onnx::NodeProto*> nodes() const;
  std::vector<onnx::NodeProto*> nodes(std::string_view op) const;
  // nullptr: an input of the graph or a constant.
  onnx::NodeProto* writer(const std::string& tensor) const;
  // The one of this operator that writes it, else nullptr.
  onnx::NodeProto* writer(const std::string& tensor, std::string_view op) const;
  // A node for each of its inputs.
  std::vector<onnx::NodeProto*> readers(const std::string& tensor) const;
  // The only reader of a tensor that nobody outside sees, else nullptr.
  onnx::NodeProto* only_reader(const std::string& tensor) const;
  // Read by the outside: a graph's output, or something inside branches and loops.
  bool is_pinned(const std::string& tensor) const { return pinned_.contains(tensor); }
  bool is_input(const std::string& tensor) const { return inputs_.contains(tensor); }
  std::int64_t opset() const { return opset_; }

  // The value of an initializer or a Constant node.
  std::optional<Tensor> constant(const std::string& tensor) const;
  // A new initializer.
  std::string add_constant(const std::string& stem, const Tensor& value);

  onnx::NodeProto& add_node(std::string_view op, const std::vector<std::string>& inputs, const std::string& output);
  void remove(onnx::NodeProto& node);
  void set_input(onnx::NodeProto& node, int index, const std::string& tensor);
  void set_output(onnx::NodeProto& node, int index, const std::string& tensor);
  // Whoever reads `from` reads `to` instead.
  void redirect(const std::string& from, const std::string& to);
  // A tensor name that nothing has yet.
  std::string fresh(const std::string& stem);

  // Where all of them are constants.
  std::optional<Scales> scales_of(const onnx::NodeProto& pair_node) const;
  std::optional<Scales> scales_of(const std::string& scale, const std::string& zero_point, std::int64_t axis) const;

  // The model, its nodes in an order in which they can run, without what nothing reads any more.
  onnx::ModelProto finish();

 private:
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  void enlist(onnx::NodeProto& node);
  void drop_unread();
  void sort();

  onnx::ModelProto model_;
  std::int64_t opset_ = 0;
  std::set<const onnx::NodeProto*> removed_;
  std::unordered_map<std::string, onnx::NodeProto*> writers_;
  std::unordered_map<std::string, std::vector<onnx::NodeProto*>> readers_;
  std::unordered_map<std::string, const onnx::TensorProto*> constants_;
  std::set<std::string> pinned_, inputs_, names_;
};

const onnx::AttributeProto* attribute(const onnx::NodeProto& node, std::string_view name);
std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t otherwise);
void set_integer(onnx::NodeProto& node, const std::string& name, std::int64_t value);
void copy_attribute(const onnx::NodeProto& from, onnx::NodeProto& to, std::string_view name);
// The input, "" where it is left out.
const std::string& input_of(const onnx::NodeProto& node, int index);

}  // namespace octavo::repair

#endif  // OCTAVO_DIAGNOSE_REPAIR_ONNX_EDIT_H_
