// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cc/ops/names.h"
#include "grappler_pass/delay_writes.h"
#include "grappler_pass/planner/route.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace sn_tf {
namespace {

// One weight that is updated early, and a loss that takes a long way.
class DelayWritesTest : public testing::Test {
 protected:
  void SetUp() override {
    Add("weight", "VarHandleOp", {});
    Add("lr", "Const", {});
    Add("x", "Const", {});
    Add("read", "ReadVariableOp", {"weight"});
    Add("update", "AssignSubVariableOp", {"weight", "lr"}, {"read"});
    Add("after", "ReadVariableOp", {"weight"}, {"update"});
    Add("square", "Square", {"x"});
    Add("loss", "Mul", {"square", "read"});
    Add("out", "Identity", {"loss"}, {"update"});
  }

  // Ops in the order of their names, as ImportGraph has them.
  void Import() {
    const int count = graph_.node_size();
    for (int i = 0; i < count; ++i) imported_.node_index.push_back(i);
    std::sort(imported_.node_index.begin(), imported_.node_index.end(),
              [this](int a, int b) {
                return graph_.node(a).name() < graph_.node(b).name();
              });
    for (const int node : imported_.node_index) {
      Op op;
      op.name = graph_.node(node).name();
      imported_.memory.ops.push_back(op);
    }
    for (int i = 0; i < count; ++i) {
      Op& op = imported_.memory.ops[i];
      for (std::string input : graph_.node(imported_.node_index[i]).input()) {
        if (input[0] == '^') input.erase(0, 1);
        op.after.push_back(IdOf(input));
      }
      std::sort(op.after.begin(), op.after.end());
    }
    Op end;
    end.name = "end";
    end.after = {IdOf("out")};
    imported_.memory.ops.push_back(end);
  }

  OpId IdOf(const std::string& name) const {
    for (size_t i = 0; i < imported_.memory.ops.size(); ++i) {
      if (imported_.memory.ops[i].name == name) return static_cast<OpId>(i);
    }
    return kNone;
  }

  int PositionOf(const std::string& name) const {
    const Route route = BuildRoute(imported_.memory);
    return static_cast<int>(std::find(route.begin(), route.end(), IdOf(name)) -
                            route.begin());
  }

  tensorflow::GraphDef graph_;
  ImportedGraph imported_;

 private:
  void Add(const std::string& name, const std::string& op,
           const std::vector<std::string>& inputs,
           const std::vector<std::string>& controls = {}) {
    tensorflow::NodeDef* const node = graph_.add_node();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& control : controls) {
      node->add_input("^" + control);
    }
  }
};

TEST_F(DelayWritesTest, WritesComeAfterAllThatNeedsNone) {
  Import();
  DelayWrites(graph_, {}, &imported_);
  EXPECT_EQ(imported_.memory.Validate(), "");
  EXPECT_LT(PositionOf("loss"), PositionOf("update"));
  EXPECT_LT(PositionOf("update"), PositionOf("after"));
  EXPECT_LT(PositionOf("update"), PositionOf("end"));
  ASSERT_NE(imported_.before_writes, kNone);
  EXPECT_EQ(imported_.memory.ops[imported_.before_writes].after,
            (std::vector<OpId>{IdOf("loss"), IdOf("lr")}));
}

TEST_F(DelayWritesTest, SlotsThatMoveComeInAfterThat) {
  for (const char* const name : {"in", "stays"}) {
    tensorflow::NodeDef* const in = graph_.add_node();
    in->set_name(name);
    in->set_op(kStateInOp);
    (*in->mutable_attr())[kPhaseAttr].set_s(kPhaseUse);
    (*in->mutable_attr())[kSlotAttr].set_b(in->name() == "in");
  }
  Import();
  DelayWrites(graph_, {}, &imported_);
  EXPECT_EQ(imported_.memory.Validate(), "");
  EXPECT_LT(PositionOf("loss"), PositionOf("in"));
  EXPECT_LT(PositionOf("stays"),
            PositionOf("all that comes before the writes"));
}

TEST_F(DelayWritesTest, WritesThatFeedTheStepsInputsStay) {
  Import();
  StepInput input;
  input.node = "after";
  DelayWrites(graph_, {input}, &imported_);
  EXPECT_EQ(imported_.before_writes, kNone);
}

}  // namespace
}  // namespace sn_tf
