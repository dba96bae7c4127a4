// A comparison with another engine as text and as JSON. Part of analyze/.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analyze/against.h"
#include "analyze/table.h"

namespace octavo {
namespace {

// Names of TFLite files run on for lines; JSON has them whole.
std::string brief(const std::string& name) {
  constexpr std::size_t kMost = 48;
  return name.size() <= kMost ? name : name.substr(0, kMost - 3) + "...";
}

std::string type_of(const ComparedTensor& tensor) {
  return fmt::format("{}[{}]", name_of(tensor.dtype), tensor.shape.to_string());
}

std::string db_of(const Difference& difference) {
  return difference.differing == 0 ? "equal" : fmt::format("{:.1f}", difference.sqnr_db);
}

std::string in_words(const ComparedTensor& tensor, const std::string& engine) {
  const Difference& difference = tensor.difference;
  const std::string maker =
      tensor.tensor.op.empty() ? "" : fmt::format(", of node '{}' ({})", tensor.tensor.node, tensor.tensor.op);
  return fmt::format(
      "first: '{}'{} leaves {}: SQNR {:.1f} dB, {} of {} elements differ, by at most {:g}; first at {}: {:g} there and "
      "{:g} here\n",
      tensor.tensor.name, maker, engine, difference.sqnr_db, difference.differing, difference.elements,
      difference.largest, position_in(tensor.shape, *difference.first), difference.first_a, difference.first_b);
}

nlohmann::json json_of(const ComparedTensor& tensor) {
  const Difference& difference = tensor.difference;
  const bool has_db = difference.differing != 0 && std::isfinite(difference.sqnr_db);
  return {{"name", tensor.tensor.name},
          {"node", tensor.tensor.node},
          {"op", tensor.tensor.op},
          {"dtype", name_of(tensor.dtype)},
          {"shape", tensor.shape.to_vector()},
          {"elements", difference.elements},
          {"differing", difference.differing},
          {"sqnr_db", has_db ? nlohmann::json(difference.sqnr_db) : nlohmann::json()},
          {"largest", difference.largest},
          {"first", difference.first ? nlohmann::json(*difference.first) : nlohmann::json()},
          {"agrees", tensor.agrees}};
}

}  // namespace

std::string against_text(const AgainstReport& report) {
  Table table({"tensor", "node", "operator", "type", "#SQNR dB", "#differing", "#of", "#at most", ""});
  std::size_t leaving = 0;
  for (const ComparedTensor& tensor : report.tensors) {
    const Difference& difference = tensor.difference;
    table.add_row({brief(tensor.tensor.name), brief(tensor.tensor.node), tensor.tensor.op, type_of(tensor),
                   db_of(difference), std::to_string(difference.differing), std::to_string(difference.elements),
                   fmt::format("{:g}", difference.largest), tensor.agrees ? "" : "leaves"});
    leaving += tensor.agrees ? 0 : 1;
  }
  std::string text = table.text();
  text += fmt::format(
      "{} tensors beside {}: {} leave it. {} others of the file were not compared: inside a kernel here, "
      "constant, or in another form\n",
      report.tensors.size(), report.engine, leaving, report.not_compared);
  if (const ComparedTensor* first = report.first()) text += in_words(*first, report.engine);
  return text;
}

nlohmann::json against_json(const AgainstReport& report) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const ComparedTensor& tensor : report.tensors) tensors.push_back(json_of(tensor));
  const ComparedTensor* first = report.first();
  return {{"engine", report.engine},
          {"same", first == nullptr},
          {"first", first == nullptr ? nlohmann::json() : nlohmann::json(first->tensor.name)},
          {"not_compared", report.not_compared},
          {"tensors", tensors}};
}

}  // namespace octavo
