// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target without a fuzzer, over the files of a corpus and over
// inputs made from numbers, the same each time:
//   arena_fuzz_replay tests/fuzz/corpus/arena_fuzz 3000
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

std::vector<Input> ReadCorpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> corpus;
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream),
                        std::istreambuf_iterator<char>());
  }
  return corpus;
}

Input RandomInput(std::mt19937_64& random) {
  constexpr size_t kMostBytes = 300;
  Input input(random() % kMostBytes);
  for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
  return input;
}

// `input` with a few of its bytes changed, removed or doubled.
Input Changed(Input input, std::mt19937_64& random) {
  for (size_t changes = 1 + random() % 8; changes > 0; --changes) {
    if (input.empty()) return RandomInput(random);
    const auto at =
        input.begin() + static_cast<ptrdiff_t>(random() % input.size());
    switch (random() % 4) {
      case 0:
        input.erase(at);
        break;
      case 1:
        input.insert(at, *at);
        break;
      default:
        *at = static_cast<uint8_t>(random());
    }
  }
  return input;
}

// Keeps each input in a file until the next, so that one which ends the process
// is left behind. Opened once: a file system may wait for the disk otherwise.
class Runner {
 public:
  explicit Runner(const std::string& file)
      : file_(file), stream_(file, std::ios::binary) {
    std::cout << "What fails is kept in " << file << std::endl;
  }

  void Run(const Input& input) {
    stream_.seekp(0);
    stream_.write(reinterpret_cast<const char*>(input.data()),
                  static_cast<std::streamsize>(input.size()));
    stream_.flush();
    std::filesystem::resize_file(file_, input.size());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }

  void Finish() { std::filesystem::remove(file_); }

 private:
  const std::string file_;
  std::ofstream stream_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "Usage: " << argv[0] << " CORPUS_FOLDER RANDOM_INPUTS\n";
    return 2;
  }
  const std::vector<Input> corpus = ReadCorpus(argv[1]);
  const int count = std::atoi(argv[2]);
  if (corpus.empty() || count <= 0) {
    std::cerr << "Received: " << argv[1] << " " << argv[2]
              << ". Expected a folder with files, and a number above 0.\n";
    return 2;
  }
  Runner runner(std::string(argv[0]) + ".input");
  for (const Input& input : corpus) runner.Run(input);
  std::mt19937_64 random;
  for (int i = 0; i < count; ++i) {
    runner.Run(i % 2 == 0 ? RandomInput(random)
                          : Changed(corpus[random() % corpus.size()], random));
  }
  runner.Finish();
  std::cout << corpus.size() << " files, " << count << " random inputs\n";
  return 0;
}
