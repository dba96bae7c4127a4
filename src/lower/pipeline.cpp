// The passes of lowering, in their order. Part of lower/.
#include <algorithm>
#include <functional>

#include "graph/open_shape.h"
#include "lower/channels_last.h"
#include "lower/islands.h"
#include "lower/lower.h"
#include "lower/merge_duplicates.h"
#include "lower/quantized_value.h"
#include "lower/relabel.h"
#include "lower/rounding_profiles.h"
#include "lower/rules/activation_patterns.h"
#include "lower/rules/addition_before_reshape.h"
#include "lower/rules/attention_heads.h"
#include "lower/rules/attention_pattern.h"
#include "lower/rules/cancel_moves.h"
#include "lower/rules/channel_tables.h"
#include "lower/rules/clamp_for_pair.h"
#include "lower/rules/drop_identity.h"
#include "lower/rules/fixed_table.h"
#include "lower/rules/fold_batch_norm.h"
#include "lower/rules/fold_constants.h"
#include "lower/rules/fuse_attention.h"
#include "lower/rules/fuse_binary.h"
#include "lower/rules/fuse_convolution.h"
#include "lower/rules/fuse_float_conv.h"
#include "lower/rules/fuse_float_depthwise.h"
#include "lower/rules/fuse_hybrid.h"
#include "lower/rules/fuse_hybrid_result.h"
#include "lower/rules/fuse_l2_norm.h"
#include "lower/rules/fuse_layer_norm.h"
#include "lower/rules/fuse_matmul.h"
#include "lower/rules/fuse_pool.h"
#include "lower/rules/fuse_product.h"
#include "lower/rules/fuse_rescale.h"
#include "lower/rules/fuse_residual.h"
#include "lower/rules/fuse_resize.h"
#include "lower/rules/fuse_s16_conv.h"
#include "lower/rules/fuse_softmax.h"
#include "lower/rules/fuse_sum.h"
#include "lower/rules/fuse_table.h"
#include "lower/rules/kept_in_float.h"
#include "lower/rules/late_broadcast.h"
#include "lower/rules/layer_norm_pattern.h"
#include "lower/rules/matmul_to_conv.h"
#include "lower/rules/pad_into_window.h"
#include "lower/rules/parallel_convs.h"
#include "lower/rules/rows_in_order.h"
#include "lower/rules/scale_into_conv.h"
#include "lower/rules/scale_into_matmul.h"
#include "lower/rules/split_concat.h"
#include "lower/rules/structure_on_integers.h"
#include "lower/rules/transpose_into_weights.h"
#include "lower/rules/transposed_to_conv.h"
#include "lower/rules/xnnpack_table.h"
#include "ops/average_pool/average_pool.h"
#include "ops/conv/conv.h"
#include "ops/reduce/reduce.h"
#include "ops/resize/resize.h"

namespace octavo {
namespace {

// Averages and resizes count or measure their images.
bool waits(const Graph& graph, const Node& node) {
  const auto* reduce = node.attrs.get_if<ReduceAttrs>();
  const bool is_sum = reduce != nullptr && (reduce->kind == ReduceKind::mean || reduce->kind == ReduceKind::sum);
  if (!is_sum && node.spec != &kAveragePool && node.spec != &kResize) return false;
  const OpenShape& x = graph.fact(node.inputs[0]).shape;
  return is_open(x.dims()) && dequantized(graph, node.inputs[0], Stored::bytes_or_s16).has_value();
}

// Runs passes, checks the graph after each and keeps the report; after the first error nothing more happens.
class Driver {
 public:
  Driver(Graph& graph, const LowerOptions& options)
      : graph_(graph), options_(options), profiles_(rounding_profiles(graph)), budget_(options.patch_limit) {
    graph_.remove_unused();
    report_.nodes_before = graph_.node_count();
    check("entry");
  }

  // A rule, asked for every node until it finds nothing more.
  void rule(std::string_view name, const Matcher& matcher) {
    if (is_over()) return;
    PassReport pass = rewrite(graph_, name, matcher, options_.patch_limit < 0 ? nullptr : &budget_);
    errors_ = pass.failures;
    finish(std::move(pass));
  }

  // Several rules that make work for one another.
  void rules(std::string_view name, std::initializer_list<Match (*)(const Graph&, const Node&)> matchers) {
    rule(name, [&](const Graph& graph, const Node& node) {
      std::string reason;
      for (const auto matcher : matchers) {
        Match match = matcher(graph, node);
        if (std::holds_alternative<Patch>(match)) return match;
        if (reason.empty()) reason = std::get<std::string>(std::move(match));
      }
      return Match(std::move(reason));
    });
  }

  void fold_large_constants() {
    rule("fold_large", [&](const Graph& graph, const Node& node) {
      Match match = fold_constants(graph, node);
      return std::holds_alternative<Patch>(match) ? match : octavo::fold_large_constants(graph, node, fold_budget_);
    });
  }

  // A rewrite of the whole graph; counts as one patch.
  void whole(std::string_view name, const std::function<Status(Graph&)>& pass) {
    if (is_over()) return;
    const Status status = pass(graph_);
    if (!status) errors_ = status.errors();
    --budget_;
    PassReport entry{.pass = std::string(name)};
    entry.add("graph", status.ok());
    finish(std::move(entry));
  }

  int applied(std::string_view name) const {
    int count = 0;
    for (const PassReport& pass : report_.passes) count += pass.pass == name ? pass.applied() : 0;
    return count;
  }

  // Whether an operator on integers is left that has its form at known sizes only (see lower_closed).
  bool waits_for_sizes() {
    const auto& order = graph_.order();
    return report_.waits_for_sizes =
               graph_.sizes() != nullptr &&
               std::any_of(order.begin(), order.end(), [&](const NodeId id) { return waits(graph_, graph_.node(id)); });
  }

  bool takes_floats_of_file() const { return options_.floats_of_file_in_bytes; }
  void note(std::string text) { report_.notes.push_back(std::move(text)); }
  void find_islands() { report_.islands = octavo::find_islands(graph_, report_.passes); }

  Result<LowerReport> finished() {
    if (!errors_.empty()) return errors_;
    if (const Status status = verify_rounding(graph_, profiles_); !status) return status.errors();
    report_.nodes_after = graph_.node_count();
    return std::move(report_);
  }

 private:
  bool is_over() const { return !errors_.empty() || (options_.patch_limit >= 0 && budget_ <= 0); }

  void check(std::string_view pass) {
    const Status status = verify(graph_);
    if (status) return;
    for (Error error : status.errors()) {
      error.where = "after pass '" + std::string(pass) + "': " + error.where;
      errors_.push_back(std::move(error));
    }
  }

  void finish(PassReport pass) {
    if (errors_.empty() && pass.applied() > 0) check(pass.pass);
    if (options_.print) report_.prints.push_back("after " + pass.pass + "\n" + to_string(graph_));
    report_.passes.push_back(std::move(pass));
  }

  Graph& graph_;
  const LowerOptions& options_;
  const ProfileSet profiles_;  // of the file
  int budget_;
  FoldBudget fold_budget_;
  LowerReport report_;
  Errors errors_;
};

Status merge_duplicates_pass(Graph& graph) {
  merge_duplicates(graph);
  return ok_status();
}

void clean(Driver& driver) {
  driver.rules("clean", {drop_identity, fold_constants, settle_comparison, drop_true, expand_later});
  driver.fold_large_constants();
}

// Exact in real numbers, so for graphs and parts of graphs that compute in f32.
void simplify_floats(Driver& driver) {
  driver.rules("simplify", {fold_batch_norm, scale_into_conv, scale_into_matmul, pad_into_window, layer_norm_pattern,
                            activation_patterns, merge_clamps, attention_pattern});
  // Once all of them are there: heads are found behind reshapes and transposes, however these came about.
  driver.rules("attention",
               {attention_heads, mask_before_expand, cancel_moves, rows_in_order, drop_identity, fold_constants});
  // What could not be folded into a convolution becomes one.
  driver.rule("batch_norm_to_conv", batch_norm_to_conv);
  driver.rule("parallel_convs", parallel_convs);
}

// Convolutions and products that stay in f32, with what follows them; what depthwise ones sum is LiteRT's.
void fuse_floats(Driver& driver) {
  // Why they are in f32 was said before: what these rules refuse is no reason.
  const auto tried = [](Match (*matcher)(const Graph&, const Node&)) {
    return [matcher](const Graph& graph, const Node& node) {
      Match match = matcher(graph, node);
      return std::holds_alternative<Patch>(match) ? std::move(match) : Match(std::string());
    };
  };
  driver.rule("fuse_float_depthwise", fuse_float_depthwise);
  driver.rule("float_products", tried(matmul_to_conv));
  driver.rule("float_convolutions", tried(fuse_float_conv));
  driver.rules("islands", {fold_all_constants, drop_identity});
}

// Everything but what counts or measures images of an open size: that waits.
void fuse_integers(Driver& driver) {
  const auto attention = driver.takes_floats_of_file() ? fuse_attention : fuse_attention_of_quantizer;
  driver.rules("fuse", {fuse_s16_conv, fuse_convolution, fuse_binary, fuse_pool, fuse_sum, fuse_resize, fuse_l2_norm,
                        fuse_layer_norm, fuse_softmax, fuse_matmul, attention, fuse_rescale, fuse_hybrid_result});
  // Additions go into convolutions before tables do: a table is the last thing an operator does.
  driver.rule("fuse_residual", fuse_residual);
  driver.rules("table_into_producer", {table_into_producer, table_before_view, drop_identity});

  // Whoever else reads a normalisation of integers has it in f32.
  driver.rule("layer_norm_to_f32", layer_norm_to_f32);
  // What is left computes in f32: now its activations may become single nodes, and its weights f32 constants.
  driver.rules("islands", {activation_patterns, merge_clamps, scale_into_conv, fold_all_constants, drop_identity});
  fuse_floats(driver);
}

void finish_integers(Driver& driver) {
  // Last, so that every rule above sees the types of the file.
  driver.whole("relabel_signed", relabel_signed);
  driver.rules("clean", {drop_identity, table_into_producer, into_channel_table});
  driver.rule("channel_table_to_table", channel_table_to_table);
  driver.whole("merge_duplicates", merge_duplicates_pass);
  driver.find_islands();
}

void lower_to_integers(Driver& driver, const std::set<std::string>& kept_in_f32) {
  clean(driver);
  if (!kept_in_f32.empty()) {
    driver.rule("kept_in_float",
                [&](const Graph& graph, const Node& node) { return keep_in_float(graph, node, kept_in_f32); });
    clean(driver);
  }
  // Batch norms of layers that are not quantized; activations stay as they are written, because a table repeats exactly
  // what the file says.
  driver.rules("simplify", {fold_batch_norm, scale_into_conv, scale_into_matmul, pad_into_window, layer_norm_pattern,
                            attention_pattern});
  driver.rules("attention", {attention_heads, mask_before_expand});
  driver.whole("merge_duplicates", merge_duplicates_pass);

  // Layout comes before fusion: fused convolutions exist in one layout only, and transposes would stand between an
  // operator and its quantize.
  driver.whole("channels_last", make_channels_last);
  clean(driver);

  // Structural operators leave the room between dequantize and quantize. The matrix products need their operands bare,
  // and bring reshapes with them.
  driver.rules("structure", {structure_before_dequantize, structure_after_quantize, before_concat, drop_identity,
                             fold_constants, transposed_to_conv});
  driver.rules("matmul_to_conv", {fuse_product, quantized_matmul_to_conv});
  driver.rule("addition_before_reshape", addition_before_reshape);
  driver.rules("structure",
               {structure_before_dequantize, structure_after_quantize, before_concat, drop_identity, fold_constants});

  driver.rule("transpose_into_weights", transpose_into_weights);

  // Tables first: x * sigmoid(x) with a quantize inside is one function of x, and would otherwise be taken for a
  // product of two values.
  driver.rules("tflite_table", {fixed_table, xnnpack_table, fuse_fixed_rescale});
  driver.rules("fuse_table", {fuse_table, into_integer_channel_table});
  driver.rules("fuse_hybrid", {fuse_hybrid, fuse_hybrid_rows});
  fuse_integers(driver);
  if (!driver.waits_for_sizes()) finish_integers(driver);
}

// Over two axes they are convolutions like others, which oneDNN knows.
Match depthwise_of_volumes(const Graph& graph, const Node& node) {
  const bool is_volume = node.spec == &kConv && node.attrs.as<ConvAttrs>().window.rank() == 3;
  return is_volume ? fuse_float_depthwise(graph, node) : Match(std::string());
}

void lower_to_floats(Driver& driver) {
  clean(driver);
  driver.whole("merge_duplicates", merge_duplicates_pass);
  // Pairs meet once the structural operators between them are out of the way.
  driver.rules("pairs", {structure_after_dequantize, clamp_for_pair});
  driver.rules("constants", {drop_identity, fold_all_constants});
  simplify_floats(driver);
  driver.whole("merge_duplicates", merge_duplicates_pass);
  driver.whole("channels_last", make_channels_last);
  clean(driver);
  driver.rule("matmul_to_conv", matmul_to_conv);
  driver.rule("transposed_to_conv", transposed_to_conv);
  driver.rules("structure", {structure_after_quantize, drop_identity, fold_constants});
  driver.rule("transpose_into_weights", transpose_into_weights);
  driver.rule("fuse_float_depthwise", depthwise_of_volumes);
  driver.rule("fuse_float_conv", fuse_float_conv);
  driver.rules("clean", {merge_clamps, drop_identity, into_channel_table});
  driver.rule("channel_table_to_table", channel_table_to_table);
  if (const int pairs = driver.applied("pairs"); pairs > 0) {
    driver.note("quantized weights became f32 and " + std::to_string(pairs) +
                " quantize/dequantize pairs a clamp to their range, or nothing where no value can leave it");
  }
}

}  // namespace

void record_input_scales(Graph& graph) {
  for (const ValueId input : graph.inputs()) {
    if (graph.fact(input).quant) continue;
    for (const NodeId reader : graph.readers(input)) {
      const auto real = dequantized_by(graph, graph.node(reader));
      if (!real || real->q != input) continue;
      graph.set_quant(input, real->type.params());
      break;
    }
  }
}

Result<LowerReport> lower(Graph& graph, const LowerOptions& options) {
  if (options.precision == Precision::int8) record_input_scales(graph);
  Driver driver(graph, options);
  if (options.precision == Precision::int8) lower_to_integers(driver, options.kept_in_f32);
  else lower_to_floats(driver);
  return driver.finished();
}

Result<LowerReport> lower_closed(Graph& graph, const LowerOptions& options) {
  Driver driver(graph, options);
  fuse_integers(driver);
  finish_integers(driver);
  return driver.finished();
}

Result<LowerReport> simplify(Graph& graph) {
  const LowerOptions options;
  Driver driver(graph, options);
  clean(driver);
  simplify_floats(driver);
  clean(driver);
  return driver.finished();
}

}  // namespace octavo
