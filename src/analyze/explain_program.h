// explain of a model of several parts: what each network and each of its kernels takes of a run. Part of analyze/.
#ifndef OCTAVO_ANALYZE_EXPLAIN_PROGRAM_H_
#define OCTAVO_ANALYZE_EXPLAIN_PROGRAM_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analyze/explain.h"

namespace octavo {

// A kernel of a network, at all sizes and in all rounds together.
struct ProgramStep {
  std::size_t network = 0;  // of ModelInfo::networks
  std::string name;         // of the source node
  std::string op;
  std::string kernel;
  StepType type = StepType::integer;
  double calls = 0.0;  // in a run, on average
  double ms = 0.0;     // of all of them, likewise
};

struct ProgramNetwork {
  std::string name;         // of the nodes it stands for
  double runs = 0.0;        // in a run of the model, on average
  double ms = 0.0;          // its kernels'
  v1::PlanCacheInfo plans;  // for sizes that came, in all runs together
};

struct ProgramExplanation {
  std::string model;
  v1::ModelInfo info;
  int threads = 1;
  std::int64_t runs = 0;
  double run_ms = 0.0;      // median of whole runs
  double outside_ms = 0.0;  // of a run, no kernel's: finding plans, tensors between parts, the clock between kernels
  std::vector<ProgramNetwork> networks;  // parallel to ModelInfo::networks
  std::vector<ProgramStep> steps;        // the longest first

  double steps_ms() const;
};

// Inputs are seeded random numbers, at the choice's shapes. Errors: those of Session::of_program and of runs.
Result<ProgramExplanation> explain_program(const std::string& name, const v1::CompiledModel& compiled,
                                           const ExplainOptions& options);

nlohmann::json explanation_json(const ProgramExplanation& explanation);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_EXPLAIN_PROGRAM_H_
