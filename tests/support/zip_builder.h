// Zip files made byte by byte, so that they can lie. For the tests of import/ and errors/, and for fuzzing.
#ifndef OCTAVO_TESTS_SUPPORT_ZIP_BUILDER_H_
#define OCTAVO_TESTS_SUPPORT_ZIP_BUILDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace octavo::testing {

// Stored, not packed. Where it says otherwise, headers hold that instead of the truth.
struct ZipMember {
  std::string name;
  std::string bytes;
  std::optional<std::uint32_t> said_crc = {}, said_size = {};
  std::uint16_t said_method = 0;
};

std::string zip_of(const std::vector<ZipMember>& members);

// The unpacked entries of a zip file, by whole name; those that can be read and are not large.
std::map<std::string, std::string> entries_of(const std::string& bytes);
std::vector<ZipMember> members_of(const std::map<std::string, std::string>& entries);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_ZIP_BUILDER_H_
