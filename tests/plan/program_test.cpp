// Programs as data: what of a hostile one is refused, and who reads a value last. Part of tests/plan/.
#include "plan/program.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

ProgramPart network(std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs) {
  ProgramPart part{.name = "net", .network = 0, .inputs = std::move(inputs), .outputs = std::move(outputs)};
  part.extents.assign(part.outputs.size(), kNoIndex);
  return part;
}

const std::vector<NetworkPorts> kPorts{{.inputs = 1, .outputs = 1}};

// A condition 0 and x 1; a branch whose blocks make 3 and 4 of x, as 2; a network makes 5 of it.
Program branching() {
  Program program;
  program.values.resize(6);
  program.blocks.resize(3);
  program.blocks[0] = {.inputs = {0, 1}, .parts = {}, .outputs = {5}};
  program.blocks[0].parts.push_back(
      {.kind = PartKind::branch, .name = "if", .inputs = {0}, .outputs = {2}, .blocks = {1, 2}});
  program.blocks[0].parts.push_back(network({2}, {5}));
  program.blocks[1] = {.inputs = {}, .parts = {network({1}, {3})}, .outputs = {3}};
  program.blocks[2] = {.inputs = {}, .parts = {network({1}, {4})}, .outputs = {4}};
  program.output_names = {"y"};
  return program;
}

bool is_sound(const Program& program) { return check_program(program, kPorts).ok(); }

TEST(CheckProgram, AcceptsOneWhoseValuesAreMadeBeforeTheyAreRead) { EXPECT_TRUE(is_sound(branching())); }

TEST(CheckProgram, RefusesIndicesThatLeadNowhere) {
  for (const std::int32_t bad : {-7, 6, 1 << 30}) {
    Program value = branching(), block = branching(), net = branching(), extents = branching();
    value.blocks[0].parts[1].inputs[0] = bad;
    block.blocks[0].parts[0].blocks[1] = bad;
    net.blocks[1].parts[0].network = bad;
    extents.blocks[1].parts[0].extents[0] = bad;
    EXPECT_FALSE(is_sound(value) || is_sound(block) || is_sound(net) || is_sound(extents)) << bad;
  }
  EXPECT_FALSE(is_sound({}));
}

TEST(CheckProgram, RefusesBlocksThatAreUsedTwiceOrInACircle) {
  Program twice = branching(), circle = branching(), unused = branching();
  twice.blocks[0].parts[0].blocks = {1, 1};
  circle.blocks[1].parts.push_back(
      {.kind = PartKind::branch, .name = "again", .inputs = {0}, .outputs = {}, .blocks = {0, 1}});
  unused.blocks.push_back({});
  EXPECT_FALSE(is_sound(twice) || is_sound(circle) || is_sound(unused));
}

TEST(CheckProgram, RefusesValuesOfOtherBlocksAndThoseMadeTwice) {
  Program inner = branching(), again = branching(), later = branching();
  inner.blocks[0].parts[1].inputs[0] = 3;
  again.blocks[2].parts[0].outputs[0] = 3;
  later.blocks[1].parts[0].inputs[0] = 5;
  EXPECT_FALSE(is_sound(inner) || is_sound(again) || is_sound(later));
}

TEST(CheckProgram, RefusesPartsWithOtherPorts) {
  Program input = branching(), branch = branching(), names = branching(), negative = branching();
  input.blocks[0].parts[1].inputs = {2, 2};
  branch.blocks[0].parts[0].outputs = {};
  names.output_names = {};
  negative.blocks[0].parts[0].kind = PartKind::loop;
  negative.blocks[0].parts[0].carried = -1;
  EXPECT_FALSE(is_sound(input) || is_sound(branch) || is_sound(names) || is_sound(negative));
}

// Loops in loops, so many deep.
Program nested(int depth) {
  Program program;
  program.values.resize(1);
  program.blocks.resize(static_cast<std::size_t>(depth) + 1);
  for (int i = 0; i < depth; ++i) {
    const auto index = static_cast<std::size_t>(i);
    program.blocks[index].parts.push_back(
        {.kind = PartKind::loop, .name = "loop", .inputs = {kNoIndex, kNoIndex}, .blocks = {i + 1}});
    program.blocks[index + 1].inputs = {kNoIndex, kNoIndex};
    program.blocks[index + 1].outputs = {kNoIndex};
  }
  return program;
}

TEST(CheckProgram, RefusesWhatIsNestedTooDeeply) {
  EXPECT_TRUE(is_sound(nested(kMostNestedBlocks)));
  EXPECT_FALSE(is_sound(nested(kMostNestedBlocks + 1)));
  EXPECT_FALSE(is_sound(nested(100'000)));
}

TEST(LastUses, AreThoseOfTheOwnBlock) {
  const auto unused = last_uses(branching());
  using List = std::vector<std::int32_t>;
  EXPECT_EQ(unused[0][0], (List{0, 1}));
  EXPECT_EQ(unused[0][1], (List{2}));
  EXPECT_TRUE(unused[1][0].empty());
  EXPECT_TRUE(unused[2][0].empty());
}

}  // namespace
}  // namespace octavo
