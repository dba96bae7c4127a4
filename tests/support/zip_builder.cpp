// Zip files made byte by byte. For the tests of import/ and errors/.
#include "support/zip_builder.h"

#include <zip.h>

namespace octavo::testing {
namespace {

constexpr zip_uint64_t kLargestEntry = 1 << 24;

std::uint32_t crc_of(const std::string& bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

void append(std::string& to, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(number >> 8 * i & 0xff);
}

// What the local header and the one of the directory have in common: from the version needed on.
std::string common_header(const ZipMember& member) {
  std::string header;
  append(header, 20, 2);
  append(header, 0, 2);
  append(header, member.said_method, 2);
  append(header, 0, 4);
  append(header, member.said_crc.value_or(crc_of(member.bytes)), 4);
  append(header, member.bytes.size(), 4);
  append(header, member.said_size.value_or(static_cast<std::uint32_t>(member.bytes.size())), 4);
  append(header, member.name.size(), 2);
  append(header, 0, 2);
  return header;
}

}  // namespace

std::string zip_of(const std::vector<ZipMember>& members) {
  std::string file, directory;
  for (const ZipMember& member : members) {
    const std::string header = common_header(member);
    directory += "PK\x01\x02";
    append(directory, 20, 2);
    directory += header;
    directory += std::string(10, '\0');  // comment, disk, attributes
    append(directory, file.size(), 4);
    directory += member.name;
    file += "PK\x03\x04" + header + member.name + member.bytes;
  }
  std::string end = "PK\x05\x06";
  append(end, 0, 4);
  append(end, members.size(), 2);
  append(end, members.size(), 2);
  append(end, directory.size(), 4);
  append(end, file.size(), 4);
  append(end, 0, 2);
  return file + directory + end;
}

std::map<std::string, std::string> entries_of(const std::string& bytes) {
  std::map<std::string, std::string> entries;
  zip_error_t error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    if (source != nullptr) zip_source_free(source);
    return entries;
  }
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    zip_stat_t stat;
    zip_file_t* file = zip_fopen_index(archive, static_cast<zip_uint64_t>(i), 0);
    if (file == nullptr) continue;
    const bool is_known =
        zip_stat_index(archive, static_cast<zip_uint64_t>(i), 0, &stat) == 0 && stat.size <= kLargestEntry;
    std::string unpacked(is_known ? stat.size : 0, '\0');
    if (is_known && zip_fread(file, unpacked.data(), unpacked.size()) == static_cast<zip_int64_t>(unpacked.size()))
      entries[stat.name] = unpacked;
    zip_fclose(file);
  }
  zip_discard(archive);
  return entries;
}

std::vector<ZipMember> members_of(const std::map<std::string, std::string>& entries) {
  std::vector<ZipMember> members;
  for (const auto& [name, bytes] : entries) members.push_back({name, bytes});
  return members;
}

}  // namespace octavo::testing
