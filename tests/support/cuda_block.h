// HostBlock: cuda/device/block.h for hosts, where all threads of a block go through a phase one after the other.
//
// What a device leaves to chance is bad luck here: copies to shared memory are made, and products of groups computed,
// when they are waited for, no sooner, and shared memory is full of a pattern at the beginning.
#ifndef OCTAVO_TESTS_SUPPORT_CUDA_BLOCK_H_
#define OCTAVO_TESTS_SUPPORT_CUDA_BLOCK_H_

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "cuda/device/mma.h"

namespace octavo::cuda {

// The threads of a HostBlock, of which there is one at a time in a thread.
inline thread_local int block_threads = 0;

class HostBlock {
 public:
  template <class T>
  class Each {
   public:
    T& operator[](int thread) { return values_[static_cast<std::size_t>(thread)]; }

   private:
    std::vector<T> values_ = std::vector<T>(static_cast<std::size_t>(block_threads));
  };

  HostBlock(std::array<std::int64_t, 3> index, int threads, int shared_bytes)
      : index_(index), shared_(static_cast<std::size_t>(shared_bytes), std::byte{0xa5}) {
    block_threads = threads;
  }

  std::int64_t x() const { return index_[0]; }
  std::int64_t y() const { return index_[1]; }
  std::int64_t z() const { return index_[2]; }
  std::byte* shared() { return shared_.data(); }

  template <class F>
  static void each(const F& f) {
    for (int thread = 0; thread < block_threads; ++thread) f(thread);
  }
  static void sync() {}

  template <std::size_t bytes>
  static void copy(std::byte* to, const std::byte* from) {
    std::memcpy(to, from, bytes);
  }

  template <int bytes, bool = false>
  void copy_async(std::byte* to, const std::byte* from) {
    group_.push_back({to, from, bytes});
  }
  void commit_copies() {
    pending_.push_back(std::move(group_));
    group_.clear();
  }
  template <int pending>
  void wait_for_copies() {
    for (; pending_.size() > pending; pending_.pop_front()) {
      for (const Copy& one : pending_.front()) std::memcpy(one.to, one.from, static_cast<std::size_t>(one.bytes));
    }
  }

  template <bool kTurned = false, class AddressOf, class To>
  static void load_matrices(const AddressOf& address_of, const To& to) {
    for (int thread = 0; thread < block_threads; ++thread) {
      const int first = thread / kWarp * kWarp, lane = thread % kWarp;
      const Words words = to(thread);
      std::uint32_t* const own[] = {&words.a, &words.b, &words.c, &words.d};
      for (int matrix = 0; matrix < 4; ++matrix) {
        const int row = first + 8 * matrix;
        auto* word = reinterpret_cast<std::byte*>(own[matrix]);
        if constexpr (kTurned) {
          for (int i = 0; i < 2; ++i) std::memcpy(word + 2 * i, address_of(row + lane % 4 * 2 + i) + lane / 4 * 2, 2);
        } else {
          std::memcpy(word, address_of(row + lane / 4) + 4 * (lane % 4), 4);
        }
      }
    }
  }

  static void publish_copies() {}
  static void begin_products() {}
  template <int columns, class OperandsOf>
  void multiply_group(const OperandsOf& operands_of) {
    for (int group = 0; group < block_threads; group += kGroup) {
      std::vector<GroupOperands<columns>> all;
      for (int t = 0; t < kGroup; ++t) all.push_back(operands_of(group + t));
      products_.push_back([this, all] { multiply_rows<columns>(all); });
    }
  }
  void commit_products() {
    pending_products_.push_back(std::move(products_));
    products_.clear();
  }
  template <int pending>
  void wait_for_products() {
    for (; pending_products_.size() > pending; pending_products_.pop_front()) {
      for (const auto& product : pending_products_.front()) product();
    }
  }

  template <class B = std::int8_t, class OperandsOf>
  static void multiply(const OperandsOf& operands_of) {
    for (int warp = 0; warp < block_threads; warp += kWarp) multiply_warp<B>(warp, operands_of);
  }

 private:
  struct Copy {
    std::byte* to;
    const std::byte* from;
    int bytes;
  };

  template <class B, class OperandsOf>
  static void multiply_warp(int warp, const OperandsOf& operands_of) {
    std::uint8_t a[kMmaRows][kMmaBytes];
    B b[kMmaColumns][kMmaBytes];
    for (int lane = 0; lane < kWarp; ++lane) {
      const MmaOperands own = operands_of(warp + lane);
      const int row = lane / 4, four = 4 * (lane % 4);
      for (int i = 0; i < 4; ++i) std::memcpy(&a[row + i % 2 * 8][four + i / 2 * 16], &own.a[i], 4);
      for (int i = 0; i < 2; ++i) std::memcpy(&b[row][four + i * 16], &own.b[i], 4);
    }
    for (int lane = 0; lane < kWarp; ++lane) {
      const MmaOperands own = operands_of(warp + lane);
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        auto sum = static_cast<std::uint32_t>(own.sums[i]);
        for (int k = 0; k < kMmaBytes; ++k) sum += static_cast<std::uint32_t>(a[row][k] * b[column][k]);
        own.sums[i] = static_cast<std::int32_t>(sum);
      }
    }
  }

  // A byte of a row of 64, as wgmma finds it.
  std::byte swizzled(const std::byte* first, int row, int k) const {
    const auto place = static_cast<std::size_t>(first - shared_.data() + row * kGroupBytes + k);
    return shared_[place ^ (place >> 7 & 3) << 4];
  }

  template <int columns>
  void multiply_rows(const std::vector<GroupOperands<columns>>& all) const {
    std::uint8_t a[kGroupRows][kGroupBytes];
    std::int8_t b[columns][kGroupBytes];
    for (int k = 0; k < kGroupBytes; ++k) {
      for (int row = 0; row < kGroupRows; ++row) a[row][k] = static_cast<std::uint8_t>(swizzled(all[0].a, row, k));
      for (int column = 0; column < columns; ++column)
        b[column][k] = static_cast<std::int8_t>(swizzled(all[0].b, column, k));
    }
    for (int t = 0; t < kGroup; ++t) {
      const GroupOperands<columns>& own = all[static_cast<std::size_t>(t)];
      for (int i = 0; i < columns / kMmaColumns * 4; ++i) {
        const int row = t / kWarp * kMmaRows + t % kWarp / 4 + i % 4 / 2 * 8;
        const int column = i / 4 * kMmaColumns + t % 4 * 2 + i % 2;
        auto sum = static_cast<std::uint32_t>(own.sums[i / 4][i % 4]);
        for (int k = 0; k < kGroupBytes; ++k) sum += static_cast<std::uint32_t>(a[row][k] * b[column][k]);
        own.sums[i / 4][i % 4] = static_cast<std::int32_t>(sum);
      }
    }
  }

  std::array<std::int64_t, 3> index_;
  std::vector<std::byte> shared_;
  std::vector<std::function<void()>> products_;
  std::deque<std::vector<std::function<void()>>> pending_products_;
  std::vector<Copy> group_;
  std::deque<std::vector<Copy>> pending_;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_TESTS_SUPPORT_CUDA_BLOCK_H_
