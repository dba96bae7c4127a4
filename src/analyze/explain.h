// explain: where the time of a compiled model goes, kernel by kernel, and what keeps it from being faster. Part of
// analyze/.
#ifndef OCTAVO_ANALYZE_EXPLAIN_H_
#define OCTAVO_ANALYZE_EXPLAIN_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analyze/session.h"
#include "base/machine.h"
#include "kernels/jit/peak.h"
#include "octavo/run.h"

namespace octavo {

struct Plan;
struct PlanStep;

// What a step computes in; a conversion goes between integers and floats.
enum class StepType : std::uint8_t { integer, floating, conversion };
std::string_view name_of(StepType type);
StepType type_of(const Plan& plan, const PlanStep& step);

struct ExplainedTensor {
  std::string name;  // empty for constants
  std::string text;  // "u8[1x56x56x64]"
  std::int64_t bytes = 0;
};

struct ExplainedStep {
  std::size_t index = 0;
  std::string name;  // of the source node
  std::string op;
  std::string kernel;
  std::string schedule;  // how the kernel goes about it, where it has several ways: "tiles=2 chunks=4 prefetches=1"
  StepType type = StepType::integer;
  Isa needs = Isa::scalar;                       // of the kernel
  double words_per_mac = 0.0;                    // KernelChoice::words_per_mac
  bool is_reference = false;                     // the kernel is the operator's scalar reference
  std::vector<ExplainedTensor> inputs, outputs;  // activations
  std::int64_t bytes_in = 0, bytes_out = 0, bytes_constant = 0;
  std::int64_t calls = 1;  // in a run: more than one in an image loop; macs, bytes and times are of all of them
  std::int64_t macs = 0;
  double ms = 0.0;            // median of the measured runs
  double least_ms = 0.0;      // minimum
  double predicted_ms = 0.0;  // on one thread
  double transfer_ms = 0.0;   // predicted: of a step that a device's host computes, its way there and back
  double bound_ms =
      0.0;  // what the roofline allows: the longer of the arithmetic at its peak and the bytes at the memory's rate
  bool is_arithmetic_bound = false;
  std::string cause;  // of a conversion or a float step: why it is there
  std::vector<std::string> refusals;

  double gmacs() const { return ms > 0.0 ? static_cast<double>(macs) / ms * 1e-6 : 0.0; }
  std::int64_t bytes() const { return bytes_in + bytes_out + bytes_constant; }
  double gbytes() const { return ms > 0.0 ? static_cast<double>(bytes()) / ms * 1e-6 : 0.0; }
  // Multiply-accumulates per byte read or written.
  double intensity() const;
};

struct Explanation {
  std::string model;
  v1::ModelInfo info;
  v1::PlanInfo plan;
  int threads = 1;
  // Of a plan for another machine or a device: nothing was run; times, and the peaks, are what that machine says.
  bool is_predicted = false;
  std::string machine;  // that the plan is for, where nothing was run
  std::int64_t runs = 0;
  Peaks peaks;
  double run_ms = 0.0;  // median of whole runs, without the clock between steps
  std::vector<ExplainedStep> steps;

  double steps_ms() const;
  // The machine's best rate with the instructions of the step's kernel, 10^9 multiply-accumulates per second; 0 where
  // it is not known.
  double peak_gmacs(const ExplainedStep& step) const;
  // Of the multiply-accumulates, how many are of 8-bit integers, 0 to 1; 1 where there are none.
  double integer_share_of_macs() const;
  // Of the bytes read and written by all steps, weights included, how many are read and written by integer steps, 0
  // to 1.
  double integer_share_of_bytes() const;
  // Steps by what they lose against the roofline, most first.
  std::vector<const ExplainedStep*> by_loss() const;
};

struct ExplainOptions {
  RunChoice choice;
  double seconds = 1.0;
  int threads = 0;  // 0: all cores
  FillInputs fill = fill_inputs_randomly;
  std::function<void(double done)> progress;
};

// "12.3 %", of all kernels' time together.
std::string share_text(double ms, double all_ms);
// "35.9", in GMAC/s, and "87 %", of the peak of the step's instructions; empty where there is no such number.
std::string rate_text(const ExplainedStep& step);
std::string share_of_peak_text(const Explanation& explanation, const ExplainedStep& step);

// How long each of some whole runs took, ns: for so many seconds or ten thousand runs, at least three.
Result<std::vector<std::int64_t>> time_runs(Session& session, double seconds);
// Of times that are not none; they are in another order afterwards.
double median_ms(std::vector<std::int64_t>& ns);

// Runs a plan on seeded random numbers; one for a device, or for instructions that this machine lacks, is not run:
// times are those predicted, of one thread. Errors: those of
// loading and running.
Result<Explanation> explain(const std::string& name, const v1::CompiledModel& compiled, const ExplainOptions& options);

// The object that `explain --json` writes.
nlohmann::json explanation_json(const Explanation& explanation);
// A page that needs nothing else: totals, roofline, timeline, every kernel with the refusals of the others.
std::string explanation_html(const Explanation& explanation);
// The plan as an ONNX model: a node per kernel, times and shares as its attributes, for viewers. Not for running.
std::string explanation_onnx(const Explanation& explanation);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_EXPLAIN_H_
