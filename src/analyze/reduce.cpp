// Delta debugging over the nodes of a graph. Part of analyze/.
#include "analyze/reduce.h"

#include <algorithm>

namespace octavo {
namespace {

class Reducer {
 public:
  Reducer(const OnnxSlicer& slicer, const Holds& holds, const ReduceOptions& options)
      : slicer_(slicer), holds_(holds), options_(options), left_(slicer.choices()) {}

  Result<Reduction> run() {
    Reduction result{.nodes_before = static_cast<std::int64_t>(left_.size())};
    if (!try_with(left_)) {
      if (!errors_.empty()) return errors_;
      if (!may_go_on()) return Error{ErrorKind::cancelled, "reduce", "an interruption before the first trial", "", ""};
      return Error{ErrorKind::usage, "reduce", "a model of which it does not hold", "one that fails", ""};
    }
    for (std::size_t length = std::max<std::size_t>(1, left_.size() / 2); may_go_on(); length = next(length)) {
      const bool is_shorter = pass(length);
      if (length == 1 && !is_shorter && may_go_on()) {
        result.is_smallest = true;
        break;
      }
    }
    if (!errors_.empty()) return errors_;
    result.model = std::move(best_);
    result.trials = trials_;
    result.nodes_after = static_cast<std::int64_t>(left_.size());
    return result;
  }

 private:
  static std::size_t next(std::size_t length) { return std::max<std::size_t>(1, length / 2); }

  bool may_go_on() const {
    return errors_.empty() && trials_ < options_.trials && (!options_.goes_on || options_.goes_on());
  }

  // Without each run of nodes of this length, from the last on: an end is cut off without new inputs. Whether any could
  // go.
  bool pass(std::size_t length) {
    bool is_shorter = false;
    std::size_t end = left_.size();
    while (end > 0 && may_go_on()) {
      const std::size_t begin = end - std::min(length, end);
      std::vector<std::size_t> without = left_;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(begin),
                    without.begin() + static_cast<std::ptrdiff_t>(end));
      is_shorter |= try_with(without);
      end = begin;
    }
    return is_shorter;
  }

  // These nodes are what is left from now on, where it holds of them.
  bool try_with(const std::vector<std::size_t>& choices) {
    NodeSet nodes(static_cast<std::size_t>(slicer_.model().graph().node_size()), false);
    for (const std::size_t choice : choices) nodes[choice] = true;
    if (!tried_.insert(nodes).second) return false;
    auto part = slicer_.slice(nodes);
    if (!part) return false;
    ++trials_;
    const auto holds = holds_(*part);
    if (!holds) errors_ = holds.errors();
    const bool is_taken = holds && *holds;
    if (is_taken) {
      left_ = choices;
      best_ = std::move(*part);
    }
    if (options_.on_trial) options_.on_trial(trials_, static_cast<std::int64_t>(left_.size()));
    return is_taken;
  }

  const OnnxSlicer& slicer_;
  const Holds& holds_;
  const ReduceOptions& options_;
  std::vector<std::size_t> left_;
  std::set<NodeSet> tried_;
  onnx::ModelProto best_;
  std::int64_t trials_ = 0;
  Errors errors_;
};

}  // namespace

Result<Reduction> reduce_model(const OnnxSlicer& slicer, const Holds& holds, const ReduceOptions& options) {
  return Reducer(slicer, holds, options).run();
}

}  // namespace octavo
