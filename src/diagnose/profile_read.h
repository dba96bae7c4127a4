// What the readers of profiles share: sums by node, and what is no profile. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_PROFILE_READ_H_
#define OCTAVO_DIAGNOSE_PROFILE_READ_H_

#include <istream>
#include <map>
#include <string>
#include <vector>

#include "diagnose/profile.h"

namespace octavo::diagnose {

// Sums by node: memory does not grow with runs.
class ProfileSums {
 public:
  // False where there are more nodes than any network has.
  bool add(const std::string& name, const std::string& op, double ms, int call = 0);
  // The mean of all but the first run, in which memory is taken.
  std::vector<ProfiledNode> nodes() const;

 private:
  struct Sum {
    ProfiledNode node;
    double first_ms = 0.0, later_ms = 0.0;
  };
  std::map<std::string, std::size_t> places_;
  std::vector<Sum> nodes_;
};

Error no_profile(const std::string& path, std::string found);

// Texts of lines (profile_tables.cpp): OpenVINO's counters, LiteRT's benchmark_model.
Result<Profile> read_tables(std::istream& file, const std::string& path);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_PROFILE_READ_H_
