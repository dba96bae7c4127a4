// The whole way from a graph to answers: lower, plan, load, run. Part of the conformance runner.
#ifndef OCTAVO_TESTS_CONFORMANCE_PIPELINE_H_
#define OCTAVO_TESTS_CONFORMANCE_PIPELINE_H_

#include <string>
#include <vector>

#include "base/machine.h"
#include "base/result.h"
#include "graph/graph.h"
#include "import/import.h"
#include "lower/lower.h"

namespace octavo::conformance {

struct Way {
  std::string name;  // "scalar int8"
  Machine machine;
  Precision precision = Precision::int8;
};

// The scalar target and this machine; a model without quantized operators in fp32 too.
std::vector<Way> all_ways(bool is_quantized);

// One tensor per graph input in, one per graph output out, with one thread. `reference_steps` grows by the steps that
// the reference stood in for.
Result<std::vector<Tensor>> run_compiled(Graph graph, const Way& way, const std::vector<Tensor>& inputs,
                                         int& reference_steps);

// The same of a program: each network lowered and, where its sizes are fixed, planned; what is open is planned when its
// sizes come.
Result<std::vector<Tensor>> run_program(const ImportedProgram& program, const Way& way,
                                        const std::vector<Tensor>& inputs, int& reference_steps);

}  // namespace octavo::conformance

#endif  // OCTAVO_TESTS_CONFORMANCE_PIPELINE_H_
