// ConstantPool: constant data shared by all plans of a model. Part of plan/.
#ifndef OCTAVO_PLAN_CONSTANTS_H_
#define OCTAVO_PLAN_CONSTANTS_H_

#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/fields.h"
#include "base/tensor.h"

namespace octavo {

// Memory that starts on kAlignment, as constants must.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kAlignment}));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete (memory, std::align_val_t{kAlignment}); }
  bool operator==(const AlignedAllocator&) const { return true; }
};
using AlignedBytes = std::vector<std::byte, AlignedAllocator<std::byte>>;

// Where plans find their constants.
class ConstantSource {
 public:
  virtual ~ConstantSource() = default;
  // The bytes at an offset, followed by kReadSlack more; null where it is no multiple of kAlignment or they are not
  // there.
  virtual const std::byte* find(std::uint64_t offset, std::uint64_t bytes) const = 0;
};

// One of the tensors that a kernel packed.
struct PackedTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t offset = 0;
};

// What a kernel packed, in a file: by all that it depends on.
struct StoredPacking {
  struct Tensor {
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;
    std::uint64_t offset = 0;
    bool operator==(const Tensor&) const = default;
    static constexpr auto fields() {
      return std::tuple(Field{"dtype", &Tensor::dtype}, Field{"shape", &Tensor::shape},
                        Field{"offset", &Tensor::offset});
    }
  };
  std::string key;
  std::vector<Tensor> tensors;

  bool operator==(const StoredPacking&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"key", &StoredPacking::key}, Field{"tensors", &StoredPacking::tensors});
  }
};

// What kernels packed so far, by all that it depends on. Any number of threads may use it.
class PackedIndex {
 public:
  std::optional<std::vector<PackedTensor>> find(const std::string& key) const;
  void set(const std::string& key, std::vector<PackedTensor> tensors);
  // By key, for a file, and from one.
  std::vector<StoredPacking> stored() const;
  void restore(const std::vector<StoredPacking>& packings);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::vector<PackedTensor>> tensors_;
};

// Where a planner puts them.
class ConstantSink {
 public:
  virtual ~ConstantSink() = default;
  // Of constants that are there already, and stay where they are: the offset.
  virtual std::optional<std::uint64_t> offset_of(const std::byte*) const { return std::nullopt; }
  // For planners: the tensors are constants of this sink.
  PackedIndex& packed() { return packed_; }
  // Room for this many bytes is going to be needed.
  virtual void reserve(std::uint64_t) {}
  // Returns the offset, a multiple of kAlignment. Equal tensors are stored once.
  virtual std::uint64_t add(const ConstTensorView& tensor) = 0;

 private:
  PackedIndex packed_;
};

// Those of a file.
class FileConstants final : public ConstantSource {
 public:
  explicit FileConstants(std::span<const std::byte> file) : file_(file) {}
  const std::byte* find(std::uint64_t offset, std::uint64_t bytes) const override;

 private:
  std::span<const std::byte> file_;
};

// Those of a file that is being made.
class ConstantPool final : public ConstantSink {
 public:
  // Growing copies what is there, and for a while it lies in memory twice.
  void reserve(std::uint64_t bytes) override { bytes_.reserve(bytes); }
  std::uint64_t add(const ConstTensorView& tensor) override;
  // All constants, each followed by zeros up to the alignment and at least kReadSlack more; empty where there are none.
  const AlignedBytes& bytes() const { return bytes_; }
  // What is added from now on shares nothing with what is there; the bytes of that.
  std::uint64_t seal();
  // Hands the bytes over; the pool is empty afterwards.
  AlignedBytes take();

 private:
  struct Entry {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  AlignedBytes bytes_;
  std::unordered_multimap<std::uint64_t, Entry> index_;  // by content hash
};

}  // namespace octavo

#endif  // OCTAVO_PLAN_CONSTANTS_H_
