// The runner that uses the operators' references. Part of quantize/.
#include "quantize/runner.h"

#include <algorithm>

#include "ops/evaluate.h"

namespace octavo {
namespace {

class ReferenceRunner final : public GraphRunner {
 public:
  ReferenceRunner(const Graph& graph, std::vector<ValueId> chosen) : graph_(graph), chosen_(std::move(chosen)) {}

  Status run(const std::vector<Tensor>& inputs, const Visit& visit) override {
    const auto results = evaluate(graph_, inputs, [&](ValueId id, const Tensor& tensor) {
      const auto it = std::find(chosen_.begin(), chosen_.end(), id);
      if (it != chosen_.end()) visit(static_cast<std::size_t>(it - chosen_.begin()), tensor.view());
    });
    if (!results) return results.errors();
    return ok_status();
  }

 private:
  const Graph& graph_;
  std::vector<ValueId> chosen_;
};

}  // namespace

std::unique_ptr<GraphRunner> make_reference_runner(const Graph& graph, std::vector<ValueId> chosen) {
  return std::make_unique<ReferenceRunner>(graph, std::move(chosen));
}

}  // namespace octavo
