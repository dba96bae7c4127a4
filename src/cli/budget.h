// --max-drop: an accuracy budget for the verbs that quantize. Part of cli/.
#ifndef OCTAVO_CLI_BUDGET_H_
#define OCTAVO_CLI_BUDGET_H_

#include <functional>
#include <optional>
#include <string>

#include "cli/common.h"

namespace octavo::cli {

struct BudgetArguments {
  std::optional<double> max_drop;
  std::string metric;
  std::string images, labels;
  std::string log;
  int threads = 0;
  double seconds = 0.25;
};
void add_budget_options(CLI::App& verb, BudgetArguments& arguments);

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
