// SPDX-License-Identifier: Apache-2.0
#include "cc/core/json_value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "cc/core/json.h"

namespace sn_tf {
namespace {

JsonValue Parsed(const std::string& text) {
  JsonValue value;
  EXPECT_EQ(ParseJson(text, &value), "") << text;
  return value;
}

std::string ErrorOf(const std::string& text) {
  JsonValue value;
  return ParseJson(text, &value);
}

TEST(JsonValueTest, ReadsValuesOfEachKind) {
  const JsonValue value = Parsed(
      R"( { "a" : -3 , "b" : [ true , false , null , 2.5e3 ] , "c" : "x" } )");
  ASSERT_TRUE(value.is_object());
  EXPECT_EQ(value.Find("a")->AsInt(), -3);
  EXPECT_EQ(value.Find("a")->AsDouble(), -3.0);
  ASSERT_EQ(value.Find("b")->items().size(), 4u);
  EXPECT_EQ(value.Find("b")->items()[0].AsBool(), true);
  EXPECT_EQ(value.Find("b")->items()[1].AsBool(), false);
  EXPECT_EQ(value.Find("b")->items()[3].AsDouble(), 2500.0);
  EXPECT_EQ(*value.Find("c")->AsString(), "x");
  EXPECT_EQ(value.Find("d"), nullptr);
}

TEST(JsonValueTest, AValueOfAnotherKindIsNone) {
  const JsonValue value = Parsed(R"([1.5,"1",null])");
  EXPECT_EQ(value.items()[0].AsInt(), std::nullopt);
  EXPECT_EQ(value.items()[1].AsInt(), std::nullopt);
  EXPECT_EQ(value.items()[1].AsDouble(), std::nullopt);
  EXPECT_EQ(value.items()[2].AsBool(), std::nullopt);
  EXPECT_EQ(value.items()[0].AsString(), nullptr);
  EXPECT_EQ(value.Find("a"), nullptr);
  EXPECT_TRUE(value.items()[0].items().empty());
}

TEST(JsonValueTest, IntegersAreExactAndLargerOnesAreNone) {
  const int64_t largest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Parsed(std::to_string(largest)).AsInt(), largest);
  const JsonValue larger = Parsed("9223372036854775808");
  EXPECT_EQ(larger.AsInt(), std::nullopt);
  EXPECT_EQ(larger.AsDouble(), 9223372036854775808.0);
}

TEST(JsonValueTest, EscapesBecomeUtf8) {
  EXPECT_EQ(*Parsed(R"("\"\\\/\b\f\n\r\t")").AsString(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(*Parsed(R"("A\u00e9\u20ac\ud83d\ude00")").AsString(),
            "A\u00e9\u20ac\U0001F600");
}

TEST(JsonValueTest, ReadsWhatTheWriterWrites) {
  std::string bytes;
  for (int c = 1; c < 256; ++c) bytes += static_cast<char>(c);
  JsonWriter json;
  json.BeginArray().String(bytes).Double(0.1).Int(-7).EndArray();
  const JsonValue value = Parsed(json.text());
  EXPECT_EQ(*value.items()[0].AsString(), bytes);
  EXPECT_EQ(value.items()[1].AsDouble(), 0.1);
  EXPECT_EQ(value.items()[2].AsInt(), -7);
}

TEST(JsonValueTest, ErrorsSayWhereAndWhatWasExpected) {
  EXPECT_EQ(ErrorOf("[1,]"), "Not JSON: at byte 3, expected a value.");
  EXPECT_EQ(ErrorOf(R"({"a" 1})"), "Not JSON: at byte 5, expected a colon.");
  EXPECT_EQ(ErrorOf("[1] 2"), "Not JSON: at byte 4, expected nothing more.");
  for (const char* bad :
       {"", "[", "{", "{1:2}", "\"", "\"\\", "\"\\u12", "\"\\ud800\"",
        "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\x\"", "\"\n\"", "tru", "+1",
        "1e999", "-", "nan", "[1 2]", R"({"a":1 "b":2})"}) {
    EXPECT_NE(ErrorOf(bad), "") << bad;
  }
}

TEST(JsonValueTest, DeepNestingIsRefusedAndNotFollowed) {
  EXPECT_EQ(ErrorOf(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_NE(ErrorOf(std::string(1'000'000, '[')), "");
}

}  // namespace
}  // namespace sn_tf
