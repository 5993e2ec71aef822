#include "check/checker.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "check/contradictions.h"
#include "check/key_groups.h"
#include "check/lives.h"
#include "check/row_tree.h"
#include "check/serialization.h"
#include "check/transactions.h"

namespace heddle::check {

namespace {

constexpr std::uint32_t kNone = Transactions::kNone;

/// The interval of the clock in which a snapshot reader saw its state.
struct Window {
  std::uint64_t from = 0;
  std::uint64_t to = Life::kForever;
};

/// The contents that a version was seen with: each by the number of its bytes that were seen. The
/// write and all reads must agree.
class Content {
 public:
  /// Returns false if those bytes were seen with other content.
  bool agrees(std::uint16_t bytes, std::uint32_t digest) {
    if (bytes == 0) return true;
    for (Seen& seen : seen_) {
      if (seen.bytes == bytes) return seen.digest == digest;
      if (seen.bytes != 0) continue;
      seen = {digest, bytes};
      return true;
    }
    return true;  // more lengths than are kept
  }

 private:
  struct Seen {
    std::uint32_t digest = 0;
    std::uint16_t bytes = 0;
  };
  std::array<Seen, 3> seen_;
};

/// One version of one row, as its writer left it.
struct Version {
  std::uint64_t place;
  std::uint64_t number;
  std::uint32_t node;
  bool removed;
  bool inserted;
  Content content;

  [[nodiscard]] auto order() const { return std::tuple(place, number, node); }
};

/// The content of a record before the run.
struct Initial {
  std::uint64_t place;
  std::uint64_t number;
  Content content;
};

/// Whether two versions were left by one transaction; they may differ in its number of writes.
constexpr bool of_one_commit(std::uint64_t one, std::uint64_t other) {
  constexpr int kBitsWithin = 7;
  return one >> kBitsWithin == other >> kBitsWithin;
}

constexpr std::uint64_t kAnyPlace = ~std::uint64_t{0};

/// The prefetch distance, in writers.
constexpr std::size_t kAhead = 12;

/// A row of a range that is treated separately. Of several for one row the first applies.
struct Stop {
  std::uint64_t word;
  std::uint32_t rank;  ///< 0: returned; else the operation that changed it
  bool then_changed;   ///< it was missed, and then overwritten or deleted

  auto operator<=>(const Stop&) const = default;
};

/// A read of the row under examination.
struct Read {
  Operation operation;
  Place at;
};

class Check {
 public:
  Check(const History& history, Isolation isolation)
      : history_(history),
        isolation_(isolation),
        transactions_(history),
        keys_(transactions_),
        findings_(transactions_),
        serialization_(transactions_, findings_),
        lives_(keys_, serialization_, findings_) {}

  Report run() {
    Report report;
    count(report);
    find_contradictions(history_, findings_);
    for (const Place& at : keys_.broken()) {
      findings_.add("broken", findings_.words().operation(operation(at)), {at.node()});
    }
    const bool past = std::any_of(history_.workers.begin(), history_.workers.end(), has_past);
    if (past) windows_.resize(transactions_.size());
    serialization_.reserve(2 * keys_.operations());
    for (std::uint32_t key = 0; key < keys_.size(); ++key) look_at(key);
    for (Miss& miss : misses_) {
      narrow(miss);
      lives_.place(miss);
    }
    misses_ = {};
    look_at_ranges();
    keys_.forget_operations();
    serialization_.find_cycles(isolation_);
    if (findings_.empty()) serialization_.find_reversed();
    report.edges = serialization_.edges();
    report.choices = lives_.choices();
    report.open_choices = serialization_.open_choices();
    report.anomalies = findings_.take();
    return report;
  }

 private:
  static bool has_past(const WorkerLog& log) {
    for (std::size_t at = 0; at < log.attempts.size(); ++at) {
      if (log.attempts[at].on_snapshot) return true;
    }
    return false;
  }

  void count(Report& report) const {
    report.transactions = transactions_.size();
    report.keys = keys_.size();
    report.operations = keys_.operations();
    report.committed_by_type.resize(history_.types.size());
    for (const WorkerLog& log : history_.workers) {
      for (std::size_t at = 0; at < log.attempts.size(); ++at) {
        const Attempt& attempt = log.attempts[at];
        report.aborted += attempt.end == End::aborted ? 1 : 0;
        report.committed += attempt.end == End::committed ? 1 : 0;
        if (attempt.end != End::aborted && attempt.type < report.committed_by_type.size()) {
          ++report.committed_by_type[attempt.type];
        }
      }
    }
  }

  [[nodiscard]] const Operation& operation(const Place& at) const {
    return transactions_.operation(at);
  }
  [[nodiscard]] std::string row(std::uint32_t key) const {
    return findings_.words().row(keys_.key(key).table, keys_.key(key).word);
  }

  [[nodiscard]] bool on_snapshot(std::uint32_t node) const {
    return !windows_.empty() && transactions_.attempt(node).on_snapshot;
  }

  // ---- one row ---------------------------------------------------------------------------------

  void look_at(std::uint32_t key) {
    versions_.clear();
    initials_.clear();
    by_node_.clear();
    reads_.clear();
    bool missed = false;
    comes_and_goes_ = false;
    for (const Place& at : keys_.operations(key)) {
      keys_.prefetch_after(transactions_, at);
      const Operation& one = operation(at);
      missed = missed || one.kind == Kind::miss;
      if (one.kind == Kind::read) reads_.push_back({one, at});
      if (one.kind != Kind::write && one.kind != Kind::remove) continue;
      const bool inserted = one.is(flag::kInserted);
      const bool removed = one.kind == Kind::remove;
      comes_and_goes_ = comes_and_goes_ || inserted || removed;
      versions_.push_back({one.place, one.version, at.node(), removed, inserted, Content{}});
      (void)versions_.back().content.agrees(one.bytes, one.digest);
    }
    std::sort(versions_.begin(), versions_.end(),
              [](const Version& a, const Version& b) { return a.order() < b.order(); });
    order_versions(key);
    for (const Read& read : reads_) add_read(key, read);
    find_lives(key);
    if (missed) place_misses(key);
  }

  [[nodiscard]] bool follows(std::size_t at) const {
    return at > 0 && versions_[at - 1].place == versions_[at].place;
  }

  void order_versions(std::uint32_t key) {
    for (std::size_t at = 0; at < versions_.size(); ++at) {
      if (!follows(at)) continue;
      const Version& before = versions_[at - 1];
      const Version& version = versions_[at];
      if (before.number == version.number) {
        findings_.add("version made twice", row(key) + " got the same version from two",
                      {before.node, version.node});
      } else if (version.inserted != before.removed) {
        findings_.add("impossible",
                      row(key) + (version.inserted ? " was inserted although it existed"
                                                   : " was overwritten after it was deleted"),
                      {before.node, version.node});
      }
      serialization_.add(before.node, version.node, Why::ww);
    }
  }

  void add_read(std::uint32_t key, const Read& it) {
    const auto& [read, at] = it;
    if (read.is(flag::kUncommitted)) return add_dirty_read(key, it);
    const auto found = std::lower_bound(versions_.begin(), versions_.end(), read,
                                        [](const Version& version, const Operation& wanted) {
                                          return std::pair(version.place, version.number) <
                                                 std::pair(wanted.place, wanted.version);
                                        });
    const auto index = static_cast<std::size_t>(found - versions_.begin());
    if (found != versions_.end() && found->place == read.place && found->number == read.version) {
      return add_read_of(key, it, index);
    }
    if (read.version >= history_.first_version) return report_uncommitted(it, index);
    add_read_of_initial(key, it, index);
  }

  /// @param next the version that would follow the one that was read
  void report_uncommitted(const Read& it, std::size_t next) {
    const auto& [read, at] = it;
    for (std::size_t near = next - std::min<std::size_t>(next, 1);
         near < std::min(next + 1, versions_.size()); ++near) {
      const Version& version = versions_[near];
      if (version.place != read.place || !of_one_commit(version.number, read.version)) continue;
      findings_.add("G1b (intermediate read)",
                    findings_.words().operation(read) + ", which is not its writer's last version",
                    {at.node(), version.node});
      return;
    }
    findings_.add("G1a (aborted read)",
                  findings_.words().operation(read) + ", which was never committed", {at.node()});
  }

  /// @param next the first version of the record in the run, if it has one
  void add_read_of_initial(std::uint32_t key, const Read& it, std::size_t next) {
    const auto& [read, at] = it;
    auto initial = std::find_if(initials_.begin(), initials_.end(),
                                [&read](const Initial& one) { return one.place == read.place; });
    if (initial == initials_.end()) {
      initial = initials_.insert(initial, {read.place, read.version, Content{}});
    }
    if (initial->number != read.version) {
      findings_.add("impossible", row(key) + " was read in two versions from before the run",
                    {at.node()});
    }
    if (!initial->content.agrees(read.bytes, read.digest)) report_content(key, at, kNone);
    if (next == versions_.size() || versions_[next].place != read.place) return;
    if (follows(next) || versions_[next].inserted) {
      findings_.add("impossible",
                    row(key) + " was read as it was before the run, when it did not exist",
                    {at.node(), versions_[next].node});
    }
    add_overwrite(at.node(), versions_[next].node);
  }

  void add_read_of(std::uint32_t key, const Read& it, std::size_t index) {
    const auto& [read, at] = it;
    Version& version = versions_[index];
    if (version.removed) {
      findings_.add("impossible", findings_.words().operation(read) + ", a deleted row",
                    {at.node(), version.node});
    }
    if (version.node == at.node()) {
      findings_.add("impossible",
                    findings_.words().operation(read) + ", which it wrote itself later on",
                    {at.node()});
    }
    if (!version.content.agrees(read.bytes, read.digest)) report_content(key, at, version.node);
    serialization_.add(version.node, at.node(), Why::wr);
    if (on_snapshot(at.node())) {
      Window& window = windows_[at.node()];
      window.from = std::max(window.from, transactions_.attempt(version.node).began);
    }
    if (index + 1 < versions_.size() && follows(index + 1)) {
      add_overwrite(at.node(), versions_[index + 1].node);
    }
  }

  void add_overwrite(std::uint32_t reader, std::uint32_t writer) {
    serialization_.add(reader, writer, Why::rw);
    if (!on_snapshot(reader)) return;
    Window& window = windows_[reader];
    window.to = std::min(window.to, transactions_.attempt(writer).ended);
  }

  void add_dirty_read(std::uint32_t key, const Read& it) {
    const auto& [read, at] = it;
    const Dirty dirty = Dirty::unpack(read.version);
    const std::uint32_t writer = committed_writer(at);
    if (writer == kNone) return;
    const std::size_t index = version_by(writer, read.place);
    const bool last =
        index < versions_.size() && writes_of(versions_[index].number) == dirty.writes;
    if (!last) {
      findings_.add("G1b (intermediate read)",
                    findings_.words().operation(read) + ", which is not its last version",
                    {at.node(), writer});
      return;
    }
    add_read_of(key, it, index);
  }

  /// The writer of an uncommitted version; kNone, and a finding, if it did not commit.
  std::uint32_t committed_writer(const Place& at) {
    const Operation& read = operation(at);
    const auto writer = transactions_.writer_of(Dirty::unpack(read.version));
    const bool committed =
        writer.node != kNone && transactions_.attempt(writer.node).end == End::committed;
    if (committed) return writer.node;
    findings_.add("G1a (aborted read)",
                  findings_.words().operation(read) +
                      (writer.known ? ", which was aborted" : ", which did not commit"),
                  {at.node(), writer.node});
    return kNone;
  }

  /// The version of the row that a transaction left in this record; kAnyPlace: in any record.
  std::size_t version_by(std::uint32_t node, std::uint64_t place) {
    if (by_node_.empty()) {
      for (std::size_t at = 0; at < versions_.size(); ++at)
        by_node_.push_back({versions_[at].node, at});
      std::sort(by_node_.begin(), by_node_.end());
    }
    auto found =
        std::lower_bound(by_node_.begin(), by_node_.end(), std::pair(node, std::size_t{0}));
    for (; found != by_node_.end() && found->first == node; ++found) {
      if (place == kAnyPlace || versions_[found->second].place == place) return found->second;
    }
    return versions_.size();
  }

  void report_content(std::uint32_t key, const Place& at, std::uint32_t writer) {
    findings_.add("torn or mistaken read",
                  row(key) + ": the content read as " + findings_.words().operation(operation(at)) +
                      " is not the content of that version",
                  {at.node(), writer});
  }

  // ---- inserts and deletes of rows -------------------------------------------------------------

  void place_misses(std::uint32_t key) {
    for (const Place& at : keys_.operations(key)) {
      const Operation& miss = operation(at);
      if (miss.kind != Kind::miss) continue;
      if (miss.is(flag::kUncommitted)) {
        add_dirty_miss(key, at);
        continue;
      }
      bool then_changed = false;
      if (version_by(at.node(), kAnyPlace) < versions_.size()) {
        then_changed = changes_later(at, miss);
        if (!then_changed) continue;
      }
      const Miss found{at.node(), key,         miss.version, transactions_.attempt(at.node()).ended,
                       false,     then_changed};
      // The time of a snapshot reader's state is known when all its reads have been examined.
      if (on_snapshot(at.node())) {
        misses_.push_back(found);
      } else {
        lives_.place(found);
      }
    }
  }

  /// It relied on another's uncommitted delete of the row.
  void add_dirty_miss(std::uint32_t key, const Place& at) {
    const std::uint32_t writer = committed_writer(at);
    if (writer == kNone) return;
    serialization_.add(writer, at.node(), Why::wr);
    const Attempt& reader = transactions_.attempt(at.node());
    misses_.push_back({at.node(), key, reader.began, reader.ended, false, false});
  }

  /// Whether a transaction that has missed a row afterwards wrote or deleted it, without an insert.
  [[nodiscard]] bool changes_later(const Place& at, const Operation& row) const {
    const std::uint32_t count = transactions_.attempt(at.node()).operations;
    const std::uint32_t before = transactions_.offset(at);
    for (std::uint32_t offset = 0; offset < count; ++offset) {
      const Operation& one = transactions_.operation(at.node(), offset);
      if (one.kind != Kind::write && one.kind != Kind::remove) continue;
      if (one.table != row.table || one.key != row.key) continue;
      return offset > before && !one.is(flag::kInserted);
    }
    return false;
  }

  void find_lives(std::uint32_t key) {
    found_.clear();
    for (const Initial& initial : initials_) {
      const bool changed = std::any_of(
          versions_.begin(), versions_.end(),
          [&initial](const Version& version) { return version.place == initial.place; });
      if (!changed) found_.push_back({{kNone, kNone, 0, Life::kForever}, initial.place, 0});
    }
    if (!comes_and_goes_) return find_one_life(key);
    bool alive = false;
    for (std::size_t at = 0; at < std::min(versions_.size(), 2 * kAhead); ++at) {
      transactions_.prefetch_node(versions_[at].node);
    }
    for (std::size_t at = 0; at < std::min(versions_.size(), kAhead); ++at) {
      transactions_.prefetch_attempt(versions_[at].node);
    }
    for (std::size_t at = 0; at < versions_.size(); ++at) {
      const Version& version = versions_[at];
      if (at + 2 * kAhead < versions_.size()) {
        transactions_.prefetch_node(versions_[at + 2 * kAhead].node);
      }
      if (at + kAhead < versions_.size()) {
        transactions_.prefetch_attempt(versions_[at + kAhead].node);
      }
      const Attempt& writer = transactions_.attempt(version.node);
      if (!follows(at)) alive = false;
      if (!alive) {
        // Only for a record's first version: after a delete it cannot have existed before.
        const bool was_there = !version.inserted && !follows(at);
        found_.push_back({{was_there ? kNone : version.node, kNone, was_there ? 0 : writer.ended,
                           Life::kForever},
                          version.place,
                          version.number});
        latest_ = 0;
        alive = true;
      }
      Life& life = found_.back().life;
      life.began_by = std::min(life.began_by, writer.ended);
      latest_ = std::max(latest_, writer.began);
      if (!version.removed) continue;
      life.last = version.node;
      life.ended_from = latest_;
      alive = false;
    }
    lives_.add(key, found_);
  }

  /// For a row that was only overwritten: it existed all the time, once in each record.
  void find_one_life(std::uint32_t key) {
    for (std::size_t at = 0; at < versions_.size(); ++at) {
      if (follows(at)) continue;
      found_.push_back({{kNone, kNone, 0, Life::kForever}, versions_[at].place, 0});
    }
    lives_.add(key, found_);
  }

  /// For a snapshot reader.
  void narrow(Miss& miss) const {
    if (!on_snapshot(miss.node)) return;
    miss.from = windows_[miss.node].from;
    miss.to = std::min(miss.to, windows_[miss.node].to);
  }

  // ---- ranges ----------------------------------------------------------------------------------

  void look_at_ranges() {
    if (keys_.ranges().empty()) return;
    constexpr std::size_t kTables = 256;
    std::vector<std::vector<RowName>> rows(kTables);
    std::vector<bool> wanted(kTables, false);
    for (const Place& at : keys_.ranges()) wanted[operation(at).table] = true;
    for (std::uint32_t key = 0; key < keys_.size(); ++key) {
      const KeyGroups::Key& row = keys_.key(key);
      if (wanted[row.table] && lives_.any(key)) rows[row.table].push_back({row.word, key});
    }
    std::vector<RowTree> trees;
    for (auto& table : rows) {
      std::sort(table.begin(), table.end(),
                [](const RowName& a, const RowName& b) { return a.word < b.word; });
      trees.emplace_back(lives_, serialization_, std::move(table));
    }
    for (const Place& at : keys_.ranges()) look_at_range(at, trees[operation(at).table]);
  }

  /// The rows of a range that it returned, and those that the transaction changed itself.
  void find_stops(const Place& at) {
    const Operation& range = operation(at);
    const std::uint32_t count = transactions_.attempt(at.node()).operations;
    const std::uint32_t before = transactions_.offset(at);
    stops_.clear();
    bool given = false;
    for (std::uint32_t offset = 0; offset < count; ++offset) {
      const Operation& one = transactions_.operation(at.node(), offset);
      if (one.kind == Kind::broken) continue;
      given = offset == before || (given && one.is(flag::kOfRange));
      if (one.table != range.table || offset == before) continue;
      if (given) {
        stops_.push_back({one.key, 0, false});
      } else if (one.kind == Kind::write || one.kind == Kind::remove) {
        const bool then_changed = offset > before && !one.is(flag::kInserted);
        stops_.push_back({one.key, offset + 1, then_changed});
      }
    }
    std::sort(stops_.begin(), stops_.end());
  }

  void look_at_range(const Place& at, RowTree& table) {
    const Operation& range = operation(at);
    find_stops(at);
    Miss miss{at.node(), 0, range.version, transactions_.attempt(at.node()).ended, true, false};
    narrow(miss);
    std::size_t next = table.find(range.key, 0);
    std::uint64_t before = range.key;
    for (const Stop& stop : stops_) {
      if (stop.word < before || stop.word > range.place) continue;  // or handled already
      const std::size_t row = table.find(stop.word, next);
      table.place(miss, next, row);
      next = row;
      before = stop.word + 1;
      if (row == table.rows().size() || table.rows()[row].word != stop.word) continue;
      next = row + 1;
      if (!stop.then_changed) continue;
      Miss of_changed = miss;
      of_changed.key = table.rows()[row].key;
      of_changed.then_changed = true;
      lives_.place(of_changed);
    }
    std::size_t end = table.find(range.place, next);
    if (end < table.rows().size() && table.rows()[end].word == range.place) ++end;
    if (next < end) table.place(miss, next, end);
  }

  const History& history_;
  Isolation isolation_;
  Transactions transactions_;
  KeyGroups keys_;
  Findings findings_;
  Serialization serialization_;
  Lives lives_;
  std::vector<Window> windows_;  ///< by transaction; only if there are snapshot readers
  std::vector<Miss> misses_;     ///< of snapshot readers
  // Of the row under examination.
  bool comes_and_goes_ = false;
  std::vector<Read> reads_;
  std::vector<Version> versions_;
  std::vector<Initial> initials_;
  std::vector<std::pair<std::uint32_t, std::size_t>> by_node_;
  std::vector<LifeInRecord> found_;
  std::uint64_t latest_ = 0;
  std::vector<Stop> stops_;
};

}  // namespace

Report check_history(const History& history, Isolation isolation) {
  return Check(history, isolation).run();
}

}  // namespace heddle::check
