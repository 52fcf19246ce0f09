// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grappler_pass/fusible.h"
#include "grappler_pass/plan_graph.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;
using tensorflow::grappler::GrapplerItem;

constexpr int64_t kPooledBytes = 8 * 32 * 32 * 16 * sizeof(float);

void SetPooling(NodeDef* node) {
  auto& attributes = *node->mutable_attr();
  for (const char* name : {"ksize", "strides"}) {
    for (const int size : {1, 2, 2, 1}) {
      attributes[name].mutable_list()->add_i(size);
    }
  }
  attributes["padding"].set_s("SAME");
}

// A pooling of `a`, and a gradient that reads `a` and `output`.
GrapplerItem PoolingItem(const std::string& output) {
  ItemBuilder builder;
  builder.AddInput("x", {8, 32, 32, 16});
  builder.Add("a", "Exp", {"x"});
  SetPooling(builder.Add("pool", "MaxPool", {"a"}));
  builder.Add("copy", "Exp", {"pool"});
  builder.Add("gradient", "Square", {"copy"});
  SetPooling(builder.Add("out", "MaxPoolGrad", {"a", output, "gradient"}));
  return builder.Build("out");
}

double ApartSecondsOf(const std::string& op, const GrapplerItem& item) {
  auto planned = PlanGraph(item, OptionsOf(0, "host"), {});
  EXPECT_TRUE(planned.ok()) << planned.status();
  const ImportedGraph& imported = planned->imported;
  const BufferId buffer =
      imported.BufferOf({OpNamed(imported.memory, op), /*port=*/0});
  return imported.memory.buffers[buffer].apart_seconds;
}

TEST(FusibleTest, APoolingsOutputHadBetterComeFromItself) {
  const GrapplerItem item = PoolingItem("pool");
  EXPECT_DOUBLE_EQ(ApartSecondsOf("pool", item), kPooledBytes / 3e9);
  EXPECT_EQ(ApartSecondsOf("a", item), 0);
  EXPECT_EQ(ApartSecondsOf("gradient", item), 0);
}

TEST(FusibleTest, WhatIsNotThePoolingsOwnOutputMayComeFromAnywhere) {
  const GrapplerItem item = PoolingItem("copy");
  EXPECT_EQ(ApartSecondsOf("pool", item), 0);
  EXPECT_EQ(ApartSecondsOf("copy", item), 0);
}

}  // namespace
}  // namespace sn_tf
