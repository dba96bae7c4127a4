// The forms of a network between int8 and fp32, compiled and timed group by group. Part of analyze/.
#ifndef OCTAVO_ANALYZE_FORM_LAB_H_
#define OCTAVO_ANALYZE_FORM_LAB_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/auto_precision.h"

namespace octavo {

struct Plan;

// Names of the nodes of each group.
using LayerGroups = std::vector<std::vector<std::string>>;

// What each group takes, from what each step of the plan takes. A conversion counts for the group on its float side,
// else for that on the other.
std::vector<double> group_times(const Plan& plan, const LayerGroups& groups, std::span<const double> step_ms);

class FormLab {
 public:
  // Calibrates once, where the file is not quantized, for whatever stays in float.
  static Result<FormLab> create(const std::string& model, const CompileRequest& request);

  const LayerGroups& groups() const { return groups_; }
  // What compiles to a form at batch 1 or the first batch asked for, samples not needed any more.
  CompileRequest request_for(const NetworkForm& form) const;
  // Of the model in int8: the same for the same model, scales, batch and target.
  Result<std::uint64_t> checksum() const;
  bool predicts() const { return request_.options.target != "host"; }

  Result<std::vector<FormTimes>> measure(const std::vector<NetworkForm>& forms) const;

 private:
  FormLab() = default;
  Result<v1::CompiledModel> compile(const NetworkForm& form) const;

  std::string model_;
  CompileRequest request_;  // with what the samples taught
  LayerGroups groups_;
};

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_FORM_LAB_H_
