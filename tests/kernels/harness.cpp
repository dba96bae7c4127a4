// Runs every kernel that takes a call against the operator's reference. Part of tests/kernels/.
#include "kernels/harness.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/schedule.h"
#include "planner/choice_list.h"
#include "support/amx_emulator.h"
#include "support/cuda_runner.h"

namespace octavo::testing {
namespace {

// `bytes` of memory that end at an unmapped page, filled with a pattern.
class PageEdgeBuffer {
 public:
  explicit PageEdgeBuffer(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    mapped_ = (bytes + page_ - 1) / page_ * page_ + 2 * page_;
    base_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(base_, MAP_FAILED);
    mprotect(base_, page_, PROT_NONE);
    mprotect(base_ + mapped_ - page_, page_, PROT_NONE);
    std::memset(base_ + page_, 0xa5, mapped_ - 2 * page_);
    data_ = base_ + mapped_ - page_ - bytes;
  }
  ~PageEdgeBuffer() { munmap(base_, mapped_); }
  PageEdgeBuffer(const PageEdgeBuffer&) = delete;
  PageEdgeBuffer& operator=(const PageEdgeBuffer&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::size_t page_, mapped_;
  std::byte* base_;
  std::byte* data_;
};

enum class Split { whole, one_by_one, in_place };

struct Prepared {
  OpCall call;
  std::vector<Fact> input_facts;
  std::vector<std::optional<Tensor>> inputs;
  std::vector<Tensor> expected;
};

bool is_constant(const KernelCase& test, std::size_t i) { return i < test.is_constant.size() && test.is_constant[i]; }

std::optional<Prepared> prepare_call(const KernelCase& test) {
  Prepared prepared;
  prepared.inputs = test.inputs;
  std::vector<ConstTensorView> views;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    Fact fact;
    if (const auto& tensor = test.inputs[i]) {
      fact = {.dtype = tensor->dtype(), .shape = tensor->shape()};
      if (is_constant(test, i)) fact.constant = std::make_shared<Tensor>(*tensor);
      views.push_back(tensor->view());
    } else {
      views.emplace_back();
    }
    prepared.input_facts.push_back(fact);
  }
  for (std::size_t i = 0; i < test.inputs.size(); ++i)
    prepared.call.inputs.push_back(test.inputs[i] ? &prepared.input_facts[i] : nullptr);
  auto facts = infer_checked(*test.spec, test.attrs, prepared.call.inputs);
  if (!facts) {
    ADD_FAILURE() << test.spec->name << ": " << to_string(facts.errors());
    return std::nullopt;
  }
  prepared.call.spec = test.spec;
  prepared.call.attrs = &test.attrs;
  prepared.call.outputs = *facts;
  std::vector<TensorView> outputs;
  for (const Fact& fact : *facts) prepared.expected.emplace_back(fact.dtype, fact.shape);
  for (Tensor& tensor : prepared.expected) outputs.push_back(tensor.view());
  test.spec->reference(test.attrs, views, outputs);
  return prepared;
}

// The step that run/ would prepare; refers to `packed`.
StepSpec step_of(const KernelChoice& kernel, const KernelCase& test, const Prepared& prepared,
                 const std::vector<Tensor>& packed, bool is_padded = false) {
  StepSpec spec{.spec = test.spec, .attrs = &test.attrs};
  for (const Tensor& tensor : packed) spec.packed.push_back(tensor.view());
  for (std::size_t i = 0; i < prepared.inputs.size(); ++i) {
    const auto& tensor = prepared.inputs[i];
    if (!tensor) {
      spec.inputs.push_back({.is_present = false});
      continue;
    }
    const bool keeps_constant = is_constant(test, i) && !kernel.code.packs;
    spec.inputs.push_back({.dtype = tensor->dtype(),
                           .shape = tensor->shape(),
                           .constant = keeps_constant ? tensor->data() : nullptr,
                           .is_packed = is_constant(test, i) && kernel.code.packs,
                           .is_padded = is_padded});
  }
  for (const Fact& fact : prepared.call.outputs) spec.outputs.push_back({.dtype = fact.dtype, .shape = fact.shape});
  return spec;
}

std::vector<Tensor> packed_by(const KernelChoice& kernel, const Prepared& prepared) {
  return kernel.code.packs ? kernel.pack(prepared.call) : std::vector<Tensor>{};
}

// A file may lie about what a kernel packed: too little, of another type, or what a run has to read.
void check_lies_are_refused(const KernelChoice& kernel, const KernelCase& test, const Prepared& prepared) {
  const std::vector<Tensor> packed = packed_by(kernel, prepared);
  const StepSpec truth = step_of(kernel, test, prepared, packed);
  const auto expect_refused = [&](const StepSpec& lie, const char* what, std::size_t i) {
    const auto step = kernel.code.prepare(lie);
    ASSERT_FALSE(step.ok()) << kernel.code.name << ": " << what << " " << i;
    EXPECT_EQ(step.errors()[0].kind, ErrorKind::invalid_input) << to_string(step.errors());
  };
  for (std::size_t i = 0; i < packed.size(); ++i) {
    if (packed[i].elements() == 0) continue;  // stands for an input that is left out
    StepSpec lie = truth;
    lie.packed[i].shape = Shape{packed[i].elements() - 1};
    expect_refused(lie, "short tensor", i);
    lie = truth;
    lie.packed[i].dtype = packed[i].dtype() == DType::f64 ? DType::s64 : DType::f64;
    expect_refused(lie, "another type of tensor", i);
    lie = truth;
    lie.packed.resize(i);
    expect_refused(lie, "number of tensors:", i);
  }
  for (std::size_t i = 0; i < truth.inputs.size(); ++i) {
    if (!truth.inputs[i].is_present || truth.inputs[i].is_packed) continue;
    StepSpec lie = truth;
    lie.inputs[i].is_packed = true;
    expect_refused(lie, "packed input", i);
  }
}

void run_items(const Step& step, StepBuffers buffers, Split split) {
  for (buffers.round = 0; buffers.round < step.rounds(); ++buffers.round) {
    std::memset(buffers.scratch, 0x5a, step.scratch_bytes());
    if (split != Split::one_by_one) step.run(buffers, {0, step.items()});
    for (std::int64_t item = step.items(); split == Split::one_by_one && item-- > 0;) {
      std::memset(buffers.scratch, 0x5a, step.scratch_bytes());
      step.run(buffers, {item, item + 1});
    }
  }
}

std::string first_difference(const Tensor& expected, const std::byte* found) {
  const ConstTensorView found_view{expected.dtype(), expected.shape(), found};
  const std::size_t size = size_of(expected.dtype());
  std::int64_t differing = 0, first = -1;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const auto offset = static_cast<std::size_t>(i) * size;
    if (std::memcmp(expected.data() + offset, found + offset, size) == 0) continue;
    // The sign and payload of a NaN are not part of any result.
    const double a = element_as_double(expected.view(), i), b = element_as_double(found_view, i);
    if (is_float(expected.dtype()) && a != a && b != b) continue;
    if (differing++ == 0) first = i;
  }
  if (differing == 0) return {};
  char text[200];
  std::snprintf(text, sizeof text, "%lld of %lld differ, first at %lld: expected %.17g, found %.17g",
                static_cast<long long>(differing), static_cast<long long>(expected.elements()),
                static_cast<long long>(first), element_as_double(expected.view(), first),
                element_as_double(found_view, first));
  return text;
}

// Runs once and compares. The buffers are new, so that nothing is left from another run.
void run_and_compare(const KernelChoice& kernel, const KernelCase& test, const Prepared& prepared, Split split,
                     std::span<const std::byte> schedule = {}) {
  const std::vector<Tensor> packed = packed_by(kernel, prepared);
  // Once with what buffers of an arena have, else as tensors of the caller are. Schedules are made for the former.
  const std::size_t slack = split == Split::whole || !schedule.empty() ? kReadSlack : 0;
  StepSpec spec = step_of(kernel, test, prepared, packed, slack > 0);
  spec.schedule = schedule;
  auto step = kernel.code.prepare(spec);
  const std::string text = schedule_text(kernel.code, schedule);
  if (!step) {
    ADD_FAILURE() << kernel.code.name << " " << text << ": " << to_string(step.errors());
    return;
  }
  if (!schedule.empty()) {
    EXPECT_EQ(schedule_text(kernel.code, (*step)->schedule()), text) << kernel.code.name;
  }
  std::vector<std::unique_ptr<PageEdgeBuffer>> inputs, outputs;
  std::vector<const std::byte*> input_pointers;
  std::vector<std::byte*> output_pointers;
  for (std::size_t i = 0; i < prepared.inputs.size(); ++i) {
    const auto& tensor = prepared.inputs[i];
    const bool is_packed = is_constant(test, i) && kernel.code.packs;
    inputs.push_back(std::make_unique<PageEdgeBuffer>(tensor ? tensor->bytes() + slack : 0));
    if (tensor && tensor->bytes() != 0) std::memcpy(inputs.back()->data(), tensor->data(), tensor->bytes());
    input_pointers.push_back(tensor && !is_packed ? inputs.back()->data() : nullptr);
  }
  for (const Tensor& tensor : prepared.expected) {
    outputs.push_back(std::make_unique<PageEdgeBuffer>(tensor.bytes()));
    output_pointers.push_back(outputs.back()->data());
  }
  if (split == Split::in_place)
    output_pointers[0] = inputs[static_cast<std::size_t>(kernel.code.in_place_input(prepared.call))]->data();
  Tensor scratch(DType::u8, Shape{static_cast<std::int64_t>((*step)->scratch_bytes())});
  std::memset(scratch.data(), 0x5a, scratch.bytes());
  StepFailure failure;
  run_items(**step, {input_pointers, output_pointers, scratch.data(), &failure}, split);
  EXPECT_EQ(failure.take(), nullptr) << kernel.code.name;
  for (std::size_t i = 0; i < prepared.expected.size(); ++i) {
    const std::string difference = first_difference(prepared.expected[i], output_pointers[i]);
    EXPECT_TRUE(difference.empty()) << kernel.code.name << " " << text << " split " << static_cast<int>(split) << " "
                                    << test.attrs.to_string() << " output " << i << " "
                                    << prepared.expected[i].shape().to_string() << ": " << difference;
  }
}

// All legal, with times. Kernels with knobs may have calls that have none.
std::vector<Candidate> candidates_of(const KernelChoice& kernel, const OpCall& call, int threads) {
  if (kernel.candidates == nullptr) return {};
  std::vector<Candidate> all = kernel.candidates(call, host_machine(), threads);
  for (const Candidate& candidate : all) {
    const std::string text = schedule_text(kernel.code, candidate.schedule);
    EXPECT_EQ(kernel.schedule_refusal(call, host_machine(), candidate.schedule), "") << kernel.code.name << " " << text;
    EXPECT_TRUE(candidate.ns > 0.0 && std::isfinite(candidate.ns)) << kernel.code.name << " " << text;
  }
  return all;
}

// What the kernel chooses by itself is a schedule that may be given.
void check_choice_is_legal(const KernelChoice& kernel, const KernelCase& test, const Prepared& prepared) {
  const std::vector<Tensor> packed = packed_by(kernel, prepared);
  for (const int threads : {1, 2, 3, 8}) {
    StepSpec spec = step_of(kernel, test, prepared, packed, true);
    spec.threads = threads;
    const auto step = kernel.code.prepare(spec);
    ASSERT_TRUE(step.ok()) << kernel.code.name;
    if ((*step)->schedule().empty()) continue;
    EXPECT_EQ(kernel.schedule_refusal(prepared.call, host_machine(), (*step)->schedule()), "")
        << kernel.code.name << " " << schedule_text(kernel.code, (*step)->schedule());
  }
}

// The schedule with one number that is another one: mostly near, sometimes far away.
std::vector<std::byte> changed(std::mt19937& random, const KernelCode& code, const std::vector<std::byte>& schedule) {
  auto numbers = *decode_schedule(schedule, code.knobs.size());
  std::int64_t& number = numbers[random() % numbers.size()];
  switch (random() % 4) {
    case 0: number = std::max<std::int64_t>(0, number - 1); break;
    case 1: ++number; break;
    case 2: number = static_cast<std::int64_t>(random() % (2 * static_cast<std::uint64_t>(number) + 2)); break;
    default: number = random() % 2 == 0 ? 0 : std::numeric_limits<std::int32_t>::max();
  }
  return encode_schedule(numbers);
}

// Legal schedules give the reference's bits; others are refused by the choice and by the code.
void check_schedules(const KernelChoice& kernel, const KernelCase& test, const Prepared& prepared) {
  constexpr int kDrawn = 2;
  static std::mt19937 random(20);
  check_choice_is_legal(kernel, test, prepared);
  const std::vector<Candidate> all = candidates_of(kernel, prepared.call, 1 + static_cast<int>(random() % 4));
  if (all.empty()) return;
  for (int i = 0; i < kDrawn; ++i) {
    const std::vector<std::byte>& schedule = all[random() % all.size()].schedule;
    const Split split = i % 2 == 0 ? Split::whole : Split::one_by_one;
    run_and_compare(kernel, test, prepared, split, schedule);
    const std::vector<std::byte> other = changed(random, kernel.code, schedule);
    if (kernel.schedule_refusal(prepared.call, host_machine(), other).empty()) {
      run_and_compare(kernel, test, prepared, split, other);
      continue;
    }
    const std::vector<Tensor> packed = packed_by(kernel, prepared);
    StepSpec spec = step_of(kernel, test, prepared, packed, true);
    spec.schedule = other;
    const auto step = kernel.code.prepare(spec);
    ASSERT_FALSE(step.ok()) << kernel.code.name << " " << schedule_text(kernel.code, other);
    EXPECT_EQ(step.errors()[0].kind, ErrorKind::invalid_input) << to_string(step.errors());
  }
}

// AMX is emulated where it has to be, a CUDA device always.
bool runs_here(const KernelChoice& kernel) {
  return host_machine().isa.has(kernel.code.needs) || is_emulated_cuda(kernel) ||
         (kernel.code.needs == Isa::amx_int8 && AmxEmulation::is_possible());
}

}  // namespace

std::set<std::string> check_kernels(const KernelCase& test) {
  const AmxEmulation emulation;
  std::set<std::string> ran;
  const auto prepared = prepare_call(test);
  if (!prepared) return ran;
  for (const KernelChoice* kernel : all_choices()) {
    if (kernel->code.op != test.spec->name && kernel->code.op != "*") continue;
    // Those that only come close have tests of their own, with a tolerance.
    if (!kernel->is_exact) continue;
    if (!runs_here(*kernel) || !kernel->refusal(prepared->call).empty()) continue;
    run_and_compare(*kernel, test, *prepared, Split::whole);
    run_and_compare(*kernel, test, *prepared, Split::one_by_one);
    const int in_place = kernel->code.in_place_input == nullptr ? -1 : kernel->code.in_place_input(prepared->call);
    if (in_place >= 0 && !is_constant(test, static_cast<std::size_t>(in_place)))
      run_and_compare(*kernel, test, *prepared, Split::in_place);
    if (kernel->code.packs) check_lies_are_refused(*kernel, test, *prepared);
    if (!kernel->code.knobs.empty()) check_schedules(*kernel, test, *prepared);
    EXPECT_GT(kernel->cost(prepared->call, host_machine()), 0.0) << kernel->code.name;
    if (kernel->code.op != "*") ran.insert(std::string(kernel->code.name));
  }
  return ran;
}

std::set<std::string> kernels_missing(const std::set<std::string>& ran, std::string_view name_prefix) {
  std::set<std::string> missing;
  for (const KernelChoice* kernel : all_choices()) {
    const std::string name(kernel->code.name);
    if (name.starts_with(name_prefix) && runs_here(*kernel) && !ran.contains(name)) missing.insert(name);
  }
  return missing;
}

Tensor random_tensor(std::mt19937& random, DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  const IntegerRange range = range_of(dtype);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const int kind = static_cast<int>(random() % 16);
    double value = 0.0;
    if (is_float(dtype)) {
      value = std::uniform_real_distribution<double>(-8.0, 8.0)(random);
      if (kind == 0) value = 0.0;
      if (kind == 1) value = std::nearbyint(value) + 0.5;
    } else if (kind < 2) {
      value = static_cast<double>(kind == 0 ? range.lowest : range.highest);
    } else {
      value = std::uniform_real_distribution<double>(static_cast<double>(range.lowest),
                                                     static_cast<double>(range.highest))(random);
    }
    if (dtype == DType::boolean) value = static_cast<double>(random() & 1u);
    store_double(tensor.view(), i, value);
  }
  return tensor;
}

}  // namespace octavo::testing
