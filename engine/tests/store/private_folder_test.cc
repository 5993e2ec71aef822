#include "store/private_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace heddle::store {
namespace {

namespace fs = std::filesystem;

/// A folder for the folders that a test makes.
class PrivateFolderTest : public testing::Test {
 protected:
  PrivateFolderTest()
      : place_(fs::path(testing::TempDir()) / ("folders" + std::to_string(getpid()))) {
    fs::create_directory(place_);
  }
  ~PrivateFolderTest() override { fs::remove_all(place_); }

  [[nodiscard]] std::size_t count() const {
    std::size_t entries = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(place_)) ++entries;
    return entries;
  }

  fs::path place_;
};

TEST_F(PrivateFolderTest, IsGoneWithItsFilesAtTheEnd) {
  {
    const PrivateFolder one(place_);
    const PrivateFolder other(place_);
    EXPECT_NE(one.path(), other.path());
    EXPECT_EQ(one.path().parent_path(), place_);
    std::ofstream(one.path() / "database") << "rows";
    EXPECT_EQ(count(), 2U);
  }
  EXPECT_EQ(count(), 0U);
}

TEST_F(PrivateFolderTest, RemovesThoseOfKilledProcessesAndNoOthers) {
  const PrivateFolder of_this_process(place_);
  fs::create_directory(place_ / "heddle-store-notes");  // without a lock: no folder of a run
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const PrivateFolder left_over(place_);
    (void)kill(getpid(), SIGKILL);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(count(), 3U);
  const PrivateFolder next(place_);
  EXPECT_EQ(count(), 3U) << "one was removed, and one was made";
  EXPECT_TRUE(fs::exists(of_this_process.path()));
  EXPECT_TRUE(fs::exists(place_ / "heddle-store-notes"));
}

TEST_F(PrivateFolderTest, NamesAFolderThatItCannotUse) {
  const fs::path missing = place_ / "missing";
  try {
    const PrivateFolder folder(missing);
    ADD_FAILURE() << "it was made";
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(missing.string() + ": No such file"), std::string::npos) << text;
    EXPECT_NE(text.find("folder="), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace heddle::store
