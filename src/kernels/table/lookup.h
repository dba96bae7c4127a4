// The contract of table/: y[i] = table[x[i]], and the same with a table for each channel. Part of kernels/.
#ifndef OCTAVO_KERNELS_TABLE_LOOKUP_H_
#define OCTAVO_KERNELS_TABLE_LOOKUP_H_

#include <cstddef>
#include <cstdint>

namespace octavo {

struct LookupFunctions {
  // x may be y.
  void (*bytes)(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n);
  // Entries of 32 bits.
  void (*words)(const std::uint32_t* table, const std::uint8_t* x, std::uint32_t* y, std::int64_t n);
};

// The best of AVX-512 that this machine has, and what it has with vectors of eight lanes.
const LookupFunctions& lookup_of_avx512();
const LookupFunctions& lookup_of_8_lanes();

// Whether every entry is its index with the highest bit changed: what u8 is of s8, where models begin and end.
bool flips_sign(const std::uint8_t* table);

// Pixels of `from` channels become pixels of `to`: y[p][c] = table[c][x[p][channels[c]]]. x is read nowhere else.
struct ChannelLookup {
  const std::byte* table;
  const std::int64_t* channels;
  std::int64_t from;
  std::int64_t to;
};
using LookupChannels = void (*)(const ChannelLookup& lookup, const std::uint8_t* x, std::byte* y, std::int64_t pixels);

// Entries of 8 bits, three channels of at most three.
void lookup_three_avx512vbmi(const ChannelLookup& lookup, const std::uint8_t* x, std::byte* y, std::int64_t pixels);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_TABLE_LOOKUP_H_
