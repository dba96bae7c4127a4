// SplitMix: numbers from a seed, the same on every machine. Part of base/.
#ifndef OCTAVO_BASE_RANDOM_H_
#define OCTAVO_BASE_RANDOM_H_

#include <cstdint>

namespace octavo {

// splitmix64, of the seed times its increment.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(kIncrement * seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += kIncrement;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  static constexpr std::uint64_t kIncrement = 0x9e3779b97f4a7c15u;
  std::uint64_t state_;
};

}  // namespace octavo

#endif  // OCTAVO_BASE_RANDOM_H_
