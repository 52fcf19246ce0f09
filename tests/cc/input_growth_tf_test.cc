// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "grappler_pass/input_growth.h"

namespace sn_tf {
namespace {

using tensorflow::TensorShape;

TEST(NoteDimsTest, LargerInputsAreNotedAndSmallerOnesAreNot) {
  StepInputDims known;
  EXPECT_EQ(NoteDims({TensorShape({8, 32}), TensorShape({})}, &known), 1);
  EXPECT_EQ(known, (StepInputDims{{8, 32}, {}}));
  EXPECT_EQ(NoteDims({TensorShape({8, 32}), TensorShape({})}, &known),
            std::nullopt);
  EXPECT_EQ(NoteDims({TensorShape({4, 16}), TensorShape({})}, &known),
            std::nullopt);
  EXPECT_EQ(NoteDims({TensorShape({16, 16}), TensorShape({})}, &known), 2);
  // The largest of each dimension, though no input had both.
  EXPECT_EQ(known, (StepInputDims{{16, 32}, {}}));
}

TEST(NoteDimsTest, TheInputThatGrewMostCounts) {
  StepInputDims known = {{2}, {3}};
  EXPECT_EQ(NoteDims({TensorShape({4}), TensorShape({12})}, &known), 4);
}

}  // namespace
}  // namespace sn_tf
