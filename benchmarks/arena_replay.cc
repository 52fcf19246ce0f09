// SPDX-License-Identifier: Apache-2.0
//
// Replays recorded allocations with sn_tf's arena, tsl::BFCAllocator or malloc,
// and prints as JSON what an operation took. One measurement a process: what
// malloc takes depends on what the process did before.
//
//   arena_replay <trace> arena|bfc|malloc|kept <threads>
//
// What is equal for all three: the sizes, their order, the alignment, and that
// nobody touches the memory. malloc touches what it writes its own notes to.
// - sn_tf's arena is the allocator that TensorFlow calls. It is given a budget
//   where the trace was recorded with one: the trace's peak, exactly.
// - BFC has the options of TensorFlow's GPU device: all of its memory at once,
//   no garbage collection, any chunk may be split.
// - malloc is posix_memalign, as TensorFlow's own CPU allocator calls it. Most
//   of its time goes to giving memory back to the system and asking for it
//   again; "kept" is the same malloc told to keep all.
// With several threads each replays the whole trace, with blocks of its own
// out of the one allocator.
#include <malloc.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "benchmarks/arena_trace.h"
#include "cc/allocator/arena_allocator.h"
#include "cc/core/json.h"
#include "xla/tsl/framework/allocator.h"
#include "xla/tsl/framework/bfc_allocator.h"

namespace sn_tf {
namespace {

constexpr size_t kAlignmentBytes = 64;
// Operations of a thread in a round: several slices of the scheduler, so that
// threads are really interrupted by one another.
constexpr int64_t kOperations = 400'000;
// Memory of BFC and addresses of the arena, times the peak of all threads.
constexpr int64_t kRoom = 2;
constexpr int64_t kLeastMemory = int64_t{64} << 20;

class ReservedMemory : public tsl::SubAllocator {
 public:
  ReservedMemory() : tsl::SubAllocator({}, {}) {}

  void* Alloc(size_t /*alignment*/, size_t num_bytes,
              size_t* bytes_received) override {
    void* const memory =
        mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *bytes_received = memory == MAP_FAILED ? 0 : num_bytes;
    return memory == MAP_FAILED ? nullptr : memory;
  }
  void Free(void* ptr, size_t num_bytes) override { munmap(ptr, num_bytes); }
  bool SupportsCoalescing() const override { return false; }
};

// A TensorFlow allocator with one range of addresses, from its first block on.
class Managed {
 public:
  explicit Managed(tsl::Allocator* allocator) : allocator_(allocator) {
    void* const first = Allocate(kAlignmentBytes);
    base_ = static_cast<char*>(first);
    Free(first);
  }
  void* Allocate(int64_t bytes) {
    return allocator_->AllocateRaw(kAlignmentBytes, static_cast<size_t>(bytes));
  }
  void Free(void* block) { allocator_->DeallocateRaw(block); }
  int64_t BytesOf(void* block) const {
    return static_cast<int64_t>(allocator_->RequestedSize(block));
  }
  // How far above the lowest address `block` ends.
  int64_t EndOf(void* block) const {
    return static_cast<char*>(block) - base_ + BytesOf(block);
  }

 private:
  tsl::Allocator* const allocator_;
  char* base_ = nullptr;
};

class Malloc {
 public:
  void* Allocate(int64_t bytes) {
    void* block = nullptr;
    if (posix_memalign(&block, kAlignmentBytes, static_cast<size_t>(bytes)) !=
        0) {
      return nullptr;
    }
    return block;
  }
  void Free(void* block) { std::free(block); }
};

// From now on malloc gives nothing back to the system, as arena and BFC do.
void KeepMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

[[noreturn]] void DieOfRefusal(int64_t bytes) {
  std::fprintf(stderr,
               "arena_replay: an allocation of %lld bytes was refused. The "
               "memory is in more pieces than the replay leaves room for.\n",
               static_cast<long long>(bytes));
  std::exit(1);
}

// One thread's copy of the trace.
template <typename Subject>
class Replay {
 public:
  Replay(const ArenaTrace& trace, Subject* subject)
      : trace_(trace), subject_(subject), blocks_(trace.blocks) {
    for (size_t i = 0; i < trace.resident.size(); ++i) {
      blocks_[i] = Allocate(trace.resident[i]);
    }
  }
  ~Replay() {
    for (size_t i = 0; i < trace_.resident.size(); ++i) {
      subject_->Free(blocks_[i]);
    }
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void Run(int64_t times) {
    for (int64_t time = 0; time < times; ++time) {
      for (const ArenaTrace::Event& event : trace_.events) {
        if (event.bytes == 0) {
          subject_->Free(blocks_[event.block]);
        } else {
          blocks_[event.block] = Allocate(event.bytes);
        }
      }
    }
  }

 private:
  void* Allocate(int64_t bytes) {
    void* const block = subject_->Allocate(bytes);
    if (block == nullptr) DieOfRefusal(bytes);
    return block;
  }

  const ArenaTrace& trace_;
  Subject* const subject_;
  std::vector<void*> blocks_;
};

// Where all threads wait until the last has come.
class StartLine {
 public:
  explicit StartLine(int threads) : missing_(threads) {}
  void Wait() {
    --missing_;
    while (missing_ > 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> missing_;
};

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What the processors have worked for this process.
int64_t ProcessorNs() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Nanoseconds per operation: of the wall clock, all threads together; as the
// threads see it, each for itself; and of the processors, which what else runs
// on the machine does not count into.
struct Times {
  double wall = 0;
  double thread = 0;
  double processor = 0;
};

template <typename Subject>
Times Measure(const ArenaTrace& trace, int threads, Subject* subject) {
  const auto events = static_cast<int64_t>(trace.events.size());
  const int64_t replays = kOperations / events + 1;
  std::vector<int64_t> begin(threads);
  std::vector<int64_t> end(threads);
  int64_t processor = 0;
  StartLine start(threads);
  StartLine finish(threads);
  const auto run = [&](int thread) {
    Replay<Subject> replay(trace, subject);
    replay.Run(1);
    start.Wait();
    if (thread == 0) processor = -ProcessorNs();
    begin[thread] = NowNs();
    replay.Run(replays);
    end[thread] = NowNs();
    finish.Wait();  // Before the resident blocks are freed.
    if (thread == 0) processor += ProcessorNs();
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) {
    others.emplace_back(run, thread);
  }
  run(0);
  for (std::thread& other : others) other.join();
  int64_t sum = 0;
  for (int thread = 0; thread < threads; ++thread) {
    sum += end[thread] - begin[thread];
  }
  const int64_t wall = *std::max_element(end.begin(), end.end()) -
                       *std::min_element(begin.begin(), begin.end());
  const auto done = static_cast<double>(replays * events * threads);
  return {static_cast<double>(wall) / done, static_cast<double>(sum) / done,
          static_cast<double>(processor) / done};
}

// Notes how much is in use and how high blocks end.
class Placed {
 public:
  explicit Placed(Managed* managed) : managed_(managed) {}
  // Counts before and until after, so that with several threads no block is in
  // use that is not counted.
  void* Allocate(int64_t bytes) {
    Raise(&peak_bytes_, in_use_bytes_ += bytes);
    void* const block = managed_->Allocate(bytes);
    if (block != nullptr) Raise(&high_water_bytes_, managed_->EndOf(block));
    return block;
  }
  void Free(void* block) {
    const int64_t bytes = managed_->BytesOf(block);
    managed_->Free(block);
    in_use_bytes_ -= bytes;
  }
  double fragmentation() const {
    return static_cast<double>(high_water_bytes_) /
           static_cast<double>(peak_bytes_);
  }

 private:
  static void Raise(std::atomic<int64_t>* most, int64_t value) {
    int64_t seen = *most;
    while (seen < value && !most->compare_exchange_weak(seen, value)) {
    }
  }

  Managed* const managed_;
  std::atomic<int64_t> in_use_bytes_{0};
  std::atomic<int64_t> peak_bytes_{0};
  std::atomic<int64_t> high_water_bytes_{0};
};

// High-water mark / peak of another replay.
double Fragmentation(const ArenaTrace& trace, int threads, Managed* managed) {
  Placed placed(managed);
  Measure(trace, threads, &placed);
  return placed.fragmentation();
}

std::unique_ptr<ArenaAllocator> MakeArena(int64_t memory_bytes,
                                          int64_t budget_bytes) {
  auto arena = std::make_unique<ArenaAllocator>("arena", memory_bytes);
  const std::string refused = arena->SetBudget(budget_bytes);
  if (!refused.empty()) {
    std::fprintf(stderr, "arena_replay: %s\n", refused.c_str());
    std::exit(1);
  }
  return arena;
}

std::unique_ptr<tsl::Allocator> MakeBfc(int64_t memory_bytes) {
  tsl::BFCAllocator::Options options;
  options.allow_growth = false;
  return std::make_unique<tsl::BFCAllocator>(std::make_unique<ReservedMemory>(),
                                             static_cast<size_t>(memory_bytes),
                                             "bfc", options);
}

// `fragmentation` is 0 where it is not known.
void Report(const ArenaTrace& trace, const Times& times, double fragmentation) {
  JsonWriter json;
  json.BeginObject();
  json.Key("operations").Int(static_cast<int64_t>(trace.events.size()));
  json.Key("peak_bytes").Int(trace.peak_bytes);
  json.Key("wall_ns").Double(times.wall);
  json.Key("thread_ns").Double(times.thread);
  json.Key("processor_ns").Double(times.processor);
  if (fragmentation > 0) json.Key("fragmentation").Double(fragmentation);
  json.EndObject();
  std::printf("%s\n", json.text().c_str());
}

int Run(const ArenaTrace& trace, const std::string& name, int threads) {
  if (name == "malloc" || name == "kept") {
    if (name == "kept") KeepMemory();
    Malloc malloc;
    Report(trace, Measure(trace, threads, &malloc), 0);
    return 0;
  }
  const int64_t memory = kRoom * threads * trace.peak_bytes + kLeastMemory;
  if (name == "arena") {
    auto arena =
        MakeArena(memory, trace.is_budgeted ? threads * trace.peak_bytes : 0);
    Managed managed(arena.get());
    const Times times = Measure(trace, threads, &managed);
    // The arena itself keeps count, of all that it did.
    Report(trace, times, arena->stats().arena.fragmentation());
    return 0;
  }
  if (name == "bfc") {
    const auto bfc = MakeBfc(memory);
    Managed managed(bfc.get());
    const Times times = Measure(trace, threads, &managed);
    Report(trace, times, Fragmentation(trace, threads, &managed));
    return 0;
  }
  std::fprintf(stderr,
               "arena_replay: no allocator \"%s\". Pass arena, bfc, malloc "
               "or kept.\n",
               name.c_str());
  return 2;
}

int Main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: arena_replay <trace> <allocator> <threads>\n");
    return 2;
  }
  ArenaTrace trace;
  const std::string wrong = trace.Read(argv[1]);
  if (!wrong.empty()) {
    std::fprintf(stderr, "arena_replay: %s\n", wrong.c_str());
    return 1;
  }
  trace.Close();
  return Run(trace, argv[2], std::max(1, std::atoi(argv[3])));
}

}  // namespace
}  // namespace sn_tf

int main(int argc, char** argv) { return sn_tf::Main(argc, argv); }
