#include "machine/numa.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/pages.h"

namespace heddle {
namespace {

/// A folder that describes nodes as the kernel does.
class Described : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "nodes";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void describe(const std::string& name, const std::string& cores) {
    std::filesystem::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "cpulist") << cores << '\n';
  }

  [[nodiscard]] std::vector<int> of(const std::vector<int>& cores) const {
    return numa::nodes_of(cores, folder_);
  }

  std::filesystem::path folder_;
};

TEST_F(Described, NodesOfTheCoresAreFound) {
  describe("node0", "0-3,16-19");
  describe("node1", "4-7,20");
  describe("node10", "8");
  describe("node2", "");  // has memory only
  describe("nodes", "0-31");
  describe("node3x", "0-31");
  EXPECT_EQ(of({0, 1}), (std::vector{0}));
  EXPECT_EQ(of({17, 20}), (std::vector{0, 1}));
  EXPECT_EQ(of({8, 3, 4}), (std::vector{0, 1, 10}));
}

TEST_F(Described, OneNodeIsAssumedWhereNoneIsNamed) {
  EXPECT_EQ(of({0}), (std::vector{0}));
  describe("node1", "a-b");
  EXPECT_EQ(of({0}), (std::vector{0}));
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(of({0}), (std::vector{0}));
}

TEST(Numa, TouchedMemoryLiesOnANodeOfThisProcess) {
  const Pages pages(1);
  numa::prefer(pages.start(), pages.bytes(), numa::nodes().back());
  *pages.start() = std::byte{1};
  const std::vector<int>& nodes = numa::nodes();
  EXPECT_NE(std::ranges::find(nodes, numa::here()), nodes.end());
  EXPECT_NE(std::ranges::find(nodes, numa::node_of(pages.start())), nodes.end());
}

}  // namespace
}  // namespace heddle
