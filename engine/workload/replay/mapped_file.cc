#include "workload/replay/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace heddle::replay {

namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw std::invalid_argument("replay program " + path +
                              ": can't be read: " + std::generic_category().message(error));
}

/// Closes it at the end of a scope: a mapping outlives its descriptor.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) refuse(path, errno);
  struct stat about{};
  if (::fstat(file.number, &about) != 0) refuse(path, errno);
  if (S_ISDIR(about.st_mode)) refuse(path, EISDIR);
  if (!S_ISREG(about.st_mode)) refuse(path, EINVAL);
  size_ = static_cast<std::size_t>(about.st_size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (mapped == MAP_FAILED) refuse(path, errno);
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace heddle::replay
