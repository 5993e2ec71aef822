#include "store/stores.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "store/module.h"

namespace heddle::store {

namespace {

/// A store that is a shared module, and what its module needs.
struct Known {
  std::string_view name;
  std::string_view needs;
  std::string_view package;                 ///< of Debian
  std::array<std::string_view, 3> options;  ///< of external that not all stores have
};

constexpr Known kKnown[] = {
    {"sqlite", "SQLite 3", "libsqlite3-dev", {"begin", "sync_us"}},
    {"postgresql", "libpq", "libpq-dev", {"isolation", "dsn", "prefetch"}},
    {"rocksdb", "RocksDB", "librocksdb-dev", {"conflicts", "isolation", "sync_us"}},
    {"mariadb", "MariaDB Connector/C", "libmariadb-dev", {"isolation", "dsn"}},
};

/// The stores that are part of the program.
struct Added {
  std::mutex mutex;
  std::map<std::string, OpenStore> stores;

  static Added& get() {
    static Added added;
    return added;
  }
};

/// The modules that are loaded.
struct Loaded {
  std::mutex mutex;
  std::vector<const Module*> modules;

  static Loaded& get() {
    static Loaded loaded;
    return loaded;
  }

  void add(const Module& module) {
    const std::lock_guard lock(mutex);
    if (std::find(modules.begin(), modules.end(), &module) == modules.end()) {
      modules.push_back(&module);
    }
  }
};

/// The folder of the library or the program that this code is in.
std::filesystem::path own_folder() {
  Dl_info found{};
  std::filesystem::path file;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &found) != 0) file = found.dli_fname;
  // A program that was found by its name has no folder there.
  if (!file.has_parent_path()) file = std::filesystem::read_symlink("/proc/self/exe");
  return file.parent_path();
}

/// The file of a store's module; empty: it is not built.
std::filesystem::path module_file(const Known& known) {
  const std::string file = "heddle_store_" + std::string(known.name) + ".so";
  const std::filesystem::path folder = own_folder();
  // Installed next to the library; in a build folder the tests are next to `stores`.
  for (const auto& candidate : {folder / file, folder / ".." / "stores" / file}) {
    std::error_code ignored;
    if (std::filesystem::exists(candidate, ignored)) return candidate;
  }
  return {};
}

[[noreturn]] void refuse(const Known& known, const std::string& problem) {
  throw std::invalid_argument("store " + std::string(known.name) + ": " + problem);
}

const Module& load(const Known& known) {
  const std::filesystem::path file = module_file(known);
  if (file.empty()) {
    refuse(known, "this build lacks it, because " + std::string(known.needs) +
                      " was not found; install it (Debian: apt-get install " +
                      std::string(known.package) + "), then build again: make -B setup");
  }
  // Stays loaded: its code may run until the program ends.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    refuse(known, "its module can't be loaded: " + std::string(why == nullptr ? "" : why) +
                      "; install " + std::string(known.needs));
  }
  using Describe = const Module* (*)();
  const auto describe = reinterpret_cast<Describe>(dlsym(library, kModuleSymbol));
  const Module* module = describe == nullptr ? nullptr : describe();
  if (module == nullptr || std::string_view(module->version) != HEDDLE_VERSION ||
      module->interface != kInterface) {
    refuse(known, file.string() + " is of another version; build again: make -B setup");
  }
  Loaded::get().add(*module);
  return *module;
}

/// A store that is part of the program; empty: there is none of this name.
OpenStore find_added(const std::string& name) {
  Added& added = Added::get();
  const std::lock_guard lock(added.mutex);
  const auto found = added.stores.find(name);
  return found == added.stores.end() ? OpenStore() : found->second;
}

const Known& find_known(const std::string& name) {
  for (const Known& known : kKnown) {
    if (known.name == name) return known;
  }
  std::string valid;
  for (const std::string& each : store_names()) valid += (valid.empty() ? "" : ", ") + each;
  throw std::invalid_argument("store '" + name + "' is not known; valid: " + valid);
}

}  // namespace

std::vector<std::string> store_names() {
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.emplace_back(known.name);
  Added& added = Added::get();
  const std::lock_guard lock(added.mutex);
  for (const auto& [name, open] : added.stores) names.push_back(name);
  return names;
}

bool is_module(const std::string& name) {
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [&name](const Known& known) { return known.name == name; });
}

std::vector<std::string> stores_with(std::string_view option) {
  std::vector<std::string> names;
  for (const Known& known : kKnown) {
    const auto& options = known.options;
    if (std::find(options.begin(), options.end(), option) == options.end()) continue;
    names.emplace_back(known.name);
  }
  return names;
}

OpenStore find_store(const std::string& name) {
  if (OpenStore added = find_added(name)) return added;
  return load(find_known(name)).open;
}

void check_store(const std::string& name, const StoreSetup& setup) {
  if (find_added(name) != nullptr) return;
  const Module& module = load(find_known(name));
  if (module.check != nullptr) module.check(setup);
}

void close_stores() {
  Loaded& loaded = Loaded::get();
  const std::lock_guard lock(loaded.mutex);
  for (const Module* module : loaded.modules) {
    if (module->close != nullptr) module->close();
  }
}

void add_store(const std::string& name, OpenStore open) {
  Added& added = Added::get();
  const std::lock_guard lock(added.mutex);
  added.stores[name] = std::move(open);
}

}  // namespace heddle::store
