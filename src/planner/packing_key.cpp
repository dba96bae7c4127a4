// Kernel, attributes, layout, and which constants. Part of planner/.
#include "planner/packing_key.h"

#include <xxhash.h>

namespace octavo {
namespace {

// How a constant is told from others: by where it lies, or by 128 bits of its content.
enum class Identity : char { left_out, variable, place, content };

class KeyWriter {
 public:
  void bytes(std::span<const std::byte> bytes) {
    number(static_cast<std::int64_t>(bytes.size()));
    key_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void number(std::int64_t number) { key_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void input(const Fact* fact, const ConstantSink& sink) {
    if (fact == nullptr) return tag(Identity::left_out);
    number(static_cast<std::int64_t>(fact->dtype));
    if (!fact->is_constant()) return tag(Identity::variable);
    const ConstTensorView constant = std::as_const(*fact->constant).view();
    number(constant.shape.rank());
    for (const std::int64_t size : constant.shape.dims()) number(size);
    if (const auto offset = sink.offset_of(constant.data)) {
      tag(Identity::place);
      return number(static_cast<std::int64_t>(*offset));
    }
    tag(Identity::content);
    const XXH128_hash_t hash = XXH3_128bits(constant.data, constant.bytes());
    number(static_cast<std::int64_t>(hash.low64));
    number(static_cast<std::int64_t>(hash.high64));
  }
  std::string take() { return std::move(key_); }

 private:
  void tag(Identity identity) { key_.push_back(static_cast<char>(identity)); }
  std::string key_;
};

}  // namespace

std::string packing_key(const KernelChoice& kernel, const OpCall& call, std::span<const std::byte> attrs,
                        const ConstantSink& sink) {
  if (kernel.packed_layout == nullptr) return {};
  KeyWriter key;
  key.bytes(std::as_bytes(std::span(kernel.code.name)));
  key.bytes(attrs);
  for (const std::int64_t number : kernel.packed_layout(call)) key.number(number);
  for (const Fact* input : call.inputs) key.input(input, sink);
  for (const Fact& output : call.outputs) key.number(static_cast<std::int64_t>(output.dtype));
  return key.take();
}

std::vector<PackedTensor> packed_tensors(const KernelChoice& kernel, const OpCall& call,
                                         std::span<const std::byte> attrs, ConstantSink& sink,
                                         const std::function<void()>& made) {
  const std::string key = kernel.code.packs ? packing_key(kernel, call, attrs, sink) : std::string();
  auto known = key.empty() ? std::nullopt : sink.packed().find(key);
  const std::vector<Tensor> packed = kernel.code.packs && !known ? kernel.pack(call) : std::vector<Tensor>{};
  if (made) made();
  if (known) return *std::move(known);
  std::vector<PackedTensor> tensors;
  for (const Tensor& tensor : packed) tensors.push_back({tensor.dtype(), tensor.shape(), sink.add(tensor.view())});
  if (!key.empty()) sink.packed().set(key, tensors);
  return tensors;
}

}  // namespace octavo
