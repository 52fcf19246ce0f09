// SPDX-License-Identifier: Apache-2.0
//
// Writes JSON text: the form in which statistics and reports leave the library.
#ifndef SN_TF_CC_CORE_JSON_H_
#define SN_TF_CC_CORE_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace sn_tf {

// Appends values in document order; commas and quotes are its business.
//
//   JsonWriter json;
//   json.BeginObject().Key("bytes").Int(3).EndObject();
//   json.text();  // {"bytes":3}
class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view value);
  JsonWriter& Int(int64_t value);
  // Not finite: null. Otherwise the shortest text that reads back the same.
  JsonWriter& Double(double value);
  JsonWriter& Bool(bool value);

  const std::string& text() const { return text_; }

 private:
  void BeforeValue();
  void AppendQuoted(std::string_view value);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_JSON_H_
