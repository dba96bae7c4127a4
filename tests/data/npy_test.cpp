// NumPy files: round trips, NumPy's own files, broken ones. Part of tests/analyze/.
#include "data/npy.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "base/file.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

class NpyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryFolder::create();
    ASSERT_TRUE(folder) << to_string(folder.errors());
    folder_.emplace(std::move(*folder));
  }
  std::string path() { return folder_->next_file(); }
  std::optional<TemporaryFolder> folder_;
};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A version 1 file with this header text and data.
std::vector<std::byte> npy_with(const std::string& header, const std::string& data) {
  std::string text = "\x93NUMPY";
  text += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return bytes_of(text + header + data);
}

// Bytes of a zip archive of one member as numpy.savez writes it: stored.
std::vector<std::byte> stored_archive(const std::string& name, std::span<const std::byte> data) {
  std::uint32_t crc = 0xffffffffu;
  for (const std::byte byte : data) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  std::string text;
  const auto number = [&](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
  };
  const auto about = [&] {  // what local and central headers have in common
    number(20, 2), number(0, 2), number(0, 2), number(0, 2), number(33, 2), number(~crc & 0xffffffffu, 4);
    number(data.size(), 4), number(data.size(), 4), number(name.size(), 2), number(0, 2);
  };
  number(0x04034b50, 4), about(), text += name;
  text.append(reinterpret_cast<const char*>(data.data()), data.size());
  const std::size_t directory = text.size();
  number(0x02014b50, 4), number(20, 2), about(), number(0, 2), number(0, 2), number(0, 2), number(0, 4), number(0, 4),
      text += name;
  const std::size_t directory_bytes = text.size() - directory;
  number(0x06054b50, 4), number(0, 2), number(0, 2), number(1, 2), number(1, 2), number(directory_bytes, 4),
      number(directory, 4), number(0, 2);
  return bytes_of(text);
}

TEST_F(NpyTest, EveryTypeAndRankSurvives) {
  const DType types[] = {DType::boolean, DType::u8,  DType::s8,  DType::u16, DType::s16, DType::u32,
                         DType::s32,     DType::u64, DType::s64, DType::f16, DType::f32, DType::f64};
  const Shape shapes[] = {Shape{},     Shape{0},          Shape{5},
                          Shape{2, 3}, Shape{1, 2, 3, 4}, Shape{1, 1, 1, 1, 1, 1, 1, 1, 2, 2}};
  for (const DType type : types) {
    for (const Shape& shape : shapes) {
      Tensor tensor(type, shape);
      for (std::size_t i = 0; i < tensor.bytes(); ++i)
        tensor.data()[i] = static_cast<std::byte>(type == DType::boolean ? i % 2 : i * 37);
      const auto again = parse_npy(format_npy(tensor.view()), "test");
      ASSERT_TRUE(again) << to_string(again.errors());
      EXPECT_TRUE(*again == tensor) << name_of(type) << " " << shape.to_string();
    }
  }
}

TEST_F(NpyTest, DataStartsOnMultipleOf64) {
  const Tensor tensor(DType::f32, Shape{3});
  EXPECT_EQ((format_npy(tensor.view()).size() - tensor.bytes()) % 64, 0u);
}

TEST_F(NpyTest, ReadsFortranOrder) {
  const std::string data{1, 4, 2, 5, 3, 6};  // columns of [[1,2,3],[4,5,6]]
  const auto tensor = parse_npy(npy_with("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", data), "test");
  ASSERT_TRUE(tensor) << to_string(tensor.errors());
  EXPECT_TRUE(*tensor == Tensor::of<std::uint8_t>(Shape{2, 3}, std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(NpyTest, BrokenFilesAreInvalidInput) {
  const std::vector<std::byte> broken[] = {
      bytes_of(""),
      bytes_of("PK"),
      bytes_of(std::string_view("\x93NUMPY\x01\x00", 8)),
      bytes_of(std::string_view("\x93NUMPY\x01\x00\xff\xff", 10)),
      bytes_of(std::string_view("\x93NUMPY\x09\x00\x02\x00{}", 12)),
      npy_with("{'descr': '<f4', 'fortran_order': False}", ""),
      npy_with("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "1234"),
      npy_with("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "1234"),
      npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "1234"),
      npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}", "1234"),
      npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "1234"),
      npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234"),
      npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "12345"),
      npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1", "1234"),
  };
  for (std::size_t i = 0; i < std::size(broken); ++i) {
    const auto tensor = parse_npy(broken[i], "broken.npy");
    ASSERT_FALSE(tensor) << i;
    EXPECT_EQ(tensor.errors()[0].kind, ErrorKind::invalid_input) << i;
    EXPECT_EQ(tensor.errors()[0].where, "broken.npy") << i;
  }
}

TEST_F(NpyTest, NpzRoundTripIsReproducible) {
  const std::map<std::string, Tensor> arrays = {
      {"images", Tensor::of<std::uint8_t>(Shape{2, 2}, std::vector<std::uint8_t>{1, 2, 3, 4})},
      {"labels", Tensor::of<std::int64_t>(Shape{2}, std::vector<std::int64_t>{7, -1})}};
  const std::string first = path();
  const std::string second = path();
  ASSERT_TRUE(write_npz(first, arrays));
  ASSERT_TRUE(write_npz(second, arrays));
  EXPECT_EQ(*read_file(first), *read_file(second));
  const auto again = read_npz(first);
  ASSERT_TRUE(again) << to_string(again.errors());
  ASSERT_EQ(again->size(), 2u);
  EXPECT_TRUE(again->at("images") == arrays.at("images"));
  EXPECT_TRUE(again->at("labels") == arrays.at("labels"));
}

TEST_F(NpyTest, DamagedNpzIsRefused) {
  const std::string whole = path();
  ASSERT_TRUE(write_npz(whole, {{"x", Tensor(DType::f32, Shape{1000})}}));
  auto bytes = *read_file(whole);
  const std::string damaged = path();
  bytes[bytes.size() / 3] ^= std::byte{0x5a};
  ASSERT_TRUE(write_file(damaged, bytes));
  EXPECT_FALSE(read_npz(damaged));
  bytes.resize(bytes.size() / 2);
  ASSERT_TRUE(write_file(damaged, bytes));
  EXPECT_FALSE(read_npz(damaged));
  EXPECT_EQ(read_npz("/nonexistent.npz").errors()[0].kind, ErrorKind::resource);
}

TEST_F(NpyTest, SlicesOfEveryFormAreThoseOfTheWhole) {
  std::vector<std::int32_t> values(12);
  std::iota(values.begin(), values.end(), 100);
  const Tensor tensor = Tensor::of<std::int32_t>(Shape{3, 2, 2}, values);
  const std::string npy = path(), deflated = path(), stored = path(), fortran = path();
  ASSERT_TRUE(write_npy(npy, tensor.view()));
  ASSERT_TRUE(write_npz(deflated, {{"x", tensor}}));
  ASSERT_TRUE(write_file(stored, stored_archive("x.npy", format_npy(tensor.view()))));
  const Tensor columns = Tensor::of<std::int32_t>(
      Shape{12}, std::vector<std::int32_t>{100, 104, 108, 102, 106, 110, 101, 105, 109, 103, 107, 111});
  ASSERT_TRUE(
      write_file(fortran, npy_with("{'descr': '<i4', 'fortran_order': True, 'shape': (3, 2, 2), }\n",
                                   std::string(reinterpret_cast<const char*>(columns.data()), columns.bytes()))));
  const auto check = [&](const StoredArray& array) {
    EXPECT_EQ(array.dtype(), DType::s32);
    EXPECT_EQ(array.shape(), tensor.shape());
    for (const std::int64_t i : {2, 0, 1, 2}) {
      const auto slice = array.slice(i);
      ASSERT_TRUE(slice) << to_string(slice.errors());
      EXPECT_TRUE(*slice == Tensor::of<std::int32_t>(Shape{2, 2}, std::span<const std::int32_t>(values).subspan(
                                                                      static_cast<std::size_t>(i) * 4, 4)));
    }
    EXPECT_TRUE(*array.whole() == tensor);
  };
  for (const std::string& file : {npy, fortran}) {
    const auto array = open_npy(file);
    ASSERT_TRUE(array) << to_string(array.errors());
    check(*array);
  }
  for (const std::string& file : {deflated, stored}) {
    const auto arrays = open_npz(file);
    ASSERT_TRUE(arrays) << to_string(arrays.errors());
    check(arrays->at("x"));
  }
}

TEST_F(NpyTest, DamagedStoredMemberIsRefusedBeforeAnySliceOfIt) {
  auto bytes = stored_archive("x.npy", format_npy(Tensor(DType::f32, Shape{8, 100000}).view()));
  bytes[bytes.size() / 2] ^= std::byte{1};
  const std::string damaged = path();
  ASSERT_TRUE(write_file(damaged, bytes));
  const auto arrays = open_npz(damaged);
  ASSERT_TRUE(arrays) << to_string(arrays.errors());
  const auto slice = arrays->at("x").slice(0);
  ASSERT_FALSE(slice);
  EXPECT_EQ(slice.errors()[0].kind, ErrorKind::invalid_input);
  EXPECT_EQ(slice.errors()[0].where, damaged + ": x.npy");
}

TEST_F(NpyTest, ALongHeaderIsRefusedBeforeMemoryIsTaken) {
  const std::string file = path();
  ASSERT_TRUE(write_file(file, bytes_of(std::string_view("\x93NUMPY\x02\x00\x00\x00\x00\x70", 12))));
  fs::resize_file(file, std::uintmax_t{1} << 32);
  const auto array = open_npy(file);
  ASSERT_FALSE(array);
  EXPECT_EQ(array.errors()[0].kind, ErrorKind::invalid_input);
}

TEST_F(NpyTest, WritingLeavesNothingBehindWhereItFails) {
  const std::string missing = path() + "/no/such/folder/x.npy";
  const Tensor tensor(DType::f32, Shape{3});
  const Status written = write_npy(missing, tensor.view());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.errors()[0].kind, ErrorKind::resource);
}

}  // namespace
}  // namespace octavo
