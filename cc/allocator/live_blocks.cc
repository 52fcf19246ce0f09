// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/live_blocks.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "tsl/profiler/lib/scoped_memory_debug_annotation.h"

namespace sn_tf {
namespace {

bool IsLarger(const LiveBuffers& left, const LiveBuffers& right) {
  return std::tie(right.bytes, left.op, left.of_before) <
         std::tie(left.bytes, right.op, right.of_before);
}

}  // namespace

size_t LiveBlocks::KeyHash::operator()(const Key& key) const {
  return std::hash<std::string_view>()(key.op) ^
         static_cast<size_t>(key.bytes) * 0x9e3779b97f4a7c15u;
}

void LiveBlocks::Add(int64_t offset, int64_t bytes) {
  const auto& annotation =
      tsl::profiler::ScopedMemoryDebugAnnotation::CurrentAnnotation();
  const int64_t step_id = annotation.pending_step_id;
  Key key{annotation.pending_op_name, RegionOf(annotation.pending_region_type),
          annotation.pending_data_type, bytes};
  if (AddOfKnown(key, offset, step_id)) return;
  auto maker = std::make_unique<Maker>();
  maker->op = std::string(key.op);
  maker->region = key.region;
  maker->dtype = key.dtype;
  if (annotation.pending_shape_func) {
    maker->shape = annotation.pending_shape_func();
  }
  key.op = maker->op;
  ArenaMutexLock lock(&mutex_);
  if (makers_.size() >= most_makers_) ForgetMakers();
  // Another thread may have come first.
  const auto place = makers_.emplace(key, std::move(maker)).first;
  AddOf(place->second.get(), offset, bytes, step_id);
}

bool LiveBlocks::AddOfKnown(const Key& key, int64_t offset, int64_t step_id) {
  ArenaMutexLock lock(&mutex_);
  const auto found = makers_.find(key);
  if (found == makers_.end()) return false;
  AddOf(found->second.get(), offset, key.bytes, step_id);
  return true;
}

void LiveBlocks::AddOf(Maker* maker, int64_t offset, int64_t bytes,
                       int64_t step_id) {
  if (free_.empty()) {
    // Index 0 is kNoChunk.
    blocks_.resize(std::max<size_t>(2, blocks_.size() + 1));
    free_.push_back(static_cast<ChunkIndex>(blocks_.size() - 1));
  }
  const ChunkIndex index = free_.back();
  free_.pop_back();
  blocks_[index] = {offset, bytes, step_id, maker};
  places_.Insert(blocks_, index);
  ++maker->live;
}

void LiveBlocks::Remove(int64_t offset) {
  ArenaMutexLock lock(&mutex_);
  const ChunkIndex index = places_.Erase(blocks_, offset);
  if (index == kNoChunk) return;
  --blocks_[index].maker->live;
  blocks_[index] = Block();
  free_.push_back(index);
}

void LiveBlocks::ForgetMakers() {
  for (auto entry = makers_.begin(); entry != makers_.end();) {
    entry = entry->second->live == 0 ? makers_.erase(entry) : std::next(entry);
  }
  most_makers_ = std::max<size_t>(most_makers_, 2 * makers_.size());
}

LiveMemory LiveBlocks::Largest(size_t count, int64_t step_id) const {
  LiveMemory live;
  ArenaMutexLock lock(&mutex_);
  std::map<std::pair<std::string_view, bool>, LiveBuffers> by_op;
  for (const Block& block : blocks_) {
    if (block.maker == nullptr) continue;
    const Maker& maker = *block.maker;
    const bool of_before = step_id != 0 && block.step_id != step_id;
    if (of_before) live.before_bytes += block.bytes;
    LiveBuffers& buffers = by_op[{maker.op, of_before}];
    ++buffers.buffers;
    buffers.bytes += block.bytes;
    if (std::tie(buffers.largest_bytes, maker.shape) <
        std::tie(block.bytes, buffers.shape)) {
      buffers.largest_bytes = block.bytes;
      buffers.region = maker.region;
      buffers.dtype = maker.dtype;
      buffers.shape = maker.shape;
    }
  }
  for (auto& [key, buffers] : by_op) {
    buffers.op = std::string(key.first);
    buffers.of_before = key.second;
    live.largest.push_back(std::move(buffers));
  }
  std::sort(live.largest.begin(), live.largest.end(), IsLarger);
  if (live.largest.size() > count) live.largest.resize(count);
  return live;
}

}  // namespace sn_tf
