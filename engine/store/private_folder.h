#pragma once

#include <sys/types.h>

#include <filesystem>

namespace heddle::store {

/// A folder of its own for a run's database, removed with all its files when this is destroyed.
///
/// Its owner holds a lock on a file in it. A process that was killed holds none, so that the next
/// one that makes a folder in the same place removes those that are left over.
class PrivateFolder {
 public:
  /// @param place the folder in which it is made; empty: the system's folder for temporary files
  /// @throws std::runtime_error naming the folder and the cure
  explicit PrivateFolder(const std::filesystem::path& place);
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  pid_t owner_;    ///< a copy of the process, by fork(), leaves the folder alone
  int lock_ = -1;  ///< file descriptor
};

}  // namespace heddle::store
