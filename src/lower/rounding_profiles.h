// Whose formulas a graph rounds by. Part of lower/.
#ifndef OCTAVO_LOWER_ROUNDING_PROFILES_H_
#define OCTAVO_LOWER_ROUNDING_PROFILES_H_

#include <initializer_list>

#include "base/result.h"
#include "graph/graph.h"
#include "octavo/choices.h"

namespace octavo {

// A set of profiles.
class ProfileSet {
 public:
  ProfileSet() = default;
  ProfileSet(std::initializer_list<Profile> profiles) {
    for (const Profile profile : profiles) add(profile);
  }

  void add(Profile profile) { bits_ |= 1u << static_cast<unsigned>(profile); }
  void add(ProfileSet other) { bits_ |= other.bits_; }
  bool is_empty() const { return bits_ == 0; }
  bool has_one_of(ProfileSet other) const { return (bits_ & other.bits_) != 0; }

 private:
  unsigned bits_ = 0;
};

// Those of every rounding to a known scale.
ProfileSet rounding_profiles(const Graph& graph);

// Each rounding of the graph is one of these: passes move, merge and fuse roundings, and give none a formula that the
// file did not have. Tables have their rounding inside, and are not asked.
// Errors: internal, per node.
Status verify_rounding(const Graph& graph, ProfileSet allowed);

}  // namespace octavo

#endif  // OCTAVO_LOWER_ROUNDING_PROFILES_H_
