// The slices of a region, one after the other, on all threads. Part of run/.
#include "run/region_runner.h"

#include <chrono>
#include <cstring>

#include "run/float_mode.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t ns_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

bool has_slices(Place place) { return place == Place::arena || place == Place::input || place == Place::output; }

}  // namespace

RegionRunner::RegionRunner(const Plan& plan, const Region& region, std::span<const StepCall> calls,
                           const Pointers& batch, std::byte* arenas, std::uint64_t arena_stride, int threads)
    : plan_(&plan), region_(&region), lanes_(static_cast<std::size_t>(threads), batch) {
  const auto first = static_cast<std::size_t>(region.first_step);
  const auto own = calls.subspan(first, static_cast<std::size_t>(region.steps));
  calls_.assign(own.begin(), own.end());
  first_output_ = calls_.front().first_output;
  for (std::size_t s = 0; s < calls_.size(); ++s) {
    // `side` of the pointers: where the operands of each slice lie.
    const auto prepare_operands = [&](const std::vector<ValueIndex>& operands, std::size_t slot,
                                      std::vector<Slice>& slices, auto side) {
      for (const ValueIndex operand : operands) {
        const std::size_t here = slot++;
        if (operand == kNoValue) continue;
        const PlanValue& value = plan.value(operand);
        if (has_slices(value.place)) slices.push_back({here, value.bytes()});
        for (std::size_t t = 0; value.place == Place::region && t < lanes_.size(); ++t)
          (lanes_[t].*side)[here] = arenas + t * arena_stride + value.offset;
      }
    };
    const PlanStep& step = plan.steps[first + s];
    prepare_operands(step.inputs, calls_[s].first_input, input_slices_, &Pointers::inputs);
    prepare_operands(step.outputs, calls_[s].first_output, output_slices_, &Pointers::outputs);
  }
}

void RegionRunner::point_to(Pointers& pointers, std::int64_t slice_index) const {
  const auto index = static_cast<std::uint64_t>(slice_index);
  for (const Slice& slice : input_slices_)
    pointers.inputs[slice.slot] = batch_->inputs[slice.slot] + index * slice.bytes;
  for (const Slice& slice : output_slices_)
    pointers.outputs[slice.slot] = batch_->outputs[slice.slot] + index * slice.bytes;
}

// One slice on one thread takes longer than on all of them, but all threads have work. What is left after equal shares
// goes to threads alone only if nearly all of them get one.
std::int64_t RegionRunner::slices_for_lanes(int lanes) const {
  const std::int64_t slices = region_->slices;
  const std::int64_t rest = slices % lanes;
  return 8 * rest >= 7 * lanes ? slices : slices - rest;
}

bool RegionRunner::run(const Pointers& batch, const Scratch& scratch, Executor* pool, const std::stop_token& stop) {
  batch_ = &batch;
  scratch_ = &scratch;
  stop_ = &stop;
  busy_lanes_ = pool == nullptr ? 1 : static_cast<int>(lanes_.size());
  whole_slices_ = slices_for_lanes(busy_lanes_);
  next_slice_.store(0, std::memory_order_relaxed);
  if (is_observed_) {
    for (auto& ns : lane_ns_) std::fill(ns.begin(), ns.end(), 0);
    std::fill(shared_ns_.begin(), shared_ns_.end(), 0);
  }
  RegionRunner* const self = this;
  if (busy_lanes_ == 1) run_lane(&self, 0);
  else if (whole_slices_ > 0) pool->run(busy_lanes_, {run_lane, &self});
  for (std::int64_t slice = whole_slices_; slice < region_->slices; ++slice) share_slice(slice, pool);
  return !stop.stop_requested();
}

void RegionRunner::run_lane(const void* context, int lane) {
  const ScopedFloatMode mode;  // the thread may be one of a caller's
  RegionRunner& runner = **static_cast<RegionRunner* const*>(context);
  for (;;) {
    const std::int64_t slice = runner.next_slice_.fetch_add(1, std::memory_order_relaxed);
    if (slice >= runner.whole_slices_) return;
    runner.run_slice(lane, slice);
  }
}

void RegionRunner::run_slice(int lane, std::int64_t slice) {
  Pointers& pointers = lanes_[static_cast<std::size_t>(lane)];
  point_to(pointers, slice);
  std::byte* scratch = scratch_->of(lane);
  if (!is_observed_) {
    for (const StepCall& call : calls_) {
      if (stop_->stop_requested()) return;
      call.run_alone(call.buffers(pointers, scratch));
    }
    return;
  }
  for (std::size_t s = 0; s < calls_.size() && !stop_->stop_requested(); ++s) {
    const auto start = Clock::now();
    calls_[s].run_alone(calls_[s].buffers(pointers, scratch));
    lane_ns_[static_cast<std::size_t>(lane)][s] += ns_since(start);
    keep(s, pointers, slice);
  }
}

void RegionRunner::share_slice(std::int64_t slice, Executor* pool) {
  point_to(lanes_[0], slice);
  for (std::size_t s = 0; s < calls_.size() && !stop_->stop_requested(); ++s) {
    if (!is_observed_) {
      calls_[s].run(lanes_[0], *scratch_, pool);
      continue;
    }
    const auto start = Clock::now();
    calls_[s].run(lanes_[0], *scratch_, pool);
    shared_ns_[s] += ns_since(start);
    keep(s, lanes_[0], slice);
  }
}

void RegionRunner::keep(std::size_t step, const Pointers& pointers, std::int64_t slice) {
  if (kept_.empty()) return;
  const StepCall& call = calls_[step];
  for (std::size_t slot = call.first_output; slot < call.first_output + call.output_count; ++slot) {
    Tensor& kept = kept_[slot - first_output_];
    const std::size_t bytes = kept.bytes() / static_cast<std::size_t>(region_->slices);
    if (bytes > 0) std::memcpy(kept.data() + static_cast<std::size_t>(slice) * bytes, pointers.outputs[slot], bytes);
  }
}

void RegionRunner::observe(bool keeps_values) {
  is_observed_ = true;
  lane_ns_.assign(lanes_.size(), std::vector<std::int64_t>(calls_.size()));
  shared_ns_.assign(calls_.size(), 0);
  values_.clear();
  kept_.clear();
  for (std::size_t s = 0; s < calls_.size(); ++s) {
    for (const ValueIndex output : plan_->steps[static_cast<std::size_t>(region_->first_step) + s].outputs) {
      const PlanValue& value = plan_->value(output);
      values_.push_back({.dtype = value.dtype, .shape = value.shape_of(region_->slices)});
      if (!keeps_values) continue;
      kept_.emplace_back(values_.back().dtype, values_.back().shape);
      values_.back().data = kept_.back().data();
    }
  }
}

void RegionRunner::stop_observing() {
  is_observed_ = false;
  values_.clear();
  kept_.clear();
}

std::int64_t RegionRunner::elapsed_ns(std::size_t step) const {
  const std::size_t s = step - static_cast<std::size_t>(region_->first_step);
  std::int64_t sum = 0;
  for (const auto& ns : lane_ns_) sum += ns[s];
  return sum / busy_lanes_ + shared_ns_[s];
}

}  // namespace octavo
