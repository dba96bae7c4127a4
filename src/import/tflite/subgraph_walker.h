// Walks over the operators of a TFLite file's subgraphs. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_SUBGRAPH_WALKER_H_
#define OCTAVO_IMPORT_TFLITE_SUBGRAPH_WALKER_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "import/tflite/model_file.h"
#include "import/tflite/operator_reader.h"

namespace octavo::tflite_import {

class SubgraphWalker {
 public:
  SubgraphWalker(const ModelFile& model, Building& building) : model_(model), building_(building) {}

  // Makes a subgraph the one that is read: its tensors are those of `building`, its constants are made. False, with
  // errors, where it is not to be read. `place` names who asks for it.
  bool begin(int index, const std::string& place);
  // The operators of the subgraph that is read.
  void read_operators();
  // The one before is read again.
  void end();

  const file::SubGraph& subgraph() const { return *subgraph_; }
  int operators_read() const { return static_cast<int>(operators_); }
  // A tensor as what a block of a program hands on; kNoHandle where it could not be read.
  Handle handle_of(std::int32_t tensor);

  // A value that is kept from run to run: a variable, and the tensor that it is read into first; or the variable tensor
  // of an operator that computes one step of a stream.
  struct State {
    std::string variable;  // of Building::variables
    std::string name;      // of the input and the output of the model
    std::int32_t tensor;
    bool is_of_operator = false;
  };
  // Of the subgraph that is read, in the order in which it changes them.
  std::vector<State> states() const;
  // What it is after a run, as handle_of().
  Handle handle_of_state(const State& state);

 private:
  // An operator, and how messages name it.
  struct Place {
    const file::Operator& op;
    std::string origin;
  };
  // A value wherever it is: in the graph that is being built, or made by one before.
  struct Bound {
    ValueId value;
    Handle handle = kNoHandle;
    std::string resource;
  };

  int operator_count() const;
  const file::Operator& operator_at(int index) const;
  const FileTensor& tensor_at(std::int32_t index) const { return building_.tensors[static_cast<std::size_t>(index)]; }
  const file::OperatorCode* code_of(const file::Operator& op) const;
  std::string type_of(const file::Operator& op) const;
  // Operators have no names; that of the first result stands for them.
  std::string name_of_operator(int index) const;
  std::string origin_of(int index) const;

  void check_lists();
  void check_indices(const flatbuffers::Vector<std::int32_t>* list, const std::string& place, std::int32_t lowest);
  void list_unread();
  void add_constants();
  bool inputs_are_known(int index);
  void make_empty(std::size_t tensor);
  bool outputs_are_new(int index);
  void read_operator(int index);
  void forget_outputs(const file::Operator& op);

  // ---- control_flow.cpp ----
  static bool is_control_flow(int code);
  void read_control_flow(int code, const Place& at);
  void wrong(const Place& at, ErrorKind kind, const std::string& what, std::string found, std::string expected);
  int input_count(const Place& at) const;
  std::int32_t input(const Place& at, int index) const;
  bool has_counts(const Place& at, int inputs, int outputs);
  Bound bound(std::int32_t tensor);
  void bind(std::int32_t tensor, const Bound& value);
  std::optional<DType> type_of(const Bound& value) const;
  bool bind_argument(int index, const Bound& argument);
  bool begin_called(const Place& at, int subgraph, const std::vector<Bound>& arguments, int outputs);
  // The subgraph stands where the operator did.
  void read_inside(const Place& at, int subgraph, const std::vector<Bound>& arguments);
  void read_if(const Place& at);
  void read_while(const Place& at);
  bool read_block(const Place& at, int subgraph, const std::vector<Bound>& arguments, BlockTree& block,
                  std::vector<Handle>& results);
  bool read_iteration(const Place& at, int subgraph, const std::vector<Handle>& carried,
                      const std::vector<std::vector<bool>>& is_open, BlockTree& block, std::vector<Handle>& results);

  // ---- variables.cpp ----
  bool has_state(const file::Operator& svdf) const;
  void read_call_once(const Place& at);
  void read_variable_operator(int code, const Place& at);
  void assign(const Place& at, const std::string& name);
  void check_beginning(const Place& at, const std::string& name, const FileTensor& value);
  bool stays_as_it_is(const Place& at, const std::string& name, const FileTensor& value);

  const ModelFile& model_;
  Building& building_;
  const file::SubGraph* subgraph_ = nullptr;
  std::vector<std::pair<const file::SubGraph*, std::string>> around_;  // those that wait, and their scopes
  std::set<int> checked_;                                              // subgraphs whose operators were listed
  std::set<int> called_once_;
  std::int64_t operators_ = 0;
  int depth_in_blocks_ = 0;
};

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_SUBGRAPH_WALKER_H_
