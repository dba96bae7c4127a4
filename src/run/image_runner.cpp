// The images of a batch, one after the other, on all threads. Part of run/.
#include "run/image_runner.h"

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

void ImageRunner::prepare(const Plan& plan, std::span<const StepCall> calls, const Pointers& batch, std::byte* arenas,
                          std::uint64_t arena_stride, int threads) {
  plan_ = &plan;
  calls_.assign(calls.begin(), calls.end());
  lanes_.assign(static_cast<std::size_t>(threads), batch);
  for (std::size_t s = 0; s < calls.size(); ++s) {
    // `side` of the pointers: where the operands of each image lie.
    const auto prepare_operands = [&](const std::vector<PlanOperand>& operands, std::size_t slot,
                                      std::vector<Slice>& slices, auto side) {
      for (const PlanOperand& operand : operands) {
        if (has_slices(operand.place)) slices.push_back({slot, operand.bytes()});
        for (std::size_t t = 0; operand.place == Place::image_arena && t < lanes_.size(); ++t) {
          (lanes_[t].*side)[slot] = arenas + t * arena_stride + operand.offset;
        }
        ++slot;
      }
    };
    prepare_operands(plan.steps[s].inputs, calls[s].first_input, input_slices_, &Pointers::inputs);
    prepare_operands(plan.steps[s].outputs, calls[s].first_output, output_slices_, &Pointers::outputs);
  }
}

void ImageRunner::point_to(Pointers& pointers, std::int64_t image) const {
  const auto index = static_cast<std::uint64_t>(image);
  for (const Slice& slice : input_slices_)
    pointers.inputs[slice.slot] = batch_->inputs[slice.slot] + index * slice.bytes;
  for (const Slice& slice : output_slices_)
    pointers.outputs[slice.slot] = batch_->outputs[slice.slot] + index * slice.bytes;
}

// One image on one thread takes longer than on all of them, but all threads have work. What is left after equal shares
// goes to threads alone only if nearly all of them get one.
std::int64_t ImageRunner::images_for_lanes(int lanes) const {
  const std::int64_t images = plan_->image_loop.images;
  const std::int64_t rest = images % lanes;
  return 8 * rest >= 7 * lanes ? images : images - rest;
}

void ImageRunner::run(const Pointers& batch, const Scratch& scratch, Executor* pool) {
  batch_ = &batch;
  scratch_ = &scratch;
  busy_lanes_ = pool == nullptr ? 1 : static_cast<int>(lanes_.size());
  whole_images_ = images_for_lanes(busy_lanes_);
  next_image_.store(0, std::memory_order_relaxed);
  if (is_observed_) {
    for (auto& ns : lane_ns_) std::fill(ns.begin(), ns.end(), 0);
    std::fill(shared_ns_.begin(), shared_ns_.end(), 0);
  }
  ImageRunner* const self = this;
  if (busy_lanes_ == 1) run_lane(&self, 0);
  else if (whole_images_ > 0) pool->run(busy_lanes_, {run_lane, &self});
  for (std::int64_t image = whole_images_; image < plan_->image_loop.images; ++image) share_image(image, pool);
}

void ImageRunner::run_lane(const void* context, int lane) {
  const ScopedFloatMode mode;  // the thread may be one of a caller's
  ImageRunner& runner = **static_cast<ImageRunner* const*>(context);
  for (;;) {
    const std::int64_t image = runner.next_image_.fetch_add(1, std::memory_order_relaxed);
    if (image >= runner.whole_images_) return;
    runner.run_image(lane, image);
  }
}

void ImageRunner::run_image(int lane, std::int64_t image) {
  Pointers& pointers = lanes_[static_cast<std::size_t>(lane)];
  point_to(pointers, image);
  std::byte* scratch = scratch_->of(lane);
  if (!is_observed_) {
    for (const StepCall& call : calls_) call.step->run(call.buffers(pointers, scratch), {0, call.items});
    return;
  }
  for (std::size_t s = 0; s < calls_.size(); ++s) {
    const auto start = Clock::now();
    calls_[s].step->run(calls_[s].buffers(pointers, scratch), {0, calls_[s].items});
    lane_ns_[static_cast<std::size_t>(lane)][s] += ns_since(start);
    keep(s, pointers, image);
  }
}

void ImageRunner::share_image(std::int64_t image, Executor* pool) {
  point_to(lanes_[0], image);
  for (std::size_t s = 0; s < calls_.size(); ++s) {
    if (!is_observed_) {
      calls_[s].run(lanes_[0], *scratch_, pool);
      continue;
    }
    const auto start = Clock::now();
    calls_[s].run(lanes_[0], *scratch_, pool);
    shared_ns_[s] += ns_since(start);
    keep(s, lanes_[0], image);
  }
}

void ImageRunner::keep(std::size_t step, const Pointers& pointers, std::int64_t image) {
  if (kept_.empty()) return;
  const StepCall& call = calls_[step];
  for (std::size_t slot = call.first_output; slot < call.first_output + call.output_count; ++slot) {
    const std::size_t bytes = kept_[slot].bytes() / static_cast<std::size_t>(plan_->image_loop.images);
    if (bytes > 0)
      std::memcpy(kept_[slot].data() + static_cast<std::size_t>(image) * bytes, pointers.outputs[slot], bytes);
  }
}

void ImageRunner::observe(bool keeps_values) {
  is_observed_ = true;
  lane_ns_.assign(lanes_.size(), std::vector<std::int64_t>(calls_.size()));
  shared_ns_.assign(calls_.size(), 0);
  values_.clear();
  kept_.clear();
  for (std::size_t s = 0; s < calls_.size(); ++s) {
    for (const PlanOperand& operand : plan_->steps[s].outputs) {
      values_.push_back({.dtype = operand.dtype, .shape = operand.shape_of(plan_->image_loop.images)});
      if (!keeps_values) continue;
      kept_.emplace_back(values_.back().dtype, values_.back().shape);
      values_.back().data = kept_.back().data();
    }
  }
}

void ImageRunner::stop_observing() {
  is_observed_ = false;
  values_.clear();
  kept_.clear();
}

std::int64_t ImageRunner::elapsed_ns(std::size_t step) const {
  std::int64_t sum = 0;
  for (const auto& ns : lane_ns_) sum += ns[step];
  return sum / busy_lanes_ + shared_ns_[step];
}

}  // namespace octavo
