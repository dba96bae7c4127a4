// ProgramBuilder: the parts of a file whose control flow or shapes depend on data, for all formats. Part of import/.
//
// A format builds one graph after the other in GraphBuilder::graph. It leaves a graph where control flow stands, or
// where a value is read whose shape that graph computes; values are known by handles from then on, and enter the graphs
// that read them as inputs (constants as themselves). A file without such operators never leaves its graph, and stays
// that one graph.
#ifndef OCTAVO_IMPORT_PROGRAM_BUILDER_H_
#define OCTAVO_IMPORT_PROGRAM_BUILDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "import/import.h"
#include "plan/program.h"

namespace octavo::importing {

class GraphBuilder;

// A value whose shape is computed: its elements are the first of a tensor that has room for the most, `extents` is its
// shape (s64), `axes` are those whose extents are not known before. Where it `fills` the shape, it is one element, and
// all of the value are as it is.
struct ComputedShape {
  ValueId extents;
  std::vector<int> axes;
  bool fills = false;
};

// A value of the file, whichever graph makes it; -1 is none.
using Handle = int;
inline constexpr Handle kNoHandle = -1;

// Parts of one block, while they grow.
struct BlockTree;
struct PartTree {
  ProgramPart part;
  std::vector<BlockTree> blocks;
};
struct BlockTree {
  std::vector<std::int32_t> inputs;
  std::vector<PartTree> parts;
  std::vector<std::int32_t> outputs;
};

class ProgramBuilder {
 public:
  // `built` outlives it.
  explicit ProgramBuilder(GraphBuilder& built);

  // Whether there is more than the first graph.
  bool has_begun() const { return has_begun_; }

  // ---- values ----
  // Of the graph that is being built, before leave_graph().
  Handle handle_of(ValueId id);
  const Fact& fact(Handle handle) const { return values_[at(handle)].fact; }
  const std::string& name(Handle handle) const { return values_[at(handle)].name; }
  // In the graph that is being built: an input or a constant.
  ValueId enter(Handle handle);
  // A value that no graph makes: the input of a block, the output of control flow.
  Handle add_value(std::string name, Fact fact);
  // For parts; of a value that is not constant.
  std::int32_t index_of(Handle handle);
  // A size that is known in a run, by the extent of an axis of the value; the fact's extent becomes it.
  void open_axis(Handle handle, int axis, const SizeRange& range);
  // The extent of an axis is that of an axis of another value.
  void set_axis(Handle handle, int axis, Handle other, int other_axis) {
    values_[at(handle)].fact.shape[axis] = values_[at(other)].fact.shape[other_axis];
  }
  // Extents that depend on sizes which are no longer known after `scope` become sizes of the value's own.
  void open_inner_axes(Handle handle, std::size_t scope);
  // What sizes that have the usual length (ImportOptions::example_length) are taken to be in graphs from here on.
  void set_length(std::int64_t example) { length_ = example; }
  // Of what is known here, for open_inner_axes().
  std::size_t scope() const { return sizes_of_program_.size(); }

  // ---- parts ----
  // The graph is over; another, empty one begins. Values that are needed of it have handles.
  void leave_graph();
  // What follows, until end_block(), are parts of it. The graph has just been left, both times.
  void begin_block(BlockTree& block);
  void end_block();
  void add_part(PartTree part) { open_.back()->parts.push_back(std::move(part)); }

  // After the last part, the graph being left: the outputs of the program, and all of it. Parts that nothing depends on
  // are dropped. Errors: what verification finds.
  Result<ImportedProgram> finish(const std::vector<std::pair<std::string, Handle>>& outputs);

 private:
  static constexpr int kNoNetwork = -1;
  struct Known {
    std::string name;
    Fact fact;                 // extents by sizes_
    int network = kNoNetwork;  // that makes it
    ValueId id;                // there
    ValueId extents;           // there
    std::int32_t value = kNoIndex;
  };
  struct Export {
    std::int32_t value;
    ValueId id, extents;
  };
  struct Size {
    Dim dim;
    Handle carrier;  // a value that has it as an extent
  };
  struct Network {
    Graph graph;
    std::vector<std::int32_t> inputs;
    std::vector<Export> exports;
  };

  static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
  void begin();
  std::int32_t new_value(Handle handle);
  Dim new_size(OpenSize size, std::int64_t example, Handle carrier);
  // A size of the program in the graph that is being built.
  Dim entered(std::size_t size);
  std::vector<Dim> entered(std::span<const Dim> dims);
  std::vector<Dim> left(std::span<const Dim> dims);
  void enter_carriers();
  std::string unique(const std::string& name);
  void drop_unread(BlockTree& block, std::set<std::int32_t>& read);
  std::int32_t emit(const BlockTree& block, ImportedProgram& made, Errors& errors);
  Result<Graph> closed(Network& network, ProgramPart& part);

  GraphBuilder& built_;
  bool has_begun_ = false;
  std::optional<std::int64_t> length_;
  std::shared_ptr<Sizes> sizes_;  // of all graphs; those of each are made of these
  std::vector<Size> sizes_of_program_;
  std::vector<Known> values_;
  std::vector<Handle> handles_;  // by value of the program
  std::vector<Network> networks_;
  BlockTree main_;
  std::vector<BlockTree*> open_;

  // Of the graph that is being built.
  std::map<int, Handle> handle_of_id_;
  std::map<Handle, ValueId> entered_;
  std::map<int, Handle> inputs_;              // by ValueId
  std::vector<Dim> size_of_program_;          // by size of the graph
  std::map<std::size_t, Dim> size_of_graph_;  // by size of the program
  std::vector<std::size_t> uncarried_;        // sizes that no input of the graph has yet
  bool is_entering_ = false;
  std::set<std::string> names_;
};

}  // namespace octavo::importing

#endif  // OCTAVO_IMPORT_PROGRAM_BUILDER_H_
