// The tables of ATen operators, joined. Part of import/.
#include "import/pt2/operators.h"

#include <algorithm>

namespace octavo::pt2_import {
namespace {

bool is_listed(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

const Operator* find_exactly(std::string_view name, std::string_view overload) {
  const auto all = all_operators();
  auto entry = std::lower_bound(all.begin(), all.end(), name,
                                [](const Operator& a, std::string_view wanted) { return a.name < wanted; });
  for (; entry != all.end() && entry->name == name; ++entry) {
    if (is_listed(entry->overloads, overload)) return &*entry;
  }
  return nullptr;
}

std::string_view without(std::string_view name, std::string_view end) {
  return name.size() > end.size() && name.substr(name.size() - end.size()) == end
             ? name.substr(0, name.size() - end.size())
             : std::string_view();
}

}  // namespace

std::span<const Operator> all_operators() {
  static const std::vector<Operator> kAll = [] {
    std::vector<Operator> all;
    for (const auto& table : {kConstants, kCore, kElementwise, kImages, kIntegerProducts, kProducts, kQuantized,
                              kQuantizedInRun, kRecurrent, kSelection, kShaping})
      all.insert(all.end(), table.begin(), table.end());
    std::stable_sort(all.begin(), all.end(), [](const Operator& a, const Operator& b) { return a.name < b.name; });
    return all;
  }();
  return kAll;
}

Operator find_operator(std::string_view target) {
  Operator none{target, {}, Aliasing::fresh, nullptr};
  const std::size_t dot = target.rfind('.');
  if (dot == std::string_view::npos) return none;
  const std::string_view name = target.substr(0, dot), overload = target.substr(dot + 1);
  if (const Operator* found = find_exactly(name, overload)) return *found;
  const auto is_of_memory = [](const Operator* found) {
    return found != nullptr && found->aliasing != Aliasing::fresh;
  };
  if (const Operator* view = find_exactly(without(name, "_copy"), overload); is_of_memory(view))
    return {view->name, view->overloads, Aliasing::fresh, view->read};
  const Operator* functional = find_exactly(without(name, "_"), overload);
  if (functional == nullptr) return none;
  if (functional->aliasing == Aliasing::same) return *functional;
  // x.unsqueeze_(0) would give x itself another shape.
  if (functional->aliasing == Aliasing::view) return none;
  return {functional->name, functional->overloads, Aliasing::in_place, functional->read};
}

}  // namespace octavo::pt2_import
