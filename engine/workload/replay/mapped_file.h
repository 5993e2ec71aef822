#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heddle::replay {

/// A whole file in memory, read only; pages that nobody looks at are not read.
///
/// Whoever changes the file while it is mapped breaks the promise: replace files, don't write into
/// them.
class MappedFile {
 public:
  /// Throws std::invalid_argument that names the file and what the system said.
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
