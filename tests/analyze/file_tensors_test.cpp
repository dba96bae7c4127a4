// Tensors of a model file, and the file with others as its outputs. Part of tests/analyze/.
#include "analyze/file_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/child.h"

namespace octavo {
namespace {

std::vector<std::string> names_of(const std::vector<MadeTensor>& tensors) {
  std::vector<std::string> names;
  for (const MadeTensor& tensor : tensors) names.push_back(tensor.name + "@" + std::to_string(tensor.index));
  return names;
}

// Everything that nodes make becomes an output; nothing else changes.
void expect_more_outputs(const std::string& path, std::size_t least) {
  const auto before = tensors_of_file(path);
  ASSERT_TRUE(before) << to_string(before.errors());
  EXPECT_GE(before->made.size(), least);
  const testing::ScratchFolder folder;
  const Status written = write_with_outputs(path, before->made, folder.path("more"));
  ASSERT_TRUE(written) << to_string(written.errors());
  const auto after = tensors_of_file(folder.path("more"));
  ASSERT_TRUE(after) << to_string(after.errors());
  EXPECT_EQ(names_of(after->outputs), names_of(before->made));
  EXPECT_EQ(names_of(after->made), names_of(before->made));
  EXPECT_EQ(names_of(after->inputs), names_of(before->inputs));
  EXPECT_EQ(after->made[0].op, before->made[0].op);
  EXPECT_TRUE(import_model(folder.path("more"), {}));
}

TEST(FileTensors, OfOnnxBecomeOutputs) { expect_more_outputs(OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx", 10); }

TEST(FileTensors, OfTfliteBecomeOutputs) {
  const std::string path = OCTAVO_SOURCE_DIR "/tests/import/litert/add_s8.tflite";
  expect_more_outputs(path, 1);
  const auto tensors = tensors_of_file(path);
  ASSERT_TRUE(tensors);
  EXPECT_EQ(tensors->made[0].op, "ADD");
  EXPECT_EQ(tensors->made[0].node, "0");
}

TEST(FileTensors, OtherFilesAreRefused) {
  const testing::ScratchFolder folder;
  folder.write("text", "no model");
  EXPECT_EQ(tensors_of_file(folder.path("text")).errors()[0].kind, ErrorKind::usage);
  EXPECT_EQ(tensors_of_file(folder.path("missing")).errors()[0].kind, ErrorKind::resource);
}

}  // namespace
}  // namespace octavo
