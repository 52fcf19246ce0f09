// SPDX-License-Identifier: Apache-2.0
#include "cc/core/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace sn_tf {
namespace {

TEST(JsonWriterTest, WritesNestedValuesWithCommas) {
  JsonWriter json;
  json.BeginObject();
  json.Key("a").Int(-3);
  json.Key("b").BeginArray();
  json.BeginObject().EndObject();
  json.BeginObject().Key("c").Bool(true).Key("d").Bool(false).EndObject();
  json.Int(1).String("x");
  json.EndArray();
  json.Key("e").BeginArray().EndArray();
  json.EndObject();
  EXPECT_EQ(json.text(),
            R"({"a":-3,"b":[{},{"c":true,"d":false},1,"x"],"e":[]})");
}

TEST(JsonWriterTest, EscapesWhatJsonRequires) {
  JsonWriter json;
  json.String(std::string("a\"b\\c\n\x01\0d", 9));
  EXPECT_EQ(json.text(), R"("a\"b\\c\u000a\u0001\u0000d")");
}

TEST(JsonWriterTest, EscapesKeysAsStrings) {
  JsonWriter json;
  json.BeginObject().Key("a\"b").Int(0).EndObject();
  EXPECT_EQ(json.text(), R"({"a\"b":0})");
}

TEST(JsonWriterTest, KeepsUtf8) {
  JsonWriter json;
  json.String("\xc3\xa9\xe2\x82\xac");
  EXPECT_EQ(json.text(), "\"\xc3\xa9\xe2\x82\xac\"");
}

TEST(JsonWriterTest, IntegersAreExact) {
  JsonWriter json;
  json.BeginArray().Int(INT64_MAX).Int(INT64_MIN).EndArray();
  EXPECT_EQ(json.text(), "[9223372036854775807,-9223372036854775808]");
}

TEST(JsonWriterTest, DoublesReadBackTheSame) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int i = 0; i < 1000; ++i) {
    const double value = std::ldexp(1.0 + exponent(random) / 700,
                                    static_cast<int>(exponent(random)));
    JsonWriter json;
    json.Double(value);
    EXPECT_EQ(std::strtod(json.text().c_str(), nullptr), value);
  }
}

TEST(JsonWriterTest, NonFiniteDoublesAreNull) {
  JsonWriter json;
  json.BeginArray();
  json.Double(std::numeric_limits<double>::infinity());
  json.Double(-std::numeric_limits<double>::infinity());
  json.Double(std::numeric_limits<double>::quiet_NaN());
  json.Double(0.5).EndArray();
  EXPECT_EQ(json.text(), "[null,null,null,0.5]");
}

}  // namespace
}  // namespace sn_tf
