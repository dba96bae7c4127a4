// Small graphs whose files leave sizes open, of every kind of operator that touches shapes. For the tests of api/.
#ifndef OCTAVO_TESTS_API_SIZE_GRAPHS_H_
#define OCTAVO_TESTS_API_SIZE_GRAPHS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "api/network.h"
#include "octavo/compile.h"

namespace octavo::testing {

// By the file's names for them.
using SizeMap = std::map<std::string, std::int64_t>;

struct SizeGraph {
  std::string name;
  std::function<std::string()> bytes;             // the file
  std::map<std::string, std::int64_t> most = {};  // of sizes, in a test; of others 12
  // Where the file has no meaning: ONNX Runtime 1.32 refuses the size too. It takes all others.
  std::function<bool(const SizeMap&)> is_refused = {};
  v1::CompileOptions options = {.precision = Precision::fp32};
  std::int64_t indices = 4;  // inputs of integers are from 0 to below this
};
inline void PrintTo(const SizeGraph& graph, std::ostream* out) { *out << graph.name; }

// What makes the nodes of a network; its graph outputs are those that it names.
std::function<std::string()> onnx_of(const std::function<void(Network&)>& make, std::int64_t opset = 17);

// What one of api/open_networks.h writes.
std::function<std::string()> file_of(std::string (*write)(const std::string& name));

// Each table in a file of its own.
std::vector<SizeGraph> shaping_graphs();
std::vector<SizeGraph> image_graphs();
std::vector<SizeGraph> row_graphs();
std::vector<SizeGraph> quantized_graphs();
std::vector<SizeGraph> other_format_graphs();
std::vector<SizeGraph> all_size_graphs();

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_API_SIZE_GRAPHS_H_
