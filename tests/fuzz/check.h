// SPDX-License-Identifier: Apache-2.0
//
// What a fuzz target expects. Where it does not hold, the process ends, which
// the fuzzer counts as a finding.
#ifndef SN_TF_TESTS_FUZZ_CHECK_H_
#define SN_TF_TESTS_FUZZ_CHECK_H_

#include <cstdlib>
#include <iostream>

namespace sn_tf {

// `what` says what was expected.
inline void Check(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "Expected: " << what << std::endl;
  std::abort();
}

template <typename A, typename B>
void CheckEqual(const A& received, const B& expected, const char* what) {
  if (received == expected) return;
  std::cerr << what << ": expected " << expected << ", received " << received
            << std::endl;
  std::abort();
}

}  // namespace sn_tf

#endif  // SN_TF_TESTS_FUZZ_CHECK_H_
