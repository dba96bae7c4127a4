// --max-drop: an accuracy budget for the verbs that quantize. Part of cli/.
#ifndef OCTAVO_CLI_BUDGET_H_
#define OCTAVO_CLI_BUDGET_H_

#include <functional>
#include <optional>
#include <string>

#include "cli/common.h"
#include "cli/options.h"

namespace octavo::cli {

// What --max-drop is about: right answers or equal ones lost against fp32, in points, or the least signal to noise, in
// dB.
enum class Metric : std::uint8_t { top1, agreement, sqnr };

struct BudgetArguments {
  std::optional<double> max_drop;
  std::optional<Metric> metric;
  std::string images, labels;
  std::string log;
};
// Also --threads and --seconds of what is timed, which the request holds.
void add_budget_options(CLI::App& verb, BudgetArguments& arguments, CompileRequest& request);

// Within a budget the samples are also what answers are judged by.
inline SamplesFor samples_of(const BudgetArguments& arguments) {
  return arguments.max_drop ? SamplesFor::judging : SamplesFor::scales;
}

// Options that only mean something beside --max-drop, or need one another.
Status check_budget(const BudgetArguments& arguments, const CompileRequest& request);

// Writes what the request compiles or quantizes to; called for every variant that is the best so far.
using WriteVariant = std::function<Status(const CompileRequest& request)>;

// Searches the fastest variant between int8 and fp32 within the budget; prints every one that is measured. The exit
// code: 1 where none is within the budget.
int run_budget(const std::string& model, const CompileRequest& request, const BudgetArguments& arguments,
               const WriteVariant& write);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_BUDGET_H_
