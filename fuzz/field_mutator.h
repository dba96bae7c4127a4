// Changes of structs that list their fields (base/fields.h), whatever their types. Part of fuzz/.
#ifndef OCTAVO_FUZZ_FIELD_MUTATOR_H_
#define OCTAVO_FUZZ_FIELD_MUTATOR_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/fields.h"

// libFuzzer's own changes of bytes; returns the new size.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace octavo::fuzz {

// Changes one value somewhere in a tree of such structs: visits them all twice, once to count them.
class FieldMutator {
 public:
  FieldMutator(unsigned seed, const std::vector<std::string>& words) : random_(seed), words_(words) {}

  template <class T>
  void mutate(T& root) {
    target_ = -1, at_ = 0;
    visit(root);
    target_ = static_cast<std::int64_t>(below(static_cast<std::size_t>(at_)));
    at_ = 0;
    visit(root);
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  bool is_target() { return at_++ == target_; }

  template <class T>
  void visit(T& value) {
    namespace detail = fields_detail;
    if constexpr (HasFields<T>) {
      std::apply([&](const auto&... field) { (visit(value.*(field.member)), ...); }, T::fields());
    } else if constexpr (detail::IsVector<T>::value) {
      if (is_target()) change_list(value);
      if constexpr (!std::is_same_v<typename T::value_type, std::byte>) {
        for (auto& item : value) visit(item);
      }
    } else if constexpr (detail::IsArray<T>::value) {
      for (auto& item : value) visit(item);
    } else if constexpr (detail::IsOptional<T>::value) {
      if (value) visit(*value);
    } else if (is_target()) {
      change(value);
    }
  }

  template <class T>
  void change_list(std::vector<T>& list) {
    if constexpr (std::is_same_v<T, std::byte>) {
      return change_bytes(list);
    } else {
      const std::size_t size = list.size();
      switch (size == 0 ? 0 : below(4)) {
        case 0:
          list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(size + 1)),
                      size == 0 ? T{} : T(list[below(size)]));
          return;
        case 1: list.erase(list.begin() + static_cast<std::ptrdiff_t>(below(size))); return;
        case 2: std::swap(list[below(size)], list[below(size)]); return;
        default: list[below(size)] = T(list[below(size)]); return;
      }
    }
  }

  // Encoded attributes: mostly of the same length, since others do not decode.
  void change_bytes(std::vector<std::byte>& bytes) {
    const std::size_t size = bytes.size();
    const std::size_t room = below(4) == 0 ? size + 16 : size;
    if (room == 0) return;
    bytes.resize(room);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, room));
    if (room == size) bytes.resize(size);
  }

  template <class T>
  void change(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = !value;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!words_.empty()) value = words_[below(words_.size())];
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(below(static_cast<std::size_t>(count_of(T{}))));
    } else if constexpr (std::is_floating_point_v<T>) {
      constexpr T values[] = {0,
                              1,
                              -1,
                              T(0.5),
                              std::numeric_limits<T>::max(),
                              std::numeric_limits<T>::infinity(),
                              std::numeric_limits<T>::quiet_NaN()};
      value = values[below(std::size(values))];
    } else {
      constexpr std::uint64_t values[] = {0,
                                          1,
                                          2,
                                          3,
                                          4,
                                          8,
                                          16,
                                          63,
                                          64,
                                          128,
                                          255,
                                          4096,
                                          std::uint64_t{1} << 31,
                                          std::uint64_t{1} << 33,
                                          ~std::uint64_t{0},
                                          std::uint64_t{1} << 63};
      const std::uint64_t steps[] = {1, ~std::uint64_t{0}, 64, ~std::uint64_t{63}};
      const auto old = static_cast<std::uint64_t>(value);
      value = static_cast<T>(below(2) == 0 ? old + steps[below(std::size(steps))] : values[below(std::size(values))]);
    }
  }

  std::mt19937 random_;
  const std::vector<std::string>& words_;
  std::int64_t target_ = -1, at_ = 0;
};

}  // namespace octavo::fuzz

#endif  // OCTAVO_FUZZ_FIELD_MUTATOR_H_
