// The parent's side of a benchmark: children in turns. Part of analyze/.
#include "analyze/bench.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyze/peak_rate.h"
#include "api/inside.h"
#include "base/machine.h"
#include "kernels/jit/code.h"

namespace octavo {
namespace {

// "m.octv (int8, x=1x3x224x224)"
std::string named(const BenchVariant& variant) {
  const auto& precision = variant.choice.plan.precision;
  std::string what(!variant.word.empty() ? variant.word : precision ? name_of(*precision) : "");
  if (variant.tells_shapes) what += (what.empty() ? "" : ", ") + v1::text_of(variant.choice.shapes);
  return variant.model + (what.empty() ? "" : " (" + what + ")");
}

// For the hidden verb `bench-worker`.
std::vector<std::string> worker_arguments(const BenchVariant& variant, const Contexts& contexts) {
  std::vector<std::string> arguments = {"octavo",
                                        "bench-worker",
                                        variant.file,
                                        "--threads",
                                        std::to_string(contexts.threads),
                                        "--contexts",
                                        std::to_string(contexts.count)};
  const auto add = [&](const char* option, std::string value) {
    arguments.emplace_back(option);
    arguments.push_back(std::move(value));
  };
  const v1::PlanChoice& plan = variant.choice.plan;
  if (plan.precision) add("--precision", std::string(name_of(*plan.precision)));
  if (plan.batch) add("--batch", std::to_string(*plan.batch));
  for (const std::string& input : variant.inputs) add("--input", input);
  const RunSettings& settings = variant.choice.settings;
  add("--max-iterations", std::to_string(settings.max_iterations));
  if (settings.context_bytes > 0) add("--memory-limit", std::to_string(settings.context_bytes));
  add("--device", std::to_string(settings.device));
  if (variant.choice.keeps_tensors_there) arguments.emplace_back("--tensors-on-device");
  for (const auto& [name, shape] : variant.choice.shapes) {
    if (!shape.empty()) add("--shape", name + "=" + Shape(shape).to_string());  // of a number there is only one
  }
  return arguments;
}

Error child_error(const BenchVariant& variant, std::string found) {
  return {.kind = ErrorKind::resource, .where = "bench of " + named(variant), .found = std::move(found)};
}

// A running worker with its two pipes; killed and reaped when it goes out of scope.
class Child {
 public:
  static Result<std::unique_ptr<Child>> start(const BenchVariant& variant, const Contexts& contexts) {
    int orders[2];
    int answers[2];
    if (::pipe2(orders, O_CLOEXEC) != 0) return child_error(variant, "no pipe");
    if (::pipe2(answers, O_CLOEXEC) != 0) {
      ::close(orders[0]);
      ::close(orders[1]);
      return child_error(variant, "no pipe");
    }
    std::vector<std::string> texts = worker_arguments(variant, contexts);
    std::vector<char*> arguments;
    for (std::string& text : texts) arguments.push_back(text.data());
    arguments.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(orders[0], STDIN_FILENO);
      ::dup2(answers[1], STDOUT_FILENO);
      ::execv("/proc/self/exe", arguments.data());
      ::_exit(127);
    }
    ::close(orders[0]);
    ::close(answers[1]);
    auto child = std::unique_ptr<Child>(new Child(variant, pid, ::fdopen(orders[1], "w"), ::fdopen(answers[0], "r")));
    if (pid < 0) return child_error(variant, "no child process");
    return child;
  }

  ~Child() {
    if (orders_ != nullptr) std::fclose(orders_);
    if (answers_ != nullptr) std::fclose(answers_);
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next line of the child as JSON, or what it says went wrong.
  Result<nlohmann::json> answer() {
    std::string line;
    for (int c = std::fgetc(answers_); c != EOF && c != '\n'; c = std::fgetc(answers_)) line += static_cast<char>(c);
    nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) return child_error(variant_, "a process that ended without an answer");
    if (!object.contains("error")) return object;
    Error error = child_error(variant_, object["error"].get<std::string>());
    const int code = object.value("exit_code", 5);
    error.kind = code == 2   ? ErrorKind::usage
                 : code == 3 ? ErrorKind::invalid_input
                 : code == 4 ? ErrorKind::unsupported
                             : ErrorKind::resource;
    return error;
  }

  Result<nlohmann::json> ask(const std::string& order) {
    std::fprintf(orders_, "%s\n", order.c_str());
    std::fflush(orders_);
    return answer();
  }

 private:
  Child(BenchVariant variant, pid_t pid, std::FILE* orders, std::FILE* answers)
      : variant_(std::move(variant)), pid_(pid), orders_(orders), answers_(answers) {}

  BenchVariant variant_;
  pid_t pid_;
  std::FILE* orders_;
  std::FILE* answers_;
};

double quantile_ms(std::vector<std::int64_t> runs_ns, double quantile) {
  if (runs_ns.empty()) return 0.0;
  std::sort(runs_ns.begin(), runs_ns.end());
  const auto rank = static_cast<std::size_t>(std::ceil(quantile * static_cast<double>(runs_ns.size())));
  return static_cast<double>(runs_ns[std::min(runs_ns.size(), std::max<std::size_t>(rank, 1)) - 1]) * 1e-6;
}

struct Entrant {
  std::unique_ptr<Child> child;
  BenchRun run;
};

Result<Entrant> enter(const BenchVariant& variant, const BenchOptions& options) {
  const Contexts contexts = variant.contexts.value_or(Contexts{.count = 1, .threads = options.threads});
  auto child = Child::start(variant, contexts);
  if (!child) return child.errors();
  const auto hello = (*child)->answer();
  if (!hello) return hello.errors();
  Entrant entrant{std::move(*child), {.variant = variant}};
  entrant.run.precision = (*hello)["precision"] == name_of(Precision::fp32) ? Precision::fp32 : Precision::int8;
  entrant.run.batch = (*hello)["batch"].get<std::int64_t>();
  entrant.run.shapes = (*hello)["shapes"].get<v1::InputShapes>();
  entrant.run.threads = (*hello)["threads"].get<int>() * contexts.count;
  entrant.run.times.runs_ns.resize(static_cast<std::size_t>(contexts.count));
  entrant.run.load_ms = (*hello)["load_ms"].get<double>();
  entrant.run.first_run_ms = (*hello)["first_run_ms"].get<double>();
  entrant.run.is_for_device = (*hello)["is_for_device"].get<bool>();
  entrant.run.gmac = (*hello)["macs"].get<double>() * 1e-9;
  entrant.run.context_bytes = (*hello)["context_bytes"].get<std::uint64_t>();
  entrant.run.model_bytes = (*hello)["model_bytes"].get<std::uint64_t>();
  if (options.warmup > 0) {
    const auto warm = entrant.child->ask("runs " + std::to_string(options.warmup));
    if (!warm) return warm.errors();
  }
  return entrant;
}

Status one_slice(Entrant& entrant, double seconds) {
  const auto reply = entrant.child->ask("slice " + std::to_string(seconds));
  if (!reply) return reply.errors();
  RunTimes& times = entrant.run.times;
  for (std::size_t i = 0; i < times.runs_ns.size(); ++i) {
    for (const auto& ns : (*reply)["runs_ns"][i]) times.runs_ns[i].push_back(ns.get<std::int64_t>());
  }
  times.seconds += (*reply)["seconds"].get<double>();
  times.completed += (*reply)["completed"].get<double>();
  entrant.run.peak_rss_mb = (*reply)["peak_rss_mb"].get<double>();
  return ok_status();
}

}  // namespace

bool BenchRun::is_of_plan_of(const BenchRun& other) const {
  return variant.file == other.variant.file && precision == other.precision && shapes == other.shapes;
}

std::int64_t BenchRun::runs() const {
  std::size_t sum = 0;
  for (const auto& of_one : times.runs_ns) sum += of_one.size();
  return static_cast<std::int64_t>(sum);
}

double BenchRun::latency_ms(double quantile) const {
  std::vector<std::int64_t> all;
  for (const auto& of_one : times.runs_ns) all.insert(all.end(), of_one.begin(), of_one.end());
  return quantile_ms(std::move(all), quantile);
}

std::pair<double, double> BenchRun::lowest_highest_median() const {
  std::vector<double> medians;
  for (const auto& of_one : times.runs_ns) medians.push_back(quantile_ms(of_one, 0.5));
  const auto [lowest, highest] = std::minmax_element(medians.begin(), medians.end());
  return {*lowest, *highest};
}

double BenchRun::runs_per_second() const {
  if (!variant.contexts) {
    const double median = latency_ms(0.5);
    return median > 0.0 ? 1e3 / median : 0.0;
  }
  return times.seconds > 0.0 ? times.completed / times.seconds : 0.0;
}

const BenchRun* one_context_beside(const BenchRun& run, std::span<const BenchRun> runs) {
  const Contexts one{1, run.threads};
  const auto is_it = [&](const BenchRun& other) { return other.is_of_plan_of(run) && other.variant.contexts == one; };
  const auto found = std::find_if(runs.begin(), runs.end(), is_it);
  return found == runs.end() || run.variant.contexts == one ? nullptr : &*found;
}

Result<std::vector<BenchRun>> bench(const std::vector<BenchVariant>& variants, const BenchOptions& options) {
  std::vector<Entrant> entrants;
  for (const BenchVariant& variant : variants) {
    auto entrant = enter(variant, options);
    if (!entrant) return entrant.errors();
    entrants.push_back(std::move(*entrant));
  }
  // Slices much longer than a change of caches and clock, much shorter than a change of weather.
  constexpr double kSliceSeconds = 0.25;
  double least = 0.0;
  while (least < options.seconds) {
    least = options.seconds;
    for (Entrant& entrant : entrants) {
      if (const Status done = one_slice(entrant, std::min(kSliceSeconds, options.seconds)); !done) return done.errors();
      least = std::min(least, entrant.run.times.seconds);
    }
    if (options.progress) options.progress(std::min(1.0, least / options.seconds));
  }
  std::vector<BenchRun> runs;
  for (Entrant& entrant : entrants) {
    BenchRun& run = entrant.run;
    const auto peak = run.is_for_device ? std::nullopt : peak_macs_per_second(run.precision);
    // More contexts than cores do not make a higher peak.
    const int cores = run.variant.contexts ? std::min(run.threads, host_machine().cores) : run.threads;
    if (peak) run.share_of_peak = run.gmac * 1e9 * run.runs_per_second() / (*peak * cores);
    runs.push_back(std::move(run));
  }
  return runs;
}

nlohmann::json machine_json() {
  const Machine& machine = host_machine();
  nlohmann::json object = {{"name", machine.name},         {"isa", machine.isa.to_string()},
                           {"cores", machine.cores},       {"l1_bytes", machine.l1_bytes},
                           {"l2_bytes", machine.l2_bytes}, {"l3_bytes", machine.l3_bytes}};
  if (machine.isa.has(Isa::avxvnni)) object["avxvnni_encoding"] = has_vex_vnni() ? "VEX" : "EVEX";
  return object;
}

namespace {

nlohmann::json contexts_json(const BenchRun& run) {
  const auto [lowest, highest] = run.lowest_highest_median();
  return {{"count", run.variant.contexts->count},
          {"threads_per_context", run.variant.contexts->threads},
          {"inferences_per_second", run.runs_per_second()},
          {"median_ms", {{"lowest", lowest}, {"highest", highest}}},
          {"bytes_of_one", run.context_bytes},
          {"bytes_of_all", run.context_bytes * run.times.runs_ns.size()},
          {"bytes_of_model", run.model_bytes}};
}

}  // namespace

nlohmann::json bench_json(const std::vector<BenchRun>& runs) {
  nlohmann::json list = nlohmann::json::array();
  for (const BenchRun& run : runs) {
    nlohmann::json object = {
        {"model", run.variant.model},
        {"precision", run.precision_name()},
        {"batch", run.batch},
        {"shapes", run.shapes},
        {"threads", run.threads},
        {"tensors", run.variant.choice.keeps_tensors_there ? "device" : "host"},
        {"runs", run.runs()},
        {"latency_ms",
         {{"min", run.latency_ms(0.0)},
          {"median", run.latency_ms(0.5)},
          {"p90", run.latency_ms(0.9)},
          {"p99", run.latency_ms(0.99)}}},
        {"throughput", run.throughput()},
        {"load_ms", run.load_ms},
        {"first_run_ms", run.first_run_ms},
        {"peak_rss_mb", run.peak_rss_mb},
        {"gmac", run.gmac},
        {"share_of_peak", run.share_of_peak ? nlohmann::json(*run.share_of_peak) : nlohmann::json()}};
    if (run.variant.contexts) object["contexts"] = contexts_json(run);
    list.push_back(std::move(object));
  }
  return {{"machine", machine_json()}, {"runs", list}};
}

}  // namespace octavo
