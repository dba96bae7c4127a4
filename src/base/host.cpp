// Instruction sets by cpuid bits; control groups by their files. Part of base/.
#include "base/host.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace octavo {
namespace {

constexpr bool bit(std::uint32_t value, int index) { return (value >> index & 1u) != 0; }

constexpr IsaSet set_of(std::initializer_list<Isa> all) {
  IsaSet set{0};
  for (const Isa isa : all) set.add(isa);
  return set;
}

constexpr IsaSet kX86 = set_of({Isa::avx2, Isa::avxvnni, Isa::avx512, Isa::avx512vnni, Isa::avx512vbmi, Isa::amx_int8});
constexpr IsaSet kArm64 = set_of({Isa::neon, Isa::dotprod, Isa::i8mm});

// A group that this process is in and the file system that shows it.
struct Group {
  std::string mount;  // the folder of `root`
  std::string path;   // below it, "" or "/a/b"
  bool is_version_2 = false;
};

// What stands between separators, but for nothing. No streams: their first use takes longer than all that is read here.
std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(separator));
    if (!piece.empty()) found.push_back(piece);
    text.remove_prefix(std::min(piece.size() + 1, text.size()));
  }
  return found;
}

bool has_item(std::string_view list, std::string_view item) {
  const auto items = pieces(list, ',');
  return std::find(items.begin(), items.end(), item) != items.end();
}

// "/a" and "/a/b" lie in "/a"; all lie in "/".
bool lies_in(std::string_view path, std::string_view root) {
  if (root == "/") return true;
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

// Blanks, tabs, newlines and backslashes of mountinfo are three octal digits behind a backslash.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

// Lines "0::/path" (version 2) and "4:cpu,cpuacct:/path" (version 1): the path of the group that has the processor.
std::optional<std::string_view> own_path(std::string_view cgroup, bool is_version_2) {
  for (const std::string_view line : pieces(cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool is_meant = is_version_2 ? line.starts_with("0::") : has_item(controllers, "cpu");
    if (is_meant) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Lines "31 23 0:28 ROOT FOLDER options ... - TYPE source superoptions".
std::vector<Group> own_groups(std::string_view cgroup, std::string_view mountinfo) {
  constexpr std::size_t kRoot = 3, kFolder = 4, kFirstOption = 5;
  std::vector<Group> groups;
  for (const std::string_view line : pieces(mountinfo, '\n')) {
    const auto words = pieces(line, ' ');
    if (words.size() <= kFirstOption) continue;
    const auto dash = std::find(words.begin() + kFirstOption, words.end(), "-");
    if (words.end() - dash < 2) continue;
    const bool is_version_2 = dash[1] == "cgroup2";
    if (!is_version_2 && !(dash[1] == "cgroup" && has_item(words.back(), "cpu"))) continue;
    const auto path = own_path(cgroup, is_version_2);
    if (!path) continue;
    const std::string root = unescaped(words[kRoot]);
    // A group outside of what is mounted here has its nearest limit at the root of it.
    std::string_view below = lies_in(*path, root) && root != "/" ? path->substr(root.size()) : *path;
    if (!lies_in(*path, root) || below == "/") below = {};
    groups.push_back({unescaped(words[kFolder]), std::string(below), is_version_2});
  }
  return groups;
}

// The number that a text starts with, above 0; nothing where there is none, as in "max" and -1.
std::optional<std::int64_t> positive(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number > 0 ? std::optional(number) : std::nullopt;
}

// Of one group: time per period, or nothing where it has no limit.
std::optional<int> limit_of(const std::string& folder, bool is_version_2, const ReadFile& read) {
  std::string text = read(folder + (is_version_2 ? "/cpu.max" : "/cpu.cfs_quota_us")).value_or("");
  const auto quota = positive(text);
  if (!quota) return std::nullopt;
  if (!is_version_2) text += " " + read(folder + "/cpu.cfs_period_us").value_or("");
  const auto words = pieces(text, ' ');
  const auto period = words.size() < 2 ? std::nullopt : positive(words[1]);
  if (!period) return std::nullopt;
  constexpr std::int64_t kMostCores = 1 << 20;
  return static_cast<int>(std::clamp<std::int64_t>((*quota - 1) / *period + 1, 1, kMostCores));
}

}  // namespace

IsaSet isa_of(const CpuFeatures& cpu) {
  IsaSet isa;
  const bool saves_ymm = (cpu.saved_state & 0x6) == 0x6;
  const bool saves_zmm = (cpu.saved_state & 0xe6) == 0xe6;
  const bool saves_tiles = (cpu.saved_state & 0x60000) == 0x60000;
  const bool has_fma = bit(cpu.leaf1_ecx, 12), has_f16c = bit(cpu.leaf1_ecx, 29);
  const bool has_avx2 = bit(cpu.leaf7_ebx, 5), has_bmi2 = bit(cpu.leaf7_ebx, 8);
  if (!(saves_ymm && has_avx2 && has_bmi2 && has_fma && has_f16c)) return isa;
  isa.add(Isa::avx2);
  if (bit(cpu.leaf7_1_eax, 4)) isa.add(Isa::avxvnni);
  const bool has_f = bit(cpu.leaf7_ebx, 16), has_dq = bit(cpu.leaf7_ebx, 17);
  const bool has_bw = bit(cpu.leaf7_ebx, 30), has_vl = bit(cpu.leaf7_ebx, 31);
  if (!(saves_zmm && has_f && has_dq && has_bw && has_vl)) return isa;
  isa.add(Isa::avx512);
  if (bit(cpu.leaf7_ecx, 11)) {
    isa.add(Isa::avx512vnni);
    isa.add(Isa::avxvnni);  // AVX-512 VL has the same instructions in an encoding of its own
  }
  if (bit(cpu.leaf7_ecx, 1)) isa.add(Isa::avx512vbmi);
  const bool has_tiles = bit(cpu.leaf7_edx, 24) && bit(cpu.leaf7_edx, 25);
  if (saves_tiles && has_tiles && cpu.may_use_tiles()) isa.add(Isa::amx_int8);
  return isa;
}

IsaSet isa_of(const HardwareWords& words) {
  constexpr std::uint64_t kAsimd = 1u << 1, kAsimdDotProduct = 1u << 20, kI8mm = 1u << 13;
  IsaSet isa;
  if ((words.hwcap & kAsimd) == 0) return isa;
  isa.add(Isa::neon);
  if ((words.hwcap & kAsimdDotProduct) == 0) return isa;
  isa.add(Isa::dotprod);
  if ((words.hwcap2 & kI8mm) != 0) isa.add(Isa::i8mm);
  return isa;
}

bool are_of_two_processors(IsaSet a, IsaSet b) {
  const auto shares = [](IsaSet one, IsaSet other) { return (one.bits & other.bits) != 0; };
  return (shares(a, kX86) && shares(b, kArm64)) || (shares(a, kArm64) && shares(b, kX86));
}

std::optional<int> quota_cores(const ReadFile& read) {
  std::optional<int> least;
  const std::string cgroup = read("/proc/self/cgroup").value_or("");
  for (Group group : own_groups(cgroup, read("/proc/self/mountinfo").value_or(""))) {
    for (;;) {
      if (const auto limit = limit_of(group.mount + group.path, group.is_version_2, read))
        least = std::min(*limit, least.value_or(*limit));
      if (group.path.empty()) break;
      const std::size_t slash = group.path.rfind('/');
      group.path.resize(slash == std::string::npos ? 0 : slash);
    }
  }
  return least;
}

}  // namespace octavo
