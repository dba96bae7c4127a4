// What the readers of profiles share: sums by node, and what is no profile. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_PROFILE_READ_H_
#define OCTAVO_DIAGNOSE_PROFILE_READ_H_

#include <istream>
#include <map>
#include <string>
#include <vector>

#include "diagnose/profile.h"

namespace octavo::diagnose {

// The mean of all but the first run, in which memory is taken.
class MeanTime {
 public:
  void add(double ms) { (runs_++ == 0 ? first_ms_ : later_ms_) += ms; }
  int runs() const { return runs_; }
  double ms() const { return runs_ > 1 ? later_ms_ / (runs_ - 1) : first_ms_; }

 private:
  int runs_ = 0;
  double first_ms_ = 0.0, later_ms_ = 0.0;
};

// Sums by node: memory does not grow with runs.
class ProfileSums {
 public:
  // False where there are more nodes than any network has.
  bool add(const std::string& name, const std::string& op, double ms, int call = 0);
  std::vector<ProfiledNode> nodes() const;

 private:
  struct Sum {
    ProfiledNode node;
    MeanTime time;
  };
  std::map<std::string, std::size_t> places_;
  std::vector<Sum> nodes_;
};

Error no_profile(const std::string& path, std::string found);

// Texts of lines (profile_tables.cpp): OpenVINO's counters, LiteRT's benchmark_model.
Result<Profile> read_tables(std::istream& file, const std::string& path);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_PROFILE_READ_H_
