// diagnose: what in a file is slow or broken in an engine, by the rules and, where there is one, by a profile. Part of
// diagnose/.
#ifndef OCTAVO_DIAGNOSE_DIAGNOSE_H_
#define OCTAVO_DIAGNOSE_DIAGNOSE_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/census.h"
#include "diagnose/finding.h"
#include "diagnose/profile.h"
#include "diagnose/rules.h"

namespace octavo::diagnose {

struct DiagnoseOptions {
  std::string against;           // the fp32 file; empty: none
  std::string profile;           // of the engine; empty: none
  double run_ms = 0.0;           // of a run without a profiler; 0: not known
  std::string rates;             // of the engine on this machine; empty: rates_of(engine)
  std::optional<Engine> engine;  // none: the one that the file's format is for
  std::int64_t batch = 1;
};

struct Diagnosis {
  std::string model;
  Engine engine = Engine::ort;
  FileView view;
  std::optional<FileView> before;
  EngineRates rates;
  std::vector<NodeCost> costs;  // by nodes, predicted
  Census census;
  std::vector<Finding> findings;  // known to spoil answers, then about time by cost, then what may cost answers
  PredictedTime predicted;        // of one thread
  std::optional<PredictedTime> predicted_before;
  std::optional<JoinedProfile> profile;
  std::size_t left_out = 0;  // findings about time that together cost less than 2 % of a run
  double left_out_ms = 0.0;

  double run_ms() const;        // as the profile has it, else predicted
  double lost_ms() const;       // of all findings
  std::string verdict() const;  // one sentence
};

// Errors: those of reading the files; usage (an engine that does not run the format, a profile of another model).
Result<Diagnosis> diagnose_file(const std::string& path, const DiagnoseOptions& options);

// ---- reports ----

std::string diagnosis_text(const Diagnosis& diagnosis);
std::string diagnosis_html(const Diagnosis& diagnosis);
// Keys as docs/cli.md has them.
nlohmann::json diagnosis_json(const Diagnosis& diagnosis);

// What to type next, and what it does, as a sentence.
struct NextStep {
  std::string command, effect;
};
NextStep next_step(const Diagnosis& diagnosis);

// Of a waterfall: what adds up to the last one.
struct WaterfallBar {
  std::string name;
  double ms = 0.0;
  bool is_total = false;
};
std::vector<WaterfallBar> waterfall_of(const Diagnosis& diagnosis);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_DIAGNOSE_H_
