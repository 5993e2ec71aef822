#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/hints.h"
#include "model/random.h"

namespace heddle {

/// The inputs of a workload's transactions for code that does not know the input's type: trivially
/// copyable bytes behind a pointer aligned to `kAlignment`.
class Inputs {
 public:
  static constexpr std::size_t kAlignment = alignof(std::uint64_t);

  Inputs() = default;
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  virtual ~Inputs() = default;

  /// The size of an input; a multiple of `kAlignment`.
  [[nodiscard]] virtual std::size_t input_bytes() const = 0;
  /// Constructs a default input in `input_bytes()` of memory.
  virtual void make_input(std::byte* input) const = 0;
  /// Draws the next transaction of a worker into an input. Returns its type.
  /// @param now_us the machine's clock
  virtual int draw(Random& random, int worker, int workers, std::uint64_t now_us,
                   std::byte* input) = 0;
  [[nodiscard]] virtual int type_of(const std::byte* input) const = 0;
  /// A type's share of all transactions in the long run, 0 to 1. Empty where draws are independent
  /// of each other, so that those of any window are a sample of it.
  [[nodiscard]] virtual std::optional<double> share(int /*type*/) const { return {}; }

  /// A type's weight among those that `mixed_throughput` compares, if some workers run one type
  /// only: a slow type then delays its own workers and no others, and the transactions drawn are no
  /// sample of a mix. Empty otherwise; share() counts then, or what was drawn.
  [[nodiscard]] virtual std::optional<double> weight(int /*type*/) const { return {}; }

  /// Whether transactions pass hints.
  [[nodiscard]] virtual bool has_hints() const = 0;
  /// Whether an option of the workload, `hints`, decides that.
  [[nodiscard]] virtual bool hints_optional() const { return false; }
  /// Appends the hints of an input.
  virtual void hints(const std::byte* input, Hints& hints) const = 0;

  /// Whether transactions arrive by a clock of their own, whether or not a worker is free: an open
  /// loop. In a closed loop a worker's next transaction arrives when its previous one ends.
  ///
  /// The clock counts microseconds and stands still between runs. That of a trace continues from
  /// one run to the next; that of a rate begins with each run. During a run a worker calls
  /// `next_arrival_us` for itself; `arrived` and `begun` are called only before and after a run.
  [[nodiscard]] virtual bool open_loop() const = 0;
  /// The arrival time of the transaction that `draw` gives the worker next; never earlier than that
  /// of its previous one.
  [[nodiscard]] virtual double next_arrival_us(int worker) const = 0;
  /// The number of transactions, over all workers, that arrive before a time, from the clock's
  /// start.
  [[nodiscard]] virtual double arrived(double us) const = 0;
  /// The number of transactions that `draw` has given all workers since the clock's start.
  [[nodiscard]] virtual double begun() const = 0;
};

}  // namespace heddle
