// MachineSpeeds: what cost models take from a machine, all in one place. Part of base/.
#ifndef OCTAVO_BASE_SPEEDS_H_
#define OCTAVO_BASE_SPEEDS_H_

#include <tuple>

#include "base/fields.h"

namespace octavo {

// Of one core while the others work, too; 10^9 a second. The defaults are those of the machines on which the cycles of
// kernels were counted (a Cascade Lake at 2.5 GHz; tiles: Granite Rapids, as if it had that clock): a model that is
// given other ones scales what it knows of each part by them.
struct MachineSpeeds {
  double gigahertz = 2.5;          // cycles
  double tile_gmacs = 2560.0;      // multiply-accumulates of u8 by s8 by tdpbusd
  double dot512_gmacs = 320.0;     // the same by vpdpbusd, 512 bits
  double dot256_gmacs = 160.0;     // 256 bits
  double madd256_gmacs = 60.0;     // of s16 by vpmaddwd and vpaddd, 256 bits
  double fmla_gmacs = 20.0;        // of f32 by fmla, 128 bits, as all of aarch64
  double smull_gmacs = 20.0;       // of s8 by smull and sadalp
  double smlal_gmacs = 10.0;       // of s16 by smlal
  double udot_gmacs = 80.0;        // of u8 by udot
  double usmmla_gmacs = 160.0;     // of u8 by s8 by usmmla
  double level2_gbytes = 75.0;     // bytes read of level 2
  double level3_gbytes = 25.0;     // of level 3
  double memory_gbytes = 10.0;     // of memory
  double barrier_ns = 500.0;       // not 10^9 a second: handing a step to all threads, and waiting for them
  double vectors_per_cycle = 2.0;  // nor this: instructions on vectors that start in a cycle, where no rate says more

  // How many times as long as with the defaults takes what goes by the clock and the units for vectors alone.
  double clock_scale() const;
  double ns_of_cycles(double cycles) const { return cycles / gigahertz; }
  double bytes_per_cycle(double gbytes) const { return gbytes / gigahertz; }
  // By which cycles of arithmetic are multiplied that were counted with the defaults; `rate` is one of these members.
  double cycle_scale(double MachineSpeeds::*rate) const;
  // Whether times that are made of it are finite, and above 0.
  static constexpr double kLeast = 1e-3, kMost = 1e9;
  static constexpr bool is_usable(double speed) { return speed >= kLeast && speed <= kMost; }
  bool are_usable() const;

  bool operator==(const MachineSpeeds&) const = default;
  static constexpr auto fields() {
    return std::tuple(
        Field{"gigahertz", &MachineSpeeds::gigahertz}, Field{"tile_gmacs", &MachineSpeeds::tile_gmacs},
        Field{"dot512_gmacs", &MachineSpeeds::dot512_gmacs}, Field{"dot256_gmacs", &MachineSpeeds::dot256_gmacs},
        Field{"madd256_gmacs", &MachineSpeeds::madd256_gmacs}, Field{"fmla_gmacs", &MachineSpeeds::fmla_gmacs},
        Field{"smull_gmacs", &MachineSpeeds::smull_gmacs}, Field{"smlal_gmacs", &MachineSpeeds::smlal_gmacs},
        Field{"udot_gmacs", &MachineSpeeds::udot_gmacs}, Field{"usmmla_gmacs", &MachineSpeeds::usmmla_gmacs},
        Field{"level2_gbytes", &MachineSpeeds::level2_gbytes}, Field{"level3_gbytes", &MachineSpeeds::level3_gbytes},
        Field{"memory_gbytes", &MachineSpeeds::memory_gbytes}, Field{"barrier_ns", &MachineSpeeds::barrier_ns},
        Field{"vectors_per_cycle", &MachineSpeeds::vectors_per_cycle});
  }
};

inline constexpr MachineSpeeds kReferenceSpeeds;

inline double MachineSpeeds::clock_scale() const {
  return kReferenceSpeeds.gigahertz * kReferenceSpeeds.vectors_per_cycle / (gigahertz * vectors_per_cycle);
}
inline double MachineSpeeds::cycle_scale(double MachineSpeeds::*rate) const {
  return kReferenceSpeeds.*rate / (this->*rate) * (gigahertz / kReferenceSpeeds.gigahertz);
}
inline bool MachineSpeeds::are_usable() const {
  return std::apply([this](const auto&... field) { return (... && is_usable(this->*field.member)); }, fields());
}

}  // namespace octavo

#endif  // OCTAVO_BASE_SPEEDS_H_
