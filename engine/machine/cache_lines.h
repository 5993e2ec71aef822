#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/cost_model.h"
#include "machine/pages.h"

namespace heddle {

/// Tracks which simulated core has which cache line, and thus the cost of its next access to it.
///
/// A line has an owner, the core that wrote it last or got it first, and is either exclusive to the
/// owner or shared. Loads wait for the line to arrive, as far as other instructions do not hide
/// that latency. Stores go to the core's store buffer: the core continues while the line is in
/// flight, unless it executes a locked instruction, which waits for the buffer to drain. An access
/// to a line that is in flight to another core waits until it has arrived there: writers of one
/// line are serialised.
///
/// Lines that a core prefetches arrive while it continues, as many at a time as the model allows;
/// the next fetch starts when one has arrived. The first access to such a line waits until it has
/// arrived. Another core that writes it meanwhile invalidates it, as any line.
///
/// A core that reads consecutive lines of a database's pages is recognised, as hardware does within
/// a page, and pays little for the next line.
///
/// Caches are direct-mapped. Lines are numbered in the order in which they are first touched, never
/// by address, so that the placement of memory by the system changes nothing. A line that has not
/// been touched yet comes from the shared cache or from memory. The probability of the former is
/// the share of the database that all caches together could hold, because the run stands for a
/// section of a long one.
class CacheLines {
 public:
  using Ticks = std::uint64_t;

  enum class Access : std::uint8_t { load, store, exchange };

  /// @param database_lines the size of the database
  CacheLines(const CostModel& model, int cores, double ticks_per_ns, std::size_t database_lines);

  /// Whether the core has touched the line recently and still has it in the state that the access
  /// needs. If not, the line may be in its cache nevertheless.
  [[nodiscard]] bool at_hand(int core, const void* address, Access access) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address) / kLineBytes;
    const Recent& recent = recent_of(core, wanted);
    return recent.is(wanted) && own_[recent.place] == recent.tag &&
           (access == Access::load || recent.alone());
  }

  /// The cost of the access for a core that makes it at `now`. A line at hand costs nothing, except
  /// what a locked instruction itself takes.
  Ticks cost(int core, const void* address, Access access, Ticks now) {
    if (at_hand(core, address, access)) [[likely]]
      return access == Access::exchange ? atomic_ : 0;
    return look_up(core, address, access, now);
  }

  /// Starts fetching the line to the core at `now`, without waiting. Does nothing if the model
  /// prefetches no lines.
  void fetch_ahead(int core, const void* address, Ticks now);

  /// Prefetches on the host what a look-up of the line will need, and the line itself.
  void expect(const void* address) const {
    __builtin_prefetch(address);
    __builtin_prefetch(&lines_[home(reinterpret_cast<std::uintptr_t>(address) / kLineBytes)]);
  }

  /// Notes that the core has read consecutive lines up to that of `last`.
  void read_on(int core, const void* last) {
    streams_[static_cast<std::size_t>(core)].follow(reinterpret_cast<std::uintptr_t>(last) /
                                                    kLineBytes);
  }

  /// The time that a locked instruction waits until the core's earlier stores are done.
  [[nodiscard]] Ticks drain(int core, Ticks now) const {
    const Ticks done = stores_done_[static_cast<std::size_t>(core)];
    return done > now ? done - now : 0;
  }

  /// The number of an address's line: equal for all addresses in it, otherwise in first-touch
  /// order.
  std::uint32_t number_of(const void* address) { return line_of(address).number; }

  /// The core that last had a line exclusively, such as the holder of a lock in it; `asker` if
  /// there was none.
  [[nodiscard]] int owner(const void* address, int asker) {
    const unsigned owner = line_of(address).owner;
    return owner == kNobody ? asker : static_cast<int>(owner);
  }

  [[nodiscard]] std::size_t size() const { return count_; }

  static constexpr std::uintptr_t kLineBytes = 64;
  /// The number of lines per core that are known without a look-up: those that a transaction and
  /// its retries touch.
  static constexpr std::uintptr_t kRecent = 1024;

 private:
  static constexpr unsigned kNobody = (1U << 10) - 1;
  /// The number of consecutive lines that are stored together: records and nodes span several.
  static constexpr std::uintptr_t kNeighbours = 4;

  /// 32 bytes, so that no entry crosses a line of the host, whose caches miss most of them.
  struct alignas(32) Line {
    std::uintptr_t address = 0;  ///< divided by kLineBytes; 0: no line
    Ticks arrives = 0;           ///< the time when the transfers under way end
    std::uint64_t readers = 0;   ///< the cores that share it; core c is bit c modulo 64
    std::uint32_t number = 0;
    std::uint32_t owner : 10 = kNobody;  ///< the core that last had it exclusively
    std::uint32_t shared : 1 = 0;        ///< other cores got it since
    std::uint32_t writes : 21 = 0;       ///< counts changes of the line's contents
  };
  static_assert(sizeof(Line) == 32);

  /// Where a core has been reading consecutive lines.
  class Streams {
   public:
    /// Whether this line continues one of the last streams of reads.
    bool follow(std::uintptr_t line) {
      if (!Pages::hold(line * kLineBytes)) return false;
      constexpr std::uintptr_t kReach = 2;
      constexpr std::uintptr_t kLinesOfPage = 4096 / kLineBytes;
      for (std::uintptr_t& last : last_) {
        if (line - last <= kReach && line / kLinesOfPage == last / kLinesOfPage) {
          last = line;
          return true;
        }
      }
      last_[next_++ % last_.size()] = line;
      return false;
    }

   private:
    std::array<std::uintptr_t, 4> last_{};
    std::size_t next_ = 0;
  };

  /// The lines that a core has prefetched and not used yet.
  class Flights {
   public:
    /// @param most transfers under way at a time
    explicit Flights(int most) : arrivals_(static_cast<std::size_t>(most), 0) {}

    /// The start of the transfer of a line that is requested now.
    [[nodiscard]] Ticks departure(Ticks now) const { return std::max(now, arrivals_[next_]); }
    /// Adds a line that arrives at `arrival`.
    void add(std::uintptr_t line, Ticks arrival) {
      arrivals_[next_] = arrival;
      next_ = (next_ + 1) % arrivals_.size();
      lines_[line % lines_.size()] = {line, arrival};
    }
    /// The core uses the line. Returns the time that it waits for it.
    [[nodiscard]] Ticks use(std::uintptr_t line, Ticks now) {
      Flight& flight = lines_[line % lines_.size()];
      if (flight.line != line) return 0;
      flight.line = 0;
      return flight.arrival > now ? flight.arrival - now : 0;
    }

   private:
    struct Flight {
      std::uintptr_t line = 0;
      Ticks arrival = 0;
    };
    std::vector<Ticks> arrivals_;  ///< of the last ones, starting with the oldest at `next_`
    std::size_t next_ = 0;
    /// More than a procedure fetches at once: a displaced line counts as arrived.
    std::array<Flight, 256> lines_{};
  };

  /// The contents of a cache slot: a line's number, mixed with its content counter.
  using Tag = std::uint32_t;
  [[nodiscard]] static Tag tag(const Line& line) {
    return (line.number + 1) + line.writes * 0x9e37'79b1U;
  }

  /// A line that a core has touched recently, and the slot of its cache that held it then. While
  /// the slot still holds it, the line itself need not be looked up.
  class Recent {
   public:
    Recent() = default;
    Recent(const Line& line, int core, std::size_t cache_place)
        : place(static_cast<std::uint32_t>(cache_place)),
          tag(CacheLines::tag(line)),
          key_(line.address << 1 |
               static_cast<std::uintptr_t>(line.owner == static_cast<unsigned>(core) &&
                                           line.shared == 0)) {}
    [[nodiscard]] bool is(std::uintptr_t address) const { return key_ >> 1 == address; }
    [[nodiscard]] bool alone() const { return (key_ & 1) != 0; }
    void not_alone() { key_ &= ~std::uintptr_t{1}; }

    std::uint32_t place = 0;
    Tag tag = 0;

   private:
    std::uintptr_t key_ = 0;
  };

  [[nodiscard]] std::size_t home(std::uintptr_t address) const {
    const std::uintptr_t group = address / kNeighbours;
    const auto place = static_cast<std::size_t>((group * 0x9e37'79b9'7f4a'7c15ULL) >> shift_);
    return place * kNeighbours + address % kNeighbours;
  }

  Line& line_of(const void* address) {
    return line_at(reinterpret_cast<std::uintptr_t>(address) / kLineBytes);
  }
  Line& line_at(std::uintptr_t wanted) {
    for (std::size_t at = home(wanted);; at = (at + 1) & (lines_.size() - 1)) {
      Line& line = lines_[at];
      if (line.address == wanted) [[likely]]
        return line;
      if (line.address == 0) return add(wanted);
    }
  }

  static constexpr int kReaderBits = 64;
  [[nodiscard]] static std::uint64_t reader(int core) {
    return std::uint64_t{1} << (core % kReaderBits);
  }
  /// The slot of a core's own cache for the line.
  [[nodiscard]] std::size_t own_place(int core, const Line& line) const {
    return static_cast<std::size_t>(core) * own_size_ + (line.number & own_mask_);
  }
  [[nodiscard]] bool has(int core, const Line& line) const {
    return own_[own_place(core, line)] == tag(line);
  }
  [[nodiscard]] Recent& recent_of(int core, std::uintptr_t address) {
    return recent_[static_cast<std::size_t>(core) * kRecent + address % kRecent];
  }
  [[nodiscard]] Ticks furthest_other(int core, const Line& line) const;
  void take_away(int core, const Line& line);
  template <class F>
  void for_each_other(int core, const Line& line, F f) const;

  Line& add(std::uintptr_t address);
  Line& place(const Line& line);
  void grow();

  Ticks look_up(int core, const void* address, Access access, Ticks now);
  Ticks fetch(int core, Line& line, Access access, Ticks now);
  [[nodiscard]] Ticks await(int core, const Line& line, Access access, Ticks now);

  /// Notes that a store of the core is done at `arrival`.
  void note_store(int core, Ticks arrival) {
    Ticks& done = stores_done_[static_cast<std::size_t>(core)];
    done = std::max(done, arrival);
  }
  [[nodiscard]] Ticks exposed(Ticks latency) const {
    return static_cast<Ticks>(exposed_ * static_cast<double>(latency));
  }
  [[nodiscard]] Ticks transfer(int core, int owner) const {
    return core / cores_per_socket_ == owner / cores_per_socket_ ? transfer_ : far_transfer_;
  }
  /// Whether a line that has not been touched is in a shared cache.
  [[nodiscard]] bool in_shared_cache(const Line& line) const {
    return line.number * 0x9e37'79b1U < resident_;
  }

  PageArray<Line> lines_;  ///< open addressing
  std::size_t count_ = 0;
  int shift_;
  PageArray<Recent> recent_;  ///< one range per core
  PageArray<Tag> own_;        ///< the private caches, one range per core
  PageArray<Tag> common_;     ///< the shared caches, one per socket
  std::vector<Ticks> stores_done_;
  std::vector<Streams> streams_;
  std::vector<Flights> flights_;  ///< one per core; empty if nothing is fetched ahead
  std::size_t own_size_, own_mask_, common_size_, common_mask_;
  std::uint32_t resident_;  ///< share of the database in a shared cache, of 2^32
  int cores_;
  int cores_per_socket_;
  double exposed_;
  Ticks stream_, shared_hit_, memory_, transfer_, far_transfer_, atomic_;
};

}  // namespace heddle
