#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heddle::replay {

/// A whole file in memory, read-only; pages that are not accessed are not read.
///
/// The file must not be written while it is mapped: replace files instead of writing into them.
class MappedFile {
 public:
  /// Throws std::invalid_argument with the file name and the system's error.
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace heddle::replay
