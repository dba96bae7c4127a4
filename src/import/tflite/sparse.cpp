// Sparse tensors of a TFLite file, as dense ones. Part of import/.
#include "import/tflite/sparse.h"

#include <cstring>
#include <vector>

#include "base/fields.h"

namespace octavo::tflite_import {
namespace {

using Integers = std::vector<std::int64_t>;

template <class T>
Integers values_of(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? Integers{} : Integers(list->begin(), list->end());
}

// One level of the traversal: all of `size` positions, or those of `indices` from segments[i] to segments[i + 1] for
// the i-th position of the levels before it.
struct Level {
  std::int64_t size = 0;
  bool is_dense = true;
  Integers segments, indices;
};

class Densifier {
 public:
  Densifier(std::span<const std::byte> data, Tensor& dense) : data_(data), dense_(dense) {}

  std::optional<SparseProblem> run(const file::SparsityParameters& sparsity) {
    if (!read_order(sparsity) || !read_levels(sparsity)) return problem_;
    position_.assign(levels_.size(), 0);
    if (!write(0, 0)) return problem_;
    if (next_ != stored()) fail("data", std::to_string(stored()) + " elements", std::to_string(next_));
    return problem_;
  }

 private:
  bool fail(std::string what, std::string found, std::string expected) {
    problem_ = SparseProblem{std::move(what), std::move(found), std::move(expected)};
    return false;
  }

  int rank() const { return dense_.shape().rank(); }
  std::size_t stored() const { return data_.size() / size_of(dense_.dtype()); }

  // Every axis once, then axes within blocks of some of them.
  bool read_order(const file::SparsityParameters& sparsity) {
    order_ = values_of(sparsity.traversal_order());
    blocked_ = values_of(sparsity.block_map());
    const auto axes = static_cast<std::size_t>(rank());
    if (blocked_.size() > axes || order_.size() != axes + blocked_.size())
      return fail("traversal order", print(order_),
                  std::to_string(axes + blocked_.size()) + " numbers for " + dense_.shape().to_string());
    std::vector<bool> is_there(order_.size());
    for (const std::int64_t at : order_) {
      if (at < 0 || at >= std::ssize(order_) || is_there[static_cast<std::size_t>(at)])
        return fail("traversal order", print(order_), "each level once");
      is_there[static_cast<std::size_t>(at)] = true;
    }
    std::vector<bool> is_blocked(axes);
    for (const std::int64_t axis : blocked_) {
      if (axis < 0 || axis >= rank() || is_blocked[static_cast<std::size_t>(axis)])
        return fail("block map", print(blocked_), "axes of " + dense_.shape().to_string());
      is_blocked[static_cast<std::size_t>(axis)] = true;
    }
    return true;
  }

  // How many positions each entry of the order has: blocks of an axis, or elements within one.
  bool read_sizes(const flatbuffers::Vector<flatbuffers::Offset<file::DimensionMetadata>>& given, Integers& sizes) {
    sizes.assign(dense_.shape().dims().begin(), dense_.shape().dims().end());
    sizes.resize(order_.size());
    for (std::size_t level = 0; level < order_.size(); ++level) {
      if (order_[level] < rank()) continue;
      const auto at = static_cast<std::size_t>(order_[level]);
      const std::int64_t axis = blocked_[at - static_cast<std::size_t>(rank())];
      const auto& block = *given.Get(static_cast<flatbuffers::uoffset_t>(level));
      std::int64_t& whole = sizes[static_cast<std::size_t>(axis)];
      if (block.format() != kDense || block.dense_size() < 1 || whole % block.dense_size() != 0)
        return fail("block of axis " + std::to_string(axis), std::to_string(block.dense_size()) + " positions",
                    "a number that divides " + std::to_string(whole) + ", dense");
      sizes[at] = block.dense_size();
      whole /= block.dense_size();
    }
    return true;
  }

  bool read_levels(const file::SparsityParameters& sparsity) {
    const auto* given = sparsity.dim_metadata();
    if (given == nullptr || given->size() != order_.size())
      return fail("levels", std::to_string(given == nullptr ? 0 : given->size()), std::to_string(order_.size()));
    Integers sizes;
    if (!read_sizes(*given, sizes)) return false;
    find_strides(sizes);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      Level level{.size = sizes[static_cast<std::size_t>(order_[i])]};
      if (!read_level(*given->Get(static_cast<flatbuffers::uoffset_t>(i)), "level " + std::to_string(i), level))
        return false;
      levels_.push_back(std::move(level));
    }
    return true;
  }

  bool read_level(const file::DimensionMetadata& given, const std::string& name, Level& level) {
    level.is_dense = given.format() == kDense;
    if (level.is_dense) {
      if (given.dense_size() == level.size) return true;
      return fail(name, std::to_string(given.dense_size()) + " positions", std::to_string(level.size));
    }
    if (given.format() != kListed) return fail(name, "format " + std::to_string(given.format()), "0 or 1");
    level.segments = list_of(given.array_segments_as_Int32Vector(), given.array_segments_as_Uint16Vector(),
                             given.array_segments_as_Uint8Vector());
    level.indices = list_of(given.array_indices_as_Int32Vector(), given.array_indices_as_Uint16Vector(),
                            given.array_indices_as_Uint8Vector());
    std::int64_t last = 0;
    for (const std::int64_t end : level.segments) {
      if (end < last || end > std::ssize(level.indices))
        return fail(name + ", segments", std::to_string(end) + " after " + std::to_string(last),
                    "rising numbers up to " + std::to_string(level.indices.size()));
      last = end;
    }
    for (const std::int64_t index : level.indices) {
      if (index < 0 || index >= level.size)
        return fail(name + ", indices", std::to_string(index), "0 to " + std::to_string(level.size - 1));
    }
    return true;
  }

  template <class A, class B, class C>
  static Integers list_of(const A* a, const B* b, const C* c) {
    if (a != nullptr) return values_of(a->values());
    if (b != nullptr) return values_of(b->values());
    return c == nullptr ? Integers{} : values_of(c->values());
  }

  // `parent` numbers what stands at this place among all positions of the levels before, as the file counts them. As
  // deep as there are levels: twice the axes of a tensor at most.
  bool write(std::size_t depth, std::int64_t parent) {
    if (depth == levels_.size()) return write_element();
    const Level& level = levels_[depth];
    std::int64_t& at = position_[static_cast<std::size_t>(order_[depth])];
    if (level.is_dense) {
      for (at = 0; at < level.size; ++at) {
        if (!write(depth + 1, parent * level.size + at)) return false;
      }
      return true;
    }
    if (parent + 1 >= std::ssize(level.segments))
      return fail("level " + std::to_string(depth) + ", segments", std::to_string(level.segments.size()),
                  "one for each position before, and the end");
    const std::int64_t begin = level.segments[static_cast<std::size_t>(parent)];
    const std::int64_t end = level.segments[static_cast<std::size_t>(parent) + 1];
    for (std::int64_t i = begin; i < end; ++i) {
      at = level.indices[static_cast<std::size_t>(i)];
      if (!write(depth + 1, i)) return false;
    }
    return true;
  }

  bool write_element() {
    if (next_ == stored())
      return fail("data", std::to_string(stored()) + " elements", "one for each place that is listed");
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < strides_.size(); ++i) flat += position_[i] * strides_[i];
    const std::size_t size = size_of(dense_.dtype());
    std::memcpy(dense_.data() + static_cast<std::size_t>(flat) * size, data_.data() + next_ * size, size);
    ++next_;
    return true;
  }

  // Of each entry of the order, how far its positions lie apart in the dense tensor, in elements.
  void find_strides(const Integers& sizes) {
    strides_.assign(order_.size(), 0);
    std::int64_t stride = 1;
    for (int axis = rank() - 1; axis >= 0; --axis) {
      strides_[static_cast<std::size_t>(axis)] = stride;
      stride *= dense_.shape()[axis];
    }
    for (std::size_t i = 0; i < blocked_.size(); ++i) {
      const auto block = static_cast<std::size_t>(rank()) + i;
      std::int64_t& of_axis = strides_[static_cast<std::size_t>(blocked_[i])];
      strides_[block] = of_axis;
      of_axis *= sizes[block];
    }
  }

  static constexpr int kDense = 0, kListed = 1;

  std::span<const std::byte> data_;
  Tensor& dense_;
  Integers order_, blocked_;
  std::vector<Level> levels_;
  Integers position_, strides_;  // by entry of the order: axes, then axes within blocks
  std::size_t next_ = 0;
  std::optional<SparseProblem> problem_;
};

}  // namespace

std::optional<SparseProblem> densify(const file::SparsityParameters& sparsity, std::span<const std::byte> data,
                                     Tensor& dense) {
  return Densifier(data, dense).run(sparsity);
}

}  // namespace octavo::tflite_import
