// Constant folding at import. Part of import/.
#include "import/fold.h"

#include <algorithm>

#include "graph/open_shape.h"
#include "import/fold_extents.h"

namespace octavo {
namespace {

// The outputs; empty where the budget does not allow them.
std::vector<Tensor> fold(const OpSpec& spec, const Attrs& attrs, InputFacts inputs, const std::vector<Fact>& outputs,
                         std::int64_t& budget) {
  // Every node pays something, so that a file of very many tiny nodes ends too.
  std::int64_t work = 1;
  for (const Fact* input : inputs) work += input != nullptr ? input->shape.elements().example() : 0;
  for (const Fact& output : outputs) work += output.shape.elements().example();
  if (work > budget) return {};
  budget -= work;
  std::vector<ConstTensorView> input_views;
  for (const Fact* input : inputs)
    input_views.push_back(input != nullptr ? input->constant->view() : ConstTensorView{});
  // References find an input that is left out at the end by its missing data too.
  if (!spec.inputs.empty() && spec.inputs.back().back() != '*') input_views.resize(spec.inputs.size());
  std::vector<Tensor> results;
  std::vector<TensorView> output_views;
  for (const Fact& output : outputs) {
    results.emplace_back(output.dtype, output.shape);
    output_views.push_back(results.back().view());
  }
  spec.reference(attrs, input_views, output_views);
  return results;
}

}  // namespace

std::vector<ValueId> add_folded(Graph& graph, const OpSpec& spec, const Attrs& attrs,
                                const std::vector<ValueId>& inputs, const std::string& name, std::int64_t& budget) {
  if (!spec.folds_at_import) return {};
  if (graph.sizes() != nullptr) graph.sizes()->set_asking("node '" + name + "'");
  std::vector<Fact> known;
  for (ValueId input : inputs) {
    if (input.exists()) known.push_back(fact_with_sizes(graph, input));
    if (!input.exists() || known.back().is_constant()) continue;
    const ValueId made =
        graph.sizes() != nullptr ? add_integers_of_floats(graph, spec, attrs, inputs, name) : ValueId{};
    return made.exists() ? std::vector<ValueId>{made} : std::vector<ValueId>{};
  }
  std::vector<const Fact*> facts;
  std::size_t next = 0;
  for (ValueId input : inputs) facts.push_back(input.exists() ? &known[next++] : nullptr);
  auto inferred = infer_checked(spec, attrs, facts);
  if (!inferred) return {};  // the graph will say why
  const bool has_open =
      std::any_of(facts.begin(), facts.end(), [](const Fact* fact) { return fact != nullptr && fact->extents; });
  if (has_open && is_for_the_run(attrs, facts)) return {};
  // Its elements depend on sizes: it is computed once these are known.
  const bool stays_open =
      std::any_of(inferred->begin(), inferred->end(), [](const Fact& fact) { return is_open(fact.shape.dims()); });
  if (stays_open) return {};
  if (has_open) {
    auto folded = add_folded_extents(graph, spec, attrs, facts, *inferred, name);
    const bool is_of_floats = inferred->size() == 1 && is_float(inferred->front().dtype);
    if (!folded.empty() || is_of_floats) return folded;
    for (const Fact* fact : facts) {
      if (fact != nullptr && fact->extents != nullptr) static_cast<void>(fixed(*fact->extents));
    }
  }
  std::vector<ValueId> made;
  for (Tensor& tensor : fold(spec, attrs, facts, *inferred, budget))
    made.push_back(graph.add_constant(name, std::move(tensor)));
  return made;
}

}  // namespace octavo
