// The verb einsum: products of matrices, after diagonals, sums and orders of axes. Part of import/.
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "import/verbs.h"

namespace octavo::importing {
namespace {

// One per axis: a letter, or an axis of the ellipsis by its distance from the last one, above all letters.
using Labels = std::vector<int>;
constexpr int kEllipsis = 256;

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

struct Operand {
  ValueId x;
  Labels labels;
};

// Letters of a term; an ellipsis becomes `axes` labels.
std::optional<Labels> labels_of(const std::string& term, int axes) {
  Labels labels;
  bool has_ellipsis = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(static_cast<unsigned char>(term[i]));
      continue;
    }
    if (has_ellipsis || term.compare(i, 3, "...") != 0) return std::nullopt;
    has_ellipsis = true;
    for (int axis = axes; axis-- > 0;) labels.push_back(kEllipsis + axis);
    i += 2;
  }
  return labels;
}

// The one term of a result that is left out: the ellipsis, then letters that occur once, sorted.
Labels implicit_result(const std::vector<Operand>& operands) {
  std::map<int, int> counts;
  for (const Operand& operand : operands) {
    for (const int label : operand.labels) ++counts[label];
  }
  Labels ellipsis, letters;
  for (const auto& [label, count] : counts) {
    if (label >= kEllipsis) ellipsis.insert(ellipsis.begin(), label);
    else if (count == 1) letters.push_back(label);
  }
  ellipsis.insert(ellipsis.end(), letters.begin(), letters.end());
  return ellipsis;
}

// Builds one einsum; every step has a number in its name.
class Contraction {
 public:
  explicit Contraction(NodeBuilder& in) : in_(in) {}

  // Axes with equal labels become one: their diagonal.
  void take_diagonals(Operand& operand) {
    for (std::size_t a = 0; a < operand.labels.size() && !in_.failed(); ++a) {
      const auto again = std::find(operand.labels.begin() + static_cast<std::ptrdiff_t>(a) + 1, operand.labels.end(),
                                   operand.labels[a]);
      if (again == operand.labels.end()) continue;
      const int label = operand.labels[a];
      Labels last = operand.labels;
      std::erase(last, label);
      last.insert(last.end(), {label, label});
      const Dim size = size_of(operand, label);
      order_axes(operand, last);
      Extents dims = in_.shape(operand.x).to_vector();
      if (in_.failed()) return;
      if (dims.back() != dims[dims.size() - 2] || !size.is_number()) {
        in_.unsupported(in_.place_of(operand.x), "shape " + in_.shape(operand.x).to_string(),
                        "equal and known sizes of a repeated label");
        return;
      }
      dims.pop_back();
      dims.back() = size * size;
      const ValueId flat = in_.reshape(operand.x, dims, next("square"));
      operand.x = slice(in_, flat, static_cast<std::int64_t>(dims.size()) - 1,
                        Range{.start = 0, .step = size.example() + 1, .size = size}, next("diagonal"));
      operand.labels.assign(last.begin(), last.end() - 1);
      a = static_cast<std::size_t>(-1);  // positions have changed
    }
  }

  // Without axes that nobody needs.
  void sum_unneeded(Operand& operand, const Labels& needed) {
    Integers axes;
    Labels kept;
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      if (has(needed, operand.labels[i])) kept.push_back(operand.labels[i]);
      else axes.push_back(static_cast<std::int64_t>(i));
    }
    if (axes.empty()) return;
    operand.x = reduce(in_, {.x = operand.x, .kind = ReduceKind::sum, .axes = axes, .keeps_dims = false}, next("sum"));
    operand.labels = kept;
  }

  // Both as matrices behind the axes that both have: [both..., rows of a, summed] x [both..., summed, columns of b].
  Operand product(Operand a, Operand b, const Labels& needed) {
    Labels both, summed, rows, columns;
    for (const int label : a.labels) {
      if (!has(b.labels, label)) rows.push_back(label);
      else (has(needed, label) ? both : summed).push_back(label);
    }
    for (const int label : b.labels) {
      if (!has(a.labels, label)) columns.push_back(label);
    }
    order_axes(a, joined(joined(both, rows), summed));
    order_axes(b, joined(joined(both, summed), columns));
    if (in_.failed()) return {};
    Extents dims, a_dims, b_dims;
    for (std::size_t i = 0; i < both.size(); ++i) {
      const Dim left = in_.shape(a.x)[static_cast<int>(i)], right = in_.shape(b.x)[static_cast<int>(i)];
      a_dims.push_back(left), b_dims.push_back(right);
      dims.push_back(is_one(left) ? right : left);
    }
    const Dim depth =
        widen_summed(a, b, summed, static_cast<int>(both.size() + rows.size()), static_cast<int>(both.size()));
    if (in_.failed()) return {};
    const auto add_free = [&](const Operand& operand, const Labels& labels, int first) {
      Dim elements = 1;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        dims.push_back(in_.shape(operand.x)[first + static_cast<int>(i)]);
        elements *= dims.back();
      }
      return elements;
    };
    const Dim height = add_free(a, rows, static_cast<int>(both.size()));
    const Dim width = add_free(b, columns, static_cast<int>(both.size() + summed.size()));
    a_dims.insert(a_dims.end(), {height, depth});
    b_dims.insert(b_dims.end(), {depth, width});
    const ValueId left = in_.reshape(a.x, a_dims, next("left")), right = in_.reshape(b.x, b_dims, next("right"));
    const ValueId y = summed.empty() ? in_.binary(BinaryKind::mul, left, right, next("product"))
                                     : matmul(in_, left, right, {}, next("product"));
    return {in_.reshape(y, dims, next("axes")), joined(joined(both, rows), columns)};
  }

  void order_axes(Operand& operand, const Labels& labels) {
    Integers perm;
    std::vector<bool> is_taken(operand.labels.size(), false);
    for (const int label : labels) {
      for (std::size_t i = 0; i < operand.labels.size(); ++i) {
        if (operand.labels[i] != label || is_taken[i]) continue;
        is_taken[i] = true;
        perm.push_back(static_cast<std::int64_t>(i));
        break;
      }
    }
    operand.x = transpose(in_, operand.x, perm, next("ordered"));
    operand.labels = labels;
  }

 private:
  static Labels joined(Labels a, const Labels& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  std::string next(const std::string& name) { return name + std::to_string(count_++); }
  Dim size_of(const Operand& operand, int label) const {
    const auto found = std::find(operand.labels.begin(), operand.labels.end(), label);
    return in_.shape(operand.x)[static_cast<int>(found - operand.labels.begin())];
  }

  // Of axes that are summed, those of size 1 are repeated as the other operand needs. Their number of elements.
  Dim widen_summed(Operand& a, Operand& b, const Labels& summed, int first_of_a, int first_of_b) {
    Dim depth = 1;
    Extents a_dims = in_.shape(a.x).to_vector(), b_dims = in_.shape(b.x).to_vector();
    for (std::size_t i = 0; i < summed.size(); ++i) {
      Dim& left = a_dims[static_cast<std::size_t>(first_of_a) + i];
      Dim& right = b_dims[static_cast<std::size_t>(first_of_b) + i];
      if (is_one(left)) left = right;
      if (is_one(right)) right = left;
      depth *= left;
    }
    if (!is_same(OpenShape(a_dims), in_.shape(a.x))) a.x = expand(in_, a.x, a_dims, next("wide"));
    if (!is_same(OpenShape(b_dims), in_.shape(b.x))) b.x = expand(in_, b.x, b_dims, next("wide"));
    return depth;
  }

  NodeBuilder& in_;
  int count_ = 0;
};

struct Terms {
  std::vector<std::string> operands;
  std::optional<std::string> result;
};

Terms split_terms(std::string equation) {
  std::erase_if(equation, [](unsigned char c) { return std::isspace(c) != 0; });
  Terms terms;
  if (const std::size_t arrow = equation.find("->"); arrow != std::string::npos) {
    terms.result = equation.substr(arrow + 2);
    equation.resize(arrow);
  }
  for (std::size_t begin = 0;;) {
    const std::size_t comma = equation.find(',', begin);
    terms.operands.push_back(equation.substr(begin, comma - begin));
    if (comma == std::string::npos) return terms;
    begin = comma + 1;
  }
}

// Sizes that a label has are equal or 1.
bool agrees(NodeBuilder& in, const std::vector<Operand>& operands) {
  std::map<int, Dim> sizes;
  for (const Operand& operand : operands) {
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      const Dim size = in.shape(operand.x)[static_cast<int>(i)];
      const auto [known, is_new] = sizes.emplace(operand.labels[i], size);
      if (is_new || is_one(size)) continue;
      if (!is_one(known->second) && known->second != size) return false;
      known->second = size;
    }
  }
  return true;
}

}  // namespace

ValueId einsum(NodeBuilder& in, const std::string& equation, const std::string& place, std::vector<ValueId> values) {
  const auto refuse = [&](const std::string& expected) { return in.fail(place, "'" + equation + "'", expected); };
  if (in.failed()) return {};
  const Terms terms = split_terms(equation);
  if (terms.operands.size() != values.size())
    return refuse("a term for each of " + std::to_string(values.size()) + " operands");
  std::vector<Operand> operands;
  int widest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& term = terms.operands[i];
    const auto letters = labels_of(term, 0);
    const bool has_ellipsis = term.find("...") != std::string::npos;
    const int left = letters ? in.rank(values[i]) - static_cast<int>(letters->size()) : -1;
    if (left < 0 || (left > 0 && !has_ellipsis))
      return refuse("letters for the axes of " + in.shape(values[i]).to_string() + " in term " + std::to_string(i));
    widest = std::max(widest, left);
    operands.push_back({values[i], *labels_of(term, left)});
  }
  const auto result = terms.result ? labels_of(*terms.result, widest) : std::optional(implicit_result(operands));
  if (!result) return refuse("letters behind '->'");
  for (std::size_t i = 0; i < result->size(); ++i) {
    const int label = (*result)[i];
    const bool is_known =
        std::any_of(operands.begin(), operands.end(), [&](const Operand& o) { return has(o.labels, label); });
    if (!is_known || has({result->begin() + static_cast<std::ptrdiff_t>(i) + 1, result->end()}, label))
      return refuse("labels of the operands behind '->', each once");
  }
  if (!agrees(in, operands)) return refuse("operands whose axes of one label have one size");
  Contraction contraction(in);
  for (Operand& operand : operands) contraction.take_diagonals(operand);
  // From the left; an axis is summed when no operand to come and not the result has it.
  Operand y = operands[0];
  for (std::size_t i = 0; i < operands.size() && !in.failed(); ++i) {
    Labels needed = *result;
    for (std::size_t k = i + 1; k < operands.size(); ++k)
      needed.insert(needed.end(), operands[k].labels.begin(), operands[k].labels.end());
    if (i > 0) {
      Labels of_y = needed;
      of_y.insert(of_y.end(), operands[i].labels.begin(), operands[i].labels.end());
      contraction.sum_unneeded(y, of_y);
      Labels of_other = needed;
      of_other.insert(of_other.end(), y.labels.begin(), y.labels.end());
      contraction.sum_unneeded(operands[i], of_other);
      y = contraction.product(y, operands[i], needed);
    }
    if (!in.failed()) contraction.sum_unneeded(y, needed);
  }
  if (in.failed()) return {};
  contraction.order_axes(y, *result);
  return y.x;
}

}  // namespace octavo::importing
