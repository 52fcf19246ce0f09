// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grappler_pass/aliases.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace sn_tf {
namespace {

TensorInfo Floats(std::vector<int64_t> dims) {
  return {tensorflow::DT_FLOAT, true, std::move(dims)};
}

int Aliased(const std::string& op, const std::vector<TensorInfo>& inputs,
            const std::vector<TensorInfo>& outputs, int port = 0) {
  tensorflow::NodeDef node;
  node.set_op(op);
  return AliasedInput(node, port, inputs, outputs);
}

TEST(AliasesTest, WholeTensorsAreShared) {
  EXPECT_EQ(Aliased("Reshape", {Floats({4, 4})}, {Floats({16})}), 0);
  EXPECT_EQ(Aliased("IdentityN", {}, {}, 2), 2);
  EXPECT_EQ(Aliased("Relu", {Floats({4, 4})}, {Floats({4, 4})}), -1);
}

TEST(AliasesTest, AlignedSlicesAlongTheFirstDimensionAreShared) {
  const TensorInfo whole = Floats({8, 16});
  EXPECT_EQ(Aliased("Unpack", {whole}, {Floats({16})}), 0);
  EXPECT_EQ(Aliased("StridedSlice", {whole}, {Floats({16})}), 0);
  EXPECT_EQ(Aliased("Slice", {whole}, {Floats({2, 16})}), 0);
  const TensorInfo axis{tensorflow::DT_INT32, true, {}};
  EXPECT_EQ(Aliased("Split", {axis, whole}, {Floats({4, 16})}), 1);
}

TEST(AliasesTest, OtherSlicesAreCopies) {
  EXPECT_EQ(Aliased("Unpack", {Floats({16, 8})}, {Floats({16})}), -1);
  EXPECT_EQ(Aliased("Slice", {Floats({8, 16})}, {Floats({8, 4})}), -1);
  EXPECT_EQ(Aliased("Unpack", {Floats({8, 15})}, {Floats({15})}), -1)
      << "60 bytes apart";
  EXPECT_EQ(Aliased("Unpack", {Floats({-1, 16})}, {Floats({16})}), -1);
  EXPECT_EQ(Aliased("Split", {}, {Floats({16})}), -1);
}

}  // namespace
}  // namespace sn_tf
