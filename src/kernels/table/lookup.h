// The contract of table/: y[i] = table[x[i]]. Part of kernels/.
#ifndef OCTAVO_KERNELS_TABLE_LOOKUP_H_
#define OCTAVO_KERNELS_TABLE_LOOKUP_H_

#include <cstdint>

namespace octavo {

struct LookupFunctions {
  // x may be y.
  void (*bytes)(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n);
  // Entries of 32 bits.
  void (*words)(const std::uint32_t* table, const std::uint8_t* x, std::uint32_t* y, std::int64_t n);
};

extern const LookupFunctions kLookupScalar;
extern const LookupFunctions kLookupAvx2;
extern const LookupFunctions kLookupAvx512;
extern const LookupFunctions kLookupAvx512Vbmi;

}  // namespace octavo

#endif  // OCTAVO_KERNELS_TABLE_LOOKUP_H_
