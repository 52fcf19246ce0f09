// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/span_index.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "grappler_pass/planner/graph.h"

namespace sn_tf {
namespace {

TEST(SpanIndexTest, FindsTheFirstOfThoseOverAPosition) {
  SpanIndex index(10, {{3, 5}, {0, 9}, {5, 5}, {7, 6}});
  EXPECT_EQ(index.FirstOver(5), 0);
  EXPECT_EQ(index.FirstOver(6), 1);
  index.Remove(0);
  EXPECT_EQ(index.FirstOver(5), 1);
  index.Remove(1);
  EXPECT_EQ(index.FirstOver(5), 2);
  EXPECT_EQ(index.FirstOver(4), kNone);
  EXPECT_EQ(index.FirstOver(7), kNone);
}

TEST(SpanIndexTest, OfNothing) {
  EXPECT_EQ(SpanIndex(3, {}).FirstOver(2), kNone);
}

TEST(SpanIndexTest, AgreesWithASearchThroughAll) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::minstd_rand random(seed + 1);
    const auto positions = static_cast<Position>(1 + random() % 40);
    std::vector<Span> spans(random() % 60);
    for (Span& span : spans) {
      span.first = static_cast<Position>(random() % positions);
      span.last = span.first +
                  static_cast<Position>(random() % (positions - span.first));
    }
    SpanIndex index(positions, spans);
    std::vector<bool> removed(spans.size(), false);
    for (int step = 0; step < 100; ++step) {
      const auto at = static_cast<Position>(random() % positions);
      int32_t expected = kNone;
      for (size_t i = spans.size(); i-- > 0;) {
        if (!removed[i] && spans[i].first <= at && at <= spans[i].last) {
          expected = static_cast<int32_t>(i);
        }
      }
      ASSERT_EQ(index.FirstOver(at), expected) << "seed " << seed;
      if (expected == kNone) continue;
      index.Remove(expected);
      removed[expected] = true;
    }
  }
}

}  // namespace
}  // namespace sn_tf
