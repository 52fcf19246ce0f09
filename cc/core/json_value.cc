// SPDX-License-Identifier: Apache-2.0
#include "cc/core/json_value.h"

#include <charconv>
#include <cmath>

namespace sn_tf {
namespace {

// Each level of nesting is a level of recursion.
constexpr int kMostDepth = 64;

void AppendUtf8(uint32_t code, std::string* text) {
  const auto append = [text](uint32_t byte) {
    *text += static_cast<char>(byte);
  };
  if (code < 0x80) {
    append(code);
  } else if (code < 0x800) {
    append(0xC0 | (code >> 6));
    append(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    append(0xE0 | (code >> 12));
    append(0x80 | ((code >> 6) & 0x3F));
    append(0x80 | (code & 0x3F));
  } else {
    append(0xF0 | (code >> 18));
    append(0x80 | ((code >> 12) & 0x3F));
    append(0x80 | ((code >> 6) & 0x3F));
    append(0x80 | (code & 0x3F));
  }
}

}  // namespace

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  std::string Run(JsonValue* value) {
    if (Value(0, value)) {
      SkipSpace();
      if (at_ != text_.size()) Fail("nothing more");
    }
    return error_;
  }

 private:
  // Notes what was expected; false, so that callers can return it.
  bool Fail(const char* expected) {
    if (error_.empty()) {
      error_ = "Not JSON: at byte " + std::to_string(at_) + ", expected " +
               expected + ".";
    }
    return false;
  }

  void SkipSpace() {
    constexpr std::string_view kSpace = " \t\n\r";
    while (at_ < text_.size() &&
           kSpace.find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  // Takes `word` if it is next.
  bool Take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool Value(int depth, JsonValue* value) {
    SkipSpace();
    if (depth > kMostDepth) return Fail("less nesting");
    if (Take("{")) return Object(depth, value);
    if (Take("[")) return Array(depth, value);
    if (Take("\"")) {
      value->kind_ = JsonValue::Kind::kString;
      return String(&value->string_);
    }
    if (Take("null")) return true;
    value->bool_ = Take("true");
    if (value->bool_ || Take("false")) {
      value->kind_ = JsonValue::Kind::kBool;
      return true;
    }
    return Number(value);
  }

  bool Object(int depth, JsonValue* value) {
    value->kind_ = JsonValue::Kind::kObject;
    SkipSpace();
    if (Take("}")) return true;
    do {
      SkipSpace();
      JsonValue::Member member;
      if (!Take("\"")) return Fail("a key in quotes");
      if (!String(&member.first)) return false;
      SkipSpace();
      if (!Take(":")) return Fail("a colon");
      if (!Value(depth + 1, &member.second)) return false;
      value->members_.push_back(std::move(member));
      SkipSpace();
    } while (Take(","));
    return Take("}") || Fail("a comma or the end of the object");
  }

  bool Array(int depth, JsonValue* value) {
    value->kind_ = JsonValue::Kind::kArray;
    SkipSpace();
    if (Take("]")) return true;
    do {
      JsonValue item;
      if (!Value(depth + 1, &item)) return false;
      value->items_.push_back(std::move(item));
      SkipSpace();
    } while (Take(","));
    return Take("]") || Fail("a comma or the end of the array");
  }

  // Behind the opening quote.
  bool String(std::string* string) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return Fail("no control byte");
      ++at_;
      if (c == '"') return true;
      if (c != '\\') {
        *string += c;
      } else if (!Escape(string)) {
        return false;
      }
    }
    return Fail("the end of the text in quotes");
  }

  // Behind the backslash.
  bool Escape(std::string* string) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    if (at_ == text_.size()) return Fail("what is escaped");
    const size_t name = kNames.find(text_[at_]);
    if (name != std::string_view::npos) {
      ++at_;
      *string += kMeant[name];
      return true;
    }
    uint32_t code = 0;
    if (!CodeUnit(&code)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      uint32_t low = 0;
      if (!Take("\\") || !CodeUnit(&low) || low < 0xDC00 || low > 0xDFFF) {
        return Fail("the second half of a surrogate pair");
      }
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      return Fail("the first half of a surrogate pair before the second");
    }
    AppendUtf8(code, string);
    return true;
  }

  // "u" and four hexadecimal digits.
  bool CodeUnit(uint32_t* code) {
    const std::string_view digits = text_.substr(at_, 5);
    const char* const end = digits.data() + digits.size();
    if (digits.size() < 5 || digits[0] != 'u' ||
        std::from_chars(digits.data() + 1, end, *code, 16).ptr != end) {
      return Fail("an escape of JSON");
    }
    at_ += digits.size();
    return true;
  }

  bool Number(JsonValue* value) {
    constexpr std::string_view kOf = "+-.0123456789Ee";
    size_t end = at_;
    while (end < text_.size() &&
           kOf.find(text_[end]) != std::string_view::npos) {
      ++end;
    }
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + end;
    const auto whole = std::from_chars(first, last, value->int_);
    if (whole.ec == std::errc() && whole.ptr == last) {
      value->kind_ = JsonValue::Kind::kInt;
      value->double_ = static_cast<double>(value->int_);
    } else {
      const auto real = std::from_chars(first, last, value->double_);
      if (real.ec != std::errc() || real.ptr != last ||
          !std::isfinite(value->double_)) {
        return Fail("a value");
      }
      value->kind_ = JsonValue::Kind::kDouble;
    }
    at_ = end;
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string error_;
};

std::optional<bool> JsonValue::AsBool() const {
  if (kind_ != Kind::kBool) return std::nullopt;
  return bool_;
}

std::optional<int64_t> JsonValue::AsInt() const {
  if (kind_ != Kind::kInt) return std::nullopt;
  return int_;
}

std::optional<double> JsonValue::AsDouble() const {
  if (kind_ != Kind::kInt && kind_ != Kind::kDouble) return std::nullopt;
  return double_;
}

const std::string* JsonValue::AsString() const {
  return kind_ == Kind::kString ? &string_ : nullptr;
}

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (const Member& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

std::string ParseJson(std::string_view text, JsonValue* value) {
  *value = JsonValue();
  return JsonReader(text).Run(value);
}

}  // namespace sn_tf
