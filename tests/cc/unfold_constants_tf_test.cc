// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/ops/names.h"
#include "grappler_pass/unfold_constants.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;
using tensorflow::Tensor;

class UnfoldConstantsTest : public testing::Test {
 protected:
  NodeDef* Add(const std::string& name, const std::string& op,
               const std::vector<std::string>& inputs) {
    NodeDef* const node = item_.graph.add_node();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    return node;
  }

  void AddConst(const std::string& name, const Tensor& value) {
    auto& attr = *Add(name, "Const", {})->mutable_attr();
    attr["dtype"].set_type(value.dtype());
    value.AsProtoTensorContent(attr["value"].mutable_tensor());
  }

  void AddFloats(const std::string& name, int64_t count, float last) {
    Tensor value(tensorflow::DT_FLOAT, {count});
    value.flat<float>().setConstant(2);
    value.flat<float>()(count - 1) = last;
    AddConst(name, value);
  }

  NodeDef* AddFill(const std::string& name, int32_t count) {
    Tensor dims(tensorflow::DT_INT32, {1});
    dims.flat<int32_t>()(0) = count;
    AddConst(name + "/dims", dims);
    Tensor value(tensorflow::DT_FLOAT, {});
    value.scalar<float>()() = 1;
    AddConst(name + "/value", value);
    NodeDef* const node = Add(name, "Fill", {name + "/dims", name + "/value"});
    (*node->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
    (*node->mutable_attr())["index_type"].set_type(tensorflow::DT_INT32);
    return node;
  }

  const NodeDef& Node(const std::string& name) const {
    for (const NodeDef& node : item_.graph.node()) {
      if (node.name() == name) return node;
    }
    ADD_FAILURE() << "no node " << name;
    return item_.graph.node(0);
  }

  tensorflow::grappler::GrapplerItem item_;
};

TEST_F(UnfoldConstantsTest, LargeConstantsOfOneValueAreMadeWhenNeeded) {
  AddFloats("same", 100'000, 2);
  AddFloats("different", 100'000, 3);
  AddFloats("small", 100, 2);
  ASSERT_TRUE(UnfoldConstants(&item_).ok());
  const NodeDef& same = Node("same");
  EXPECT_EQ(same.op(), kSplatOp);
  Tensor value;
  ASSERT_TRUE(value.FromProto(same.attr().at(kValueAttr).tensor()));
  EXPECT_EQ(value.NumElements(), 1);
  EXPECT_EQ(value.flat<float>()(0), 2);
  EXPECT_EQ(same.attr().at(kShapeAttr).shape().dim(0).size(), 100'000);
  EXPECT_EQ(Node("different").op(), "Const");
  EXPECT_EQ(Node("small").op(), "Const");
}

TEST_F(UnfoldConstantsTest, WhatWouldBeFoldedIntoSomethingLargeIsHeld) {
  AddFill("large", 100'000);
  AddFill("small", 10);
  ASSERT_TRUE(UnfoldConstants(&item_).ok());
  const NodeDef& hold = Node(Node("large").input(0));
  EXPECT_EQ(hold.op(), kHoldOp);
  EXPECT_EQ(hold.input(0), "large/dims");
  EXPECT_EQ(hold.attr().at(kTypeAttr).type(), tensorflow::DT_INT32);
  EXPECT_EQ(Node("small").input(0), "small/dims");
}

// The graph may be large; what is folded is a small part of it.
TEST_F(UnfoldConstantsTest, OnlyShapesOfWhatWouldBeFoldedAreInferred) {
  Add("unknown", "NoOpThatTensorFlowKnows", {});
  AddFill("large", 100'000)->add_input("^unknown");
  auto& attr = *Add("copy", "Identity", {"large"})->mutable_attr();
  attr["T"].set_type(tensorflow::DT_FLOAT);
  ASSERT_TRUE(UnfoldConstants(&item_).ok());
  EXPECT_EQ(Node(Node("large").input(0)).op(), kHoldOp);
  EXPECT_EQ(Node("large").input(2), "^unknown");
  EXPECT_EQ(Node(Node("copy").input(0)).op(), kHoldOp);
}

}  // namespace
}  // namespace sn_tf
