// The folder tree is the data flow: a folder of src/ includes only itself and folders above it, and files stay readable
// in size.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace octavo {
namespace {

namespace fs = std::filesystem;

// From docs/architecture.md, top to bottom.
const std::vector<std::string> kOrder = {"base",    "graph",  "ops",  "import",   "lower", "export",
                                         "kernels", "select", "plan", "artifact", "run",   "quantize",
                                         "zoo",     "data",   "api",  "analyze",  "cli"};

int position(const std::string& folder) {
  const auto it = std::find(kOrder.begin(), kOrder.end(), folder);
  return it == kOrder.end() ? -1 : static_cast<int>(it - kOrder.begin());
}

std::vector<fs::path> sources() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(OCTAVO_SOURCE_DIR) / "src")) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".h" || extension == ".cpp") paths.push_back(entry.path());
  }
  return paths;
}

std::string folder_of(const fs::path& path) {
  return fs::relative(path, fs::path(OCTAVO_SOURCE_DIR) / "src").begin()->string();
}

TEST(Tree, EveryFolderIsInTheOrder) {
  for (const fs::path& path : sources()) EXPECT_GE(position(folder_of(path)), 0) << path;
}

TEST(Tree, FoldersIncludeOnlyThoseAboveThem) {
  for (const fs::path& path : sources()) {
    const std::string folder = folder_of(path);
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      constexpr std::string_view kInclude = "#include \"";
      if (!line.starts_with(kInclude)) continue;
      const std::string included = line.substr(kInclude.size(), line.find('/') - kInclude.size());
      if (included == "octavo") continue;  // the public headers
      EXPECT_GE(position(included), 0) << path << ": " << line;
      EXPECT_LE(position(included), position(folder)) << path << ": " << line;
    }
  }
}

TEST(Tree, FilesStartWithWhatTheyOwn) {
  for (const fs::path& path : sources()) {
    std::ifstream file(path);
    std::string first;
    std::getline(file, first);
    EXPECT_TRUE(first.starts_with("// ")) << path << " starts with: " << first;
  }
}

TEST(Tree, FilesStayUnder600Lines) {
  for (const fs::path& path : sources()) {
    std::ifstream file(path);
    const auto lines = std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n');
    EXPECT_LE(lines, 600) << path;
  }
}

}  // namespace
}  // namespace octavo
