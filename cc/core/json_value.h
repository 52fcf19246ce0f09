// SPDX-License-Identifier: Apache-2.0
//
// Reads JSON text: the form in which graphs and schedules come back into the
// library.
#ifndef SN_TF_CC_CORE_JSON_VALUE_H_
#define SN_TF_CC_CORE_JSON_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sn_tf {

// A value of a document, with all that is in it.
class JsonValue {
 public:
  using Member = std::pair<std::string, JsonValue>;

  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }

  // None where the value is of another kind. A number written without fraction
  // and exponent is an integer where 64 bits hold it.
  std::optional<bool> AsBool() const;
  std::optional<int64_t> AsInt() const;
  std::optional<double> AsDouble() const;
  const std::string* AsString() const;  // nullptr: of another kind.

  // Of an array; empty for other kinds.
  const std::vector<JsonValue>& items() const { return items_; }

  // The first member of an object that is called `key`; nullptr where there is
  // none.
  const JsonValue* Find(std::string_view key) const;

 private:
  friend class JsonReader;
  enum class Kind { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  int64_t int_ = 0;
  double double_ = 0;
  std::string string_;
  std::vector<JsonValue> items_;
  std::vector<Member> members_;
};

// Reads one document of UTF-8 (whose bytes are taken as they are). Returns an
// empty string, or what is wrong and where; `*value` is unspecified then.
// Values may be nested 64 deep.
std::string ParseJson(std::string_view text, JsonValue* value);

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_JSON_VALUE_H_
