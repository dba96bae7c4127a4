// s8 activations as u8. Part of diagnose/.
#include <algorithm>
#include <cstdint>
#include <map>

#include "diagnose/repair/shifted.h"

namespace octavo::repair {
namespace {

// A tensor that a node reads (or writes) with a zero point of its own.
struct Slot {
  int tensor;  // index of the input; -1: the first output
  int zero_point;
};

// Operators that name zero points of what they read and write.
const std::map<std::string, std::vector<Slot>>& slots_of_operators() {
  static const std::map<std::string, std::vector<Slot>> kSlots = {
      {"QuantizeLinear", {{-1, 2}}},
      {"DequantizeLinear", {{0, 2}}},
      {"QLinearConv", {{0, 2}, {-1, 7}}},
      {"QLinearMatMul", {{0, 2}, {3, 5}, {-1, 7}}},
      {"QLinearAdd", {{0, 2}, {3, 5}, {-1, 7}}},
      {"QLinearMul", {{0, 2}, {3, 5}, {-1, 7}}},
      {"QLinearSigmoid", {{0, 2}, {-1, 4}}},
      {"QLinearLeakyRelu", {{0, 2}, {-1, 4}}},
      {"QLinearGlobalAveragePool", {{0, 2}, {-1, 4}}},
      {"QLinearAveragePool", {{0, 2}, {-1, 4}}},
      {"QLinearSoftmax", {{0, 2}, {-1, 4}}},
      {"QGemm", {{0, 2}, {3, 5}, {-1, 8}}},
  };
  return kSlots;
}

std::vector<Slot> slots_of(const onnx::NodeProto& node) {
  if (node.op_type() == "QLinearConcat") {
    std::vector<Slot> slots = {{-1, 1}};
    for (int i = 2; i + 2 < node.input_size(); i += 3) slots.push_back({i, i + 2});
    return slots;
  }
  const auto found = slots_of_operators().find(node.op_type());
  return found == slots_of_operators().end() ? std::vector<Slot>() : found->second;
}

// Gives what it takes, moved: with the zero point of what it takes.
bool is_move(const onnx::NodeProto& node) {
  static const std::set<std::string> kMoves = {"DepthToSpace", "Expand",    "Flatten",  "Gather",       "Identity",
                                               "MaxPool",      "Reshape",   "Slice",    "SpaceToDepth", "Squeeze",
                                               "Tile",         "Transpose", "Unsqueeze"};
  return kMoves.contains(node.op_type()) && node.output_size() == 1;
}

class Unsigner {
 public:
  explicit Unsigner(OnnxEdit& edit) : edit_(edit), shifted_(edit, DType::u8) {}

  int run() {
    find();
    keep_what_cannot();
    int changed = 0;
    for (onnx::NodeProto* node : edit_.nodes()) changed += rewrite(*node);
    return changed;
  }

 private:
  const std::string& tensor_of(const onnx::NodeProto& node, const Slot& slot) const {
    return slot.tensor < 0 ? node.output(0) : input_of(node, slot.tensor);
  }

  bool is_s8(const onnx::NodeProto& node, const Slot& slot) const {
    const auto zero = edit_.constant(input_of(node, slot.zero_point));
    return zero && zero->dtype() == DType::s8;
  }

  // Tensors that an s8 zero point is written with, and what they are moved to.
  void find() {
    for (const onnx::NodeProto* node : edit_.nodes()) {
      for (const Slot& slot : slots_of(*node)) {
        if (slot.tensor < 0 && is_s8(*node, slot) && attribute(*node, "output_dtype") == nullptr)
          signed_.insert(node->output(0));
      }
      if (is_move(*node) && signed_.contains(node->input(0))) signed_.insert(node->output(0));
    }
  }

  bool can_read(const onnx::NodeProto& node, const std::string& tensor) const {
    if (is_move(node)) return node.input(0) == tensor && signed_.contains(node.output(0));
    const std::vector<Slot> slots = slots_of(node);
    return std::ranges::any_of(slots, [&](const Slot& slot) {
      return slot.tensor >= 0 && tensor_of(node, slot) == tensor && is_s8(node, slot);
    });
  }

  // All that an operator of integers reads and writes has one type, and what is moved keeps it.
  bool is_consistent(const onnx::NodeProto& node) const {
    if (node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear") return true;
    int in = 0, out = 0;
    const auto count = [&](const std::string& tensor) {
      if (edit_.constant(tensor)) return;
      (signed_.contains(tensor) ? in : out)++;
    };
    for (const Slot& slot : slots_of(node)) {
      if (!input_of(node, slot.zero_point).empty()) count(tensor_of(node, slot));
    }
    if (is_move(node)) {
      count(node.input(0));
      count(node.output(0));
    }
    return in == 0 || out == 0;
  }

  void keep_what_cannot() {
    for (bool is_done = false; !is_done;) {
      is_done = true;
      std::vector<std::string> kept;
      for (const std::string& tensor : signed_) {
        const std::vector<onnx::NodeProto*> readers = edit_.readers(tensor);
        const bool can = !edit_.is_pinned(tensor) && std::ranges::all_of(readers, [&](const onnx::NodeProto* node) {
          return can_read(*node, tensor);
        });
        if (!can) kept.push_back(tensor);
      }
      for (const onnx::NodeProto* node : edit_.nodes()) {
        if (is_consistent(*node)) continue;
        for (const std::string& input : node->input()) {
          if (signed_.contains(input)) kept.push_back(input);
        }
        for (const std::string& output : node->output()) {
          if (signed_.contains(output)) kept.push_back(output);
        }
      }
      for (const std::string& tensor : kept) is_done &= signed_.erase(tensor) == 0;
    }
  }

  int rewrite(onnx::NodeProto& node) {
    int changed = 0;
    for (const Slot& slot : slots_of(node)) {
      if (!signed_.contains(tensor_of(node, slot))) continue;
      edit_.set_input(node, slot.zero_point, shifted_.of(node.input(slot.zero_point)));
      changed += slot.tensor < 0 ? 1 : 0;
    }
    return changed;
  }

  OnnxEdit& edit_;
  std::set<std::string> signed_;
  ShiftedConstants shifted_;
};

}  // namespace

int make_activations_unsigned(OnnxEdit& edit) { return Unsigner(edit).run(); }

}  // namespace octavo::repair
