// Other examples for the sizes of a file. Part of api/.
#include "api/readings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/open_planner.h"

namespace octavo::v1 {
namespace {

// Files ask about few sizes, and mean few things; each reading takes as long as the first. Most files that have no
// meaning at two such sizes have none at the others: then compiling takes a third longer.
constexpr std::size_t kMostReadings = 8;
constexpr std::size_t kMostRefused = 2;  // for each reading that was found

// What the graph's sizes are taken to be.
SizeValues examples_of(const Graph& graph) {
  SizeValues examples;
  for (const OpenSize& size : graph.sizes()->sizes()) examples.push_back(size.lowest_usual());
  for (const ValueId input : graph.inputs()) {
    for (const Dim& dim : graph.fact(input).shape) {
      if (const auto size = graph.sizes()->size_of(dim)) examples[*size] = dim.example();
    }
  }
  return examples;
}

// Each size alone and all of them as few as there can be, and one.
void add_few(const Graph& graph, std::vector<SizeValues>& sizes) {
  const std::vector<OpenSize>& open = graph.sizes()->sizes();
  const auto few = [](const OpenSize& size, std::int64_t number) {
    return std::clamp(number, size.range.lowest, size.range.highest) / size.step * size.step;
  };
  for (const std::int64_t number : {1, 0}) {
    SizeValues all;
    for (std::size_t i = 0; i < open.size(); ++i) {
      sizes.push_back(examples_of(graph));
      sizes.back()[i] = few(open[i], number);
      all.push_back(sizes.back()[i]);
    }
    sizes.push_back(std::move(all));
  }
}

}  // namespace

Reading reading_of(const Graph& graph) {
  Reading reading{graph, graph.sizes()->program()};
  keep_decisions(reading.sizes);
  return reading;
}

std::optional<Graph> closed_at(const Reading& reading, const SizeValues& sizes) {
  const auto table = Sizes::restored(reading.sizes);
  const auto values = table ? (*table)->evaluate(sizes) : table.errors();
  if (!values) return std::nullopt;
  Graph graph = reading.graph;
  return graph.close(*values) ? std::optional(std::move(graph)) : std::nullopt;
}

bool means_more(const Reading& reading, const Sizes& lowered) {
  std::vector<SizeValues> few;
  add_few(reading.graph, few);
  for (SizeCondition condition : lowered.conditions()) {
    condition.relation = opposite(condition.relation);
    if (auto found = lowered.example_for(condition)) few.push_back(std::move(*found));
  }
  return std::any_of(few.begin(), few.end(),
                     [&](const SizeValues& sizes) { return !lowered.evaluate(sizes) && closed_at(reading, sizes); });
}

std::vector<Graph> other_readings(const Graph& first, const ReadAt& read) {
  std::vector<Reading> readings = {reading_of(first)};
  std::set<SizeValues> refused;
  const auto is_done = [&] {
    return readings.size() > kMostReadings || refused.size() >= kMostRefused * readings.size();
  };
  const auto try_at = [&](const SizeValues& sizes) {
    const auto holds = [&](const Reading& reading) { return closed_at(reading, sizes).has_value(); };
    if (is_done() || refused.contains(sizes) || std::any_of(readings.begin(), readings.end(), holds)) return;
    auto graph = read(sizes);
    if (graph && graph->sizes() != nullptr && holds(reading_of(*graph))) readings.push_back(reading_of(*graph));
    else refused.insert(sizes);
  };
  for (std::size_t next = 0; next < readings.size(); ++next) {
    // Not the graph itself: readings move where they become more.
    const auto table = readings[next].graph.sizes();
    std::vector<SizeValues> few;
    add_few(readings[next].graph, few);
    for (const SizeCondition& other : table->other_answers()) {
      if (is_done()) break;
      if (const auto sizes = table->example_for(other)) try_at(*sizes);
    }
    for (const SizeValues& sizes : few) try_at(sizes);
  }
  std::vector<Graph> others;
  for (std::size_t i = 1; i < readings.size(); ++i) others.push_back(std::move(readings[i].graph));
  return others;
}

}  // namespace octavo::v1
