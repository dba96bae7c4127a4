// A restricted machine for pickles: values are data of known kinds, calls are two functions that we know. Part of
// import/.
#include "import/pt2/pickle.h"

#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "import/pt2/types.h"

namespace octavo::pt2_import {
namespace {

// A state dict of 100,000 tensors has two million values.
constexpr std::size_t kMostPickled = std::size_t{1} << 21;
// Tensors copy these; more would let a short program multiply a long one.
constexpr std::size_t kMostSizes = 64;
constexpr std::size_t kLongestKey = 64;

enum class Kind { none, boolean, integer, text, tuple, list, dict, global, storage, tensor };

// All values live in one pool and refer to one another by pointer, so that nothing is destroyed recursively, however
// deep it nests.
struct Value {
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  std::string text;           // text, global ("torch FloatStorage"), storage (its key)
  std::vector<Value*> items;  // tuple and list; dict: key, value, key, value, ...
  PickledTensor tensor;       // tensor; storage: its type
};

class Machine {
 public:
  Machine(std::string_view bytes, const std::string& where) : rest_(bytes), total_(bytes.size()), where_(where) {}

  Result<std::map<std::string, PickledTensor>> run() {
    while (!error_ && !is_done_) step();
    if (error_) return *error_;
    if (stack_.size() != 1) return invalid("a stack of " + std::to_string(stack_.size()) + " values at the end", "one");
    return tensors_of(*stack_[0]);
  }

 private:
  Error invalid(std::string found, std::string expected) const {
    return {ErrorKind::invalid_input, where_ + ", byte " + std::to_string(total_ - rest_.size()), std::move(found),
            std::move(expected), ""};
  }
  void fail(std::string found, std::string expected) {
    if (!error_) error_ = invalid(std::move(found), std::move(expected));
  }
  void refuse(std::string found, std::string hint = "") {
    if (error_) return;
    error_ = invalid(std::move(found), "what a state dict of tensors needs");
    error_->kind = ErrorKind::unsupported;
    error_->hint = std::move(hint);
  }

  // ---- bytes ----
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) {
      fail("the end of the pickle", std::to_string(count) + " bytes more");
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  // Little-endian, `size` up to 8.
  std::uint64_t take_number(std::size_t size) {
    const std::string_view bytes = take(size);
    std::uint64_t number = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
    return number;
  }

  std::string_view take_line() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) {
      fail("the end of the pickle", "a line");
      return {};
    }
    const std::string_view line = take(end);
    take(1);
    return line;
  }

  // ---- values ----
  Value* make(Kind kind) {
    if (pool_.size() >= kMostPickled) fail("more than " + std::to_string(kMostPickled) + " values", "fewer");
    if (error_) return &nothing_;
    pool_.emplace_back().kind = kind;
    return &pool_.back();
  }
  void push(Kind kind) { stack_.push_back(make(kind)); }
  void push_integer(std::int64_t number) {
    Value* value = make(Kind::integer);
    value->integer = number;
    stack_.push_back(value);
  }
  void push_text(Kind kind, std::string text) {
    Value* value = make(kind);
    if (value != &nothing_) value->text = std::move(text);
    stack_.push_back(value);
  }

  Value* pop() {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) {
      fail("a value taken from an empty stack", "a value");
      return &nothing_;
    }
    Value* value = stack_.back();
    stack_.pop_back();
    return value;
  }

  std::vector<Value*> pop_to_mark() {
    if (marks_.empty()) {
      fail("no mark on the stack", "one");
      return {};
    }
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Value*> values(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }

  // The container that stays on the stack.
  Value* top(Kind kind, std::string_view what) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() > floor && stack_.back()->kind == kind) return stack_.back();
    fail("something else", std::string(what));
    return &nothing_;
  }

  void push_tuple(std::vector<Value*> items) {
    Value* tuple = make(Kind::tuple);
    if (tuple != &nothing_) tuple->items = std::move(items);
    stack_.push_back(tuple);
  }

  void push_tuple_of(std::size_t count) {
    std::vector<Value*> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push_tuple(std::move(items));
  }

  void append(Kind kind, std::string_view what, const std::vector<Value*>& items) {
    Value* container = top(kind, what);
    if (kind == Kind::dict && items.size() % 2 != 0) fail("a key without a value", "pairs");
    if (error_) return;
    container->items.insert(container->items.end(), items.begin(), items.end());
    // A short program could otherwise copy a long list again and again.
    appended_ += items.size();
    if (appended_ > kMostPickled) fail("more than " + std::to_string(kMostPickled) + " items", "fewer");
  }

  void set_item() {
    Value* value = pop();
    Value* key = pop();
    append(Kind::dict, "a dict", {key, value});
  }

  void remember(std::uint64_t key) {
    if (stack_.empty()) return fail("nothing to remember", "a value");
    memo_[key] = stack_.back();
  }

  void recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return fail("memo " + std::to_string(key) + ", which was never set", "one that was");
    stack_.push_back(found->second);
  }

  // LONG1: up to 8 bytes of two's complement.
  void push_long() {
    const std::uint64_t size = take_number(1);
    if (size > 8) return fail("an integer of " + std::to_string(size) + " bytes", "at most 8");
    std::uint64_t number = take_number(size);
    if (size > 0 && size < 8 && (number >> (8 * size - 1) & 1) != 0) number |= ~std::uint64_t{0} << 8 * size;
    push_integer(static_cast<std::int64_t>(number));
  }

  // ---- calls ----
  void push_global() {
    const std::string module(take_line());
    const std::string name(take_line());
    if (error_) return;
    const std::string global = module + " " + name;
    const bool is_storage = module == "torch" && name.size() > 7 && name.compare(name.size() - 7, 7, "Storage") == 0;
    const bool is_known = global == "collections OrderedDict" || global == "torch._utils _rebuild_tensor_v2" ||
                          global == "torch._utils _rebuild_parameter" || is_storage;
    // Tensors of classes of their own, as torchao's quantize_ makes them, which several tensors stand behind.
    const bool is_of_torch = module.starts_with("torch");
    if (!is_known)
      return refuse(
          "the global '" + module + "." + name + "'",
          is_of_torch ? "Save torch.export.ExportedProgram.run_decompositions({}), whose tensors are plain" : "");
    push_text(Kind::global, global);
  }

  // ('storage', torch.FloatStorage, key, device, elements)
  void load_persistent() {
    const Value* id = pop();
    const auto is = [&](std::size_t i, Kind kind) { return id->items[i]->kind == kind; };
    const bool is_storage = id->kind == Kind::tuple && id->items.size() == 5 && is(0, Kind::text) &&
                            id->items[0]->text == "storage" && is(1, Kind::global) && is(2, Kind::text) &&
                            is(3, Kind::text) && is(4, Kind::integer) && id->items[2]->text.size() <= kLongestKey;
    if (!is_storage) return fail("a reference to something unknown", "a storage");
    const std::string& global = id->items[1]->text;
    const std::string name = global.substr(global.find(' ') + 1);
    const auto dtype = dtype_of_storage(name);
    if (!dtype) return refuse("a storage of type " + name);
    Value* storage = make(Kind::storage);
    if (error_) return;
    storage->tensor.view.dtype = *dtype;
    storage->tensor.storage = id->items[2]->text;
    storage->tensor.storage_elements = id->items[4]->integer;
    stack_.push_back(storage);
  }

  static std::optional<std::vector<std::int64_t>> integers_of(const Value& tuple) {
    if (tuple.kind != Kind::tuple || tuple.items.size() > kMostSizes) return std::nullopt;
    std::vector<std::int64_t> numbers;
    for (const Value* item : tuple.items) {
      if (item->kind != Kind::integer) return std::nullopt;
      numbers.push_back(item->integer);
    }
    return numbers;
  }

  // (storage, offset, sizes, strides, requires_grad, hooks, ...)
  void rebuild_tensor(const std::vector<Value*>& args) {
    if (args.size() < 4 || args[0]->kind != Kind::storage || args[1]->kind != Kind::integer)
      return fail("a tensor of other parts", "a storage");
    const auto sizes = integers_of(*args[2]), strides = integers_of(*args[3]);
    if (!sizes || !strides) return fail("a tensor without sizes and strides", "tuples of up to 64 integers");
    Value* tensor = make(Kind::tensor);
    if (error_) return;
    tensor->tensor = args[0]->tensor;
    tensor->tensor.view.sizes = *sizes;
    tensor->tensor.view.strides = *strides;
    tensor->tensor.view.offset = args[1]->integer;
    stack_.push_back(tensor);
  }

  void reduce() {
    const Value* args = pop();
    const Value* function = pop();
    if (error_) return;
    if (function->kind != Kind::global || args->kind != Kind::tuple)
      return fail("a call of no function", "a function and its arguments");
    if (function->text == "collections OrderedDict" && args->items.empty()) return push(Kind::dict);
    if (function->text == "torch._utils _rebuild_tensor_v2") return rebuild_tensor(args->items);
    const bool is_parameter = function->text == "torch._utils _rebuild_parameter" && !args->items.empty() &&
                              args->items[0]->kind == Kind::tensor;
    if (!is_parameter)
      return refuse("a call of '" + function->text + "' with " + std::to_string(args->items.size()) + " arguments");
    stack_.push_back(args->items[0]);
  }

  // The state of an OrderedDict: version numbers of modules.
  void build() {
    const Value* state = pop();
    top(Kind::dict, "a dict");
    if (!error_ && state->kind != Kind::dict) fail("a state of another kind", "a dict");
  }

  // ---- the loop ----
  void step() {
    const std::string_view code = take(1);
    if (error_) return;
    switch (static_cast<unsigned char>(code[0])) {
      case 0x80: return check_protocol();
      case '}': return push(Kind::dict);
      case ']': return push(Kind::list);
      case ')': return push(Kind::tuple);
      case 'N': return push(Kind::none);
      case 0x88:
      case 0x89: return push(Kind::boolean);
      case 'K': return push_integer(static_cast<std::int64_t>(take_number(1)));
      case 'M': return push_integer(static_cast<std::int64_t>(take_number(2)));
      case 'J': return push_integer(static_cast<std::int32_t>(take_number(4)));
      case 0x8a: return push_long();
      case 'X': return push_text(Kind::text, std::string(take(take_number(4))));
      case '(': return marks_.push_back(stack_.size());
      case 't': return push_tuple(pop_to_mark());
      case 0x85: return push_tuple_of(1);
      case 0x86: return push_tuple_of(2);
      case 0x87: return push_tuple_of(3);
      case 'a': return append(Kind::list, "a list", {pop()});
      case 'e': return append_marked(Kind::list, "a list");
      case 's': return set_item();
      case 'u': return append_marked(Kind::dict, "a dict");
      case 'q': return remember(take_number(1));
      case 'r': return remember(take_number(4));
      case 'h': return recall(take_number(1));
      case 'j': return recall(take_number(4));
      case 'c': return push_global();
      case 'Q': return load_persistent();
      case 'R': return reduce();
      case 'b': return build();
      case '.': is_done_ = true; return;
      default: return refuse("opcode " + std::to_string(static_cast<unsigned char>(code[0])));
    }
  }

  void check_protocol() {
    const std::uint64_t version = take_number(1);
    if (!error_ && version != 2) refuse("protocol " + std::to_string(version));
  }

  void append_marked(Kind kind, std::string_view what) {
    const std::vector<Value*> items = pop_to_mark();
    append(kind, what, items);
  }

  Result<std::map<std::string, PickledTensor>> tensors_of(const Value& value) const {
    std::map<std::string, PickledTensor> tensors;
    if (value.kind == Kind::tensor) {
      tensors.emplace("", value.tensor);
      return tensors;
    }
    if (value.kind != Kind::dict) return invalid("no dict of tensors", "one");
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
      const Value& key = *value.items[i];
      const Value& item = *value.items[i + 1];
      if (key.kind != Kind::text) return invalid("a key that is no string", "names of tensors");
      if (item.kind != Kind::tensor) {
        return Error{ErrorKind::unsupported, where_ + ": '" + key.text + "'", "an object that is no tensor", "tensors",
                     ""};
      }
      tensors[key.text] = item.tensor;
    }
    return tensors;
  }

  std::string_view rest_;
  std::size_t total_;
  const std::string& where_;
  std::deque<Value> pool_;
  Value nothing_;  // what is read after an error
  std::vector<Value*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Value*> memo_;
  std::size_t appended_ = 0;
  std::optional<Error> error_;
  bool is_done_ = false;
};

}  // namespace

Result<std::map<std::string, PickledTensor>> read_pickle(std::string_view bytes, const std::string& where) {
  return Machine(bytes, where).run();
}

}  // namespace octavo::pt2_import
