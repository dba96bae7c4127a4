// Reading --shape. Part of cli/.
#include "cli/shapes.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace octavo::cli {
namespace {

// "224", or "32..1024" or "32..1024/32"; what is behind it stays in `text`.
std::optional<Extent> read_extent(std::string_view& text) {
  const auto number = [&]() -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 1) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return value;
  };
  const auto skips = [&](std::string_view sign) {
    if (!text.starts_with(sign)) return false;
    text.remove_prefix(sign.size());
    return true;
  };
  const auto lowest = number();
  if (!lowest || !skips("..")) return lowest ? std::optional(Extent(*lowest)) : std::nullopt;
  const auto highest = number();
  const auto step = highest && skips("/") ? number() : std::optional(std::int64_t{1});
  if (!highest || !step || *highest < *lowest) return std::nullopt;
  return Extent(*lowest, *highest, *step);
}

// "1x3x32..1024x32..1024/32"
std::optional<std::vector<Extent>> read_extents(std::string_view text) {
  std::vector<Extent> extents;
  while (true) {
    const auto extent = read_extent(text);
    if (!extent) return std::nullopt;
    extents.push_back(*extent);
    if (text.empty()) return extents;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
}

Error shapes_usage(std::string found, std::string expected, std::string where = "--shape") {
  return {
      .kind = ErrorKind::usage, .where = std::move(where), .found = std::move(found), .expected = std::move(expected)};
}

bool are_numbers(const std::vector<Extent>& extents) { return std::ranges::all_of(extents, &Extent::is_number); }

// Of one input, several shapes.
Status check_list(const std::string& name, const std::vector<std::vector<Extent>>& list) {
  for (const std::vector<Extent>& extents : list) {
    if (!are_numbers(extents))
      return shapes_usage(fmt::format("a range for '{}' beside several shapes", name),
                          "numbers, or ranges and one shape");
    if (extents.size() != list.front().size())
      return shapes_usage(fmt::format("a shape of {} dimensions for '{}'", extents.size(), name),
                          fmt::format("{}, as the first", list.front().size()));
  }
  return ok_status();
}

// As many of each input, or one.
Status check_lengths(const ShapeLists& lists, std::size_t count) {
  std::string lengths;
  bool is_good = true;
  for (const auto& [name, list] : lists) {
    lengths += fmt::format("{}{} of '{}'", lengths.empty() ? "" : ", ", list.size(), name);
    is_good = is_good && (list.size() == 1 || list.size() == count);
  }
  return is_good ? ok_status() : shapes_usage("shapes: " + lengths, "as many of each input, or one");
}

// What stays open where the shapes of a list differ.
std::vector<Extent> span_of(const std::vector<std::vector<Extent>>& list) {
  std::vector<Extent> span = list.front();
  for (const std::vector<Extent>& extents : list) {
    for (std::size_t axis = 0; axis < span.size(); ++axis) {
      span[axis].lowest = std::min(span[axis].lowest, extents[axis].lowest);
      span[axis].highest = std::max(span[axis].highest, extents[axis].highest);
    }
  }
  return span;
}

}  // namespace

void read_shapes(const std::string& text, ShapeLists& lists) {
  const std::size_t equals = text.rfind('=');
  const bool has_name = equals != std::string::npos && equals != 0;
  std::string_view rest = has_name ? std::string_view(text).substr(equals + 1) : std::string_view();
  while (true) {
    const std::string_view one = rest.substr(0, rest.find(';'));
    auto extents = read_extents(one);
    if (!extents)
      throw CLI::ValidationError("--shape",
                                 "found '" + text +
                                     "', expected NAME=1x3x224x224, several with ';', or with LOWEST..HIGHEST or "
                                     "LOWEST..HIGHEST/STEP for a number");
    lists[text.substr(0, equals)].push_back(std::move(*extents));
    if (one.size() == rest.size()) return;
    rest.remove_prefix(one.size() + 1);
  }
}

Result<std::vector<v1::InputShapes>> shapes_in(const ShapeLists& lists) {
  std::size_t count = 0;
  bool has_ranges = false;
  for (const auto& [name, list] : lists) {
    count = std::max(count, list.size());
    has_ranges = has_ranges || !are_numbers(list.front());
  }
  if (const Status fit = check_lengths(lists, count); !fit) return fit.errors();
  for (const auto& [name, list] : lists) {
    const Status good = count > 1 ? check_list(name, list) : ok_status();
    if (!good) return good.errors();
  }
  std::vector<v1::InputShapes> shapes(has_ranges ? 0 : count);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (const auto& [name, list] : lists) {
      for (const Extent& extent : list[list.size() == 1 ? 0 : i]) shapes[i][name].push_back(extent.lowest);
    }
  }
  return shapes;
}

Status settle_shapes(const ShapeLists& lists, std::span<const std::string> models, CompileRequest& request) {
  auto shapes = shapes_in(lists);
  if (!shapes) return shapes.errors();
  if (!lists.empty() && shapes->empty() && std::any_of(models.begin(), models.end(), is_compiled_file))
    return shapes_usage("a range beside a compiled model", "numbers: the sizes that it runs at");
  if (!shapes->empty() && request.options.batches.size() > 1)
    return shapes_usage(fmt::format("{} batches beside --shape", request.options.batches.size()),
                        "none, or one: shapes say the batch", "--batch");
  for (const auto& [name, list] : lists) request.options.shapes[name] = span_of(list);
  if (shapes->size() > 1) request.options.planned_shapes = *shapes;
  request.shapes = std::move(*shapes);
  return ok_status();
}

}  // namespace octavo::cli
