// The folder tree is the data flow: a folder of src/ includes only itself and what CMakeLists.txt says that it uses,
// and files stay readable in size.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace octavo {
namespace {

namespace fs = std::filesystem;

// The folders of src/ as CMakeLists.txt declares them, top to bottom, each with the folders that it may use: those
// named after USES and what these use.
struct Declared {
  std::vector<std::string> order;
  std::map<std::string, std::set<std::string>> uses;
};

// "octavo_library(FOLDER USES octavo_FOLDER ...)" and "octavo_executable(octavo FOLDER src/FOLDER USES ...)". What is
// named after USES has to stand above.
Declared declared() {
  Declared found;
  std::ifstream file(fs::path(OCTAVO_SOURCE_DIR) / "CMakeLists.txt");
  for (std::string line; std::getline(file, line);) {
    const bool is_program = line.starts_with("octavo_executable(");
    if (!is_program && !line.starts_with("octavo_library(")) continue;
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '(' || c == ')'; }, ' ');
    std::istringstream words(line);
    std::string folder, word;
    words >> word >> folder;
    if (is_program) words >> word >> folder;
    folder = folder.substr(folder.find('/') + 1);
    std::set<std::string>& uses = found.uses[folder];
    while (words >> word) {
      constexpr std::string_view kPrefix = "octavo_";
      if (!word.starts_with(kPrefix)) continue;
      const std::string used = word.substr(kPrefix.size());
      if (std::find(found.order.begin(), found.order.end(), used) == found.order.end()) {
        EXPECT_FALSE(fs::exists(fs::path(OCTAVO_SOURCE_DIR) / "src" / used))
            << folder << " uses " << used << " below it";
        continue;
      }
      uses.insert(used);
      uses.insert(found.uses[used].begin(), found.uses[used].end());
    }
    found.order.push_back(folder);
  }
  return found;
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

TEST(Tree, EveryFolderIsDeclaredAndDescribed) {
  const Declared folders = declared();
  std::set<std::string> found;
  for (const fs::path& path : sources()) found.insert(folder_of(path));
  EXPECT_EQ(std::set<std::string>(folders.order.begin(), folders.order.end()), found);
  std::ifstream file(fs::path(OCTAVO_SOURCE_DIR) / "docs" / "architecture.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (const std::string& folder : folders.order)
    EXPECT_NE(text.find("| `" + folder + "/`"), std::string::npos) << folder << " is not in docs/architecture.md";
}

TEST(Tree, FoldersIncludeOnlyWhatTheyDeclare) {
  const Declared folders = declared();
  for (const fs::path& path : sources()) {
    const std::string folder = folder_of(path);
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      constexpr std::string_view kInclude = "#include \"";
      if (!line.starts_with(kInclude)) continue;
      const std::string included = line.substr(kInclude.size(), line.find('/') - kInclude.size());
      if (included == "octavo" || included == folder) continue;  // the public headers
      EXPECT_TRUE(folders.uses.at(folder).contains(included)) << path << ": " << line;
    }
  }
}

// A program has these headers and no others of ours.
TEST(Tree, PublicHeadersIncludeOnlyEachOther) {
  for (const auto& entry : fs::directory_iterator(fs::path(OCTAVO_SOURCE_DIR) / "include" / "octavo")) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      EXPECT_TRUE(!line.starts_with("#include \"") || line.starts_with("#include \"octavo/")) << entry << ": " << line;
  }
}

// Two types of one name in one namespace are undefined behaviour that no linker reports.
TEST(Tree, TypesAreDefinedOnce) {
  std::map<std::string, fs::path> defined;
  for (const fs::path& path : sources()) {
    std::ifstream file(path);
    std::string space;
    bool is_anonymous = false;
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string word, name;
      words >> word >> name;
      if (line == "namespace {") is_anonymous = true;
      else if (line == "}  // namespace") is_anonymous = false;
      else if (line.starts_with("namespace ") && line.ends_with(" {")) space = name;
      if (line.starts_with("enum class ")) words >> name;
      const bool is_type = line.starts_with("struct ") || line.starts_with("class ") || line.starts_with("enum class ");
      if (!is_type || is_anonymous || line.ends_with(";") || name.find_first_of("<(:") != std::string::npos) continue;
      const auto [first, is_new] = defined.emplace(space + "::" + name, path);
      EXPECT_TRUE(is_new) << first->first << " in " << first->second << " and " << path;
    }
  }
  EXPECT_GT(defined.size(), 300u);
}

TEST(Tree, FilesStartWithWhatTheyOwn) {
  for (const fs::path& path : sources()) {
    std::ifstream file(path);
    std::string first;
    std::getline(file, first);
    EXPECT_TRUE(first.starts_with("// ")) << path << " starts with: " << first;
  }
}

TEST(Tree, FilesStayWithin500Lines) {
  for (const fs::path& path : sources()) {
    std::ifstream file(path);
    const auto lines = std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n');
    EXPECT_LE(lines, 500) << path;
  }
}

}  // namespace
}  // namespace octavo
