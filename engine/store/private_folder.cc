#include "store/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace heddle::store {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "heddle-store-";
constexpr std::string_view kLock = "lock";

/// An open file that is closed at the end of its scope, and its lock released with it.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }

  [[nodiscard]] bool lock() const { return number_ >= 0 && flock(number_, LOCK_EX | LOCK_NB) == 0; }
  int release() {
    const int number = number_;
    number_ = -1;
    return number;
  }

 private:
  int number_;
};

[[noreturn]] void refuse(const fs::path& place, int error) {
  throw std::runtime_error("store: no folder for the database can be made in " + place.string() +
                           ": " + std::strerror(error) +
                           "; name a folder that you may write to with folder=");
}

/// Removes a folder, and its lock last: if a process that ends still adds files, the next sweep
/// finds what is left.
void remove_folder(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename() != kLock) fs::remove_all(entry.path(), ignored);
  }
  if (std::distance(fs::directory_iterator(folder, ignored), fs::directory_iterator()) > 1) return;
  fs::remove_all(folder, ignored);
}

/// Removes the folders whose owners are gone.
void sweep(const fs::path& place) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(place, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !entry.is_directory(ignored)) continue;
    // Without a lock file it is no folder of a run; nor is what a link leads to (O_NOFOLLOW).
    const Descriptor file(open((entry.path() / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (file.lock()) remove_folder(entry.path());
  }
}

}  // namespace

PrivateFolder::PrivateFolder(const fs::path& place) : owner_(getpid()) {
  std::error_code failed;
  const fs::path where = place.empty() ? fs::temp_directory_path(failed) : place;
  if (failed) refuse("TMPDIR", failed.value());
  sweep(where);
  // It gets its name once its lock is held: until then no other process takes it for left over.
  std::string fresh = (where / ".heddle-XXXXXX").string();
  if (mkdtemp(fresh.data()) == nullptr) refuse(where, errno);
  path_ = where / (std::string(kPrefix) + fresh.substr(fresh.size() - 6));
  constexpr mode_t kOwnerOnly = 0600;
  Descriptor file(
      open((fs::path(fresh) / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly));
  if (!file.lock() || rename(fresh.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    fs::remove_all(fresh, failed);
    refuse(where, error);
  }
  lock_ = file.release();
}

PrivateFolder::~PrivateFolder() {
  if (owner_ == getpid()) remove_folder(path_);
  close(lock_);
}

}  // namespace heddle::store
