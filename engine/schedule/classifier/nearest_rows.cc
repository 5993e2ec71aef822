#include "schedule/classifier/nearest_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace heddle::classifier {

namespace {

/// The coordinate of the rows that fill the last block: far from every vector, with a finite
/// square.
constexpr float kFarAway = 1e18F;

/// The values are small integers, so that equal vectors have equal bits.
std::uint64_t hash_of(std::span<const float> vector) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (const float value : vector) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0xbf58476d1ce4e5b9;
    hash ^= hash >> 29;
  }
  return hash;
}

constexpr std::size_t kBlock = NearestRows::kBlock;

using FourLanes [[gnu::vector_size(4 * sizeof(float))]] = float;
using EightLanes [[gnu::vector_size(8 * sizeof(float))]] = float;

/// The squared distances of a vector to all rows, computed a block of rows at a time in registers,
/// and the least of each block.
/// @tparam Lanes the numbers of a register
template <class Lanes>
[[gnu::always_inline]] inline void measure_blocks(std::span<const float> vector,
                                                  std::span<const float> by_block, float* squares,
                                                  float* least) {
  constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(float);
  const std::size_t columns = vector.size();
  const float* const end = by_block.data() + by_block.size();
  for (const float* block = by_block.data(); block != end; block += columns * kBlock) {
    Lanes least_of_all = Lanes{} + std::numeric_limits<float>::max();
    for (std::size_t first = 0; first < kBlock; first += kLanes) {
      Lanes sums{};
      for (std::size_t column = 0; column < columns; ++column) {
        Lanes difference;
        std::memcpy(&difference, block + column * kBlock + first, sizeof(difference));
        difference -= vector[column];
        sums += difference * difference;
      }
      std::memcpy(squares, &sums, sizeof(sums));
      squares += kLanes;
      least_of_all = sums < least_of_all ? sums : least_of_all;
    }
    float one = least_of_all[0];
    for (std::size_t lane = 1; lane < kLanes; ++lane) one = std::min(one, least_of_all[lane]);
    *least++ = one;
  }
}

using Measure = void (*)(std::span<const float>, std::span<const float>, float*, float*);

void measure_plainly(std::span<const float> vector, std::span<const float> by_block, float* squares,
                     float* least) {
  measure_blocks<FourLanes>(vector, by_block, squares, least);
}

#if defined(__x86_64__)
/// The sums are the same: they are of small integers.
[[gnu::target("avx2")]] void measure_widely(std::span<const float> vector,
                                            std::span<const float> by_block, float* squares,
                                            float* least) {
  measure_blocks<EightLanes>(vector, by_block, squares, least);
}
#endif

/// Builds are for any processor of the family, so the processor is detected when the program
/// starts. (Not by `target_clones`: its resolvers run before the sanitizers are ready.)
Measure fastest_measure() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return measure_widely;
#endif
  return measure_plainly;
}

const Measure measure = fastest_measure();

}  // namespace

/// The nearest neighbours, the nearest first; of two at the same distance the first added is first.
class NearestRows::Nearest {
 public:
  explicit Nearest(std::span<Neighbour> all) : all_(all) {}

  void add(const Neighbour& one) {
    if (count_ == all_.size() && one.distance >= farthest()) return;
    std::size_t place = count_ < all_.size() ? count_++ : count_ - 1;
    for (; place > 0 && all_[place - 1].distance > one.distance; --place) {
      all_[place] = all_[place - 1];
    }
    all_[place] = one;
  }
  [[nodiscard]] float farthest() const { return all_[count_ - 1].distance; }

 private:
  std::span<Neighbour> all_;
  std::size_t count_ = 0;
};

NearestRows::NearestRows(std::span<const Row> rows, std::span<const int> labels, int neighbours)
    : columns_(rows.front().size()),
      neighbours_(std::min(static_cast<std::size_t>(neighbours), rows.size())),
      labels_(labels.begin(), labels.end()),
      blocks_((rows.size() + kBlock - 1) / kBlock),
      by_block_(blocks_ * columns_ * kBlock, kFarAway),
      equal_(std::bit_ceil(2 * rows.size()), -1) {
  assert(rows.size() == labels.size());
  by_row_.reserve(columns_ * rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) {
    for (std::size_t column = 0; column < columns_; ++column) {
      const auto value = static_cast<float>(rows[at][column]);
      by_row_.push_back(value);
      by_block_[(at / kBlock * columns_ + column) * kBlock + at % kBlock] = value;
    }
    std::size_t place = hash_of({by_row_.data() + at * columns_, columns_});
    while (equal_[place & (equal_.size() - 1)] >= 0) ++place;
    equal_[place & (equal_.size() - 1)] = static_cast<std::int32_t>(at);
  }
}

int NearestRows::label(std::span<const float> vector, std::vector<float>& distances) const {
  assert(vector.size() == columns_);
  const std::int32_t equal = equal_row(vector);
  if (equal >= 0) return labels_[static_cast<std::size_t>(equal)];
  std::array<Neighbour, kMostNeighbours> nearest{};
  find_nearest(vector, distances, {nearest.data(), neighbours_});
  return neighbours_ == 1 ? nearest[0].label : elected({nearest.data(), neighbours_});
}

std::int32_t NearestRows::equal_row(std::span<const float> vector) const {
  std::size_t place = hash_of(vector);
  while (true) {
    const std::int32_t row = equal_[place & (equal_.size() - 1)];
    if (row < 0) return row;
    const float* values = by_row_.data() + static_cast<std::size_t>(row) * columns_;
    if (std::equal(vector.begin(), vector.end(), values)) return row;
    ++place;
  }
}

void NearestRows::find_nearest(std::span<const float> vector, std::vector<float>& distances,
                               std::span<Neighbour> nearest) const {
  // First the distances and the least of each block; then only the blocks that contain a neighbour
  // are searched.
  distances.resize(blocks_ * (kBlock + 1));
  float* const least = distances.data() + blocks_ * kBlock;
  measure(vector, by_block_, distances.data(), least);
  // At least as many rows as vote lie no farther away than the last of as many blocks.
  std::array<Neighbour, kMostNeighbours> first{};
  Nearest blocks({first.data(), std::min(neighbours_, blocks_)});
  for (std::size_t block = 0; block < blocks_; ++block) blocks.add({least[block], 0});
  const float bound = blocks_ < neighbours_ ? kFarAway * kFarAway : blocks.farthest();
  Nearest found(nearest);
  for (std::size_t block = 0; block < blocks_; ++block) {
    if (least[block] > bound) continue;
    const std::size_t end = std::min(size(), (block + 1) * kBlock);
    for (std::size_t row = block * kBlock; row < end; ++row) {
      if (distances[row] <= bound) found.add({distances[row], labels_[row]});
    }
  }
}

int NearestRows::elected(std::span<const Neighbour> nearest) {
  int best = nearest[0].label;
  float most = 0;
  for (const Neighbour& one : nearest) {
    float votes = 0;
    for (const Neighbour& other : nearest) {
      if (other.label == one.label) votes += 1 / std::sqrt(other.distance);
    }
    if (votes > most) {
      most = votes;
      best = one.label;
    }
  }
  return best;
}

}  // namespace heddle::classifier
