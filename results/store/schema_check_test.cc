#include "results/store/schema_check.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sparkbench {
namespace {

using Violations = std::vector<std::string>;

TEST(SchemaCheck, AcceptsWhatTheSchemaAllows) {
  EXPECT_EQ(schema_violations(R"({"type": "integer"})", "3"), Violations());
  EXPECT_EQ(schema_violations(R"({"type": ["number", "null"]})", "null"), Violations());
  EXPECT_EQ(schema_violations(R"({"type": "number"})", "3"), Violations());
  EXPECT_EQ(schema_violations(R"({"type": "array", "items": {"type": "boolean"}})", "[true]"),
            Violations());
}

TEST(SchemaCheck, FindsAWrongType) {
  EXPECT_EQ(schema_violations(R"({"type": "integer"})", "3.5"),
            Violations({"$: expected type \"integer\""}));
  EXPECT_EQ(schema_violations(R"({"type": ["string", "null"]})", "false"),
            Violations({"$: expected type [\"string\",\"null\"]"}));
  EXPECT_EQ(schema_violations(R"({"items": {"type": "string"}})", R"(["a", 1])"),
            Violations({"$[1]: expected type \"string\""}));
}

TEST(SchemaCheck, FindsAWrongValue) {
  EXPECT_EQ(schema_violations(R"({"const": "1.0.0"})", R"("2")"),
            Violations({"$: expected \"1.0.0\""}));
  EXPECT_EQ(schema_violations(R"({"enum": ["a", null]})", R"("b")"),
            Violations({"$: expected one of [\"a\",null]"}));
  EXPECT_EQ(schema_violations(R"({"minimum": 1})", "0"), Violations({"$: below 1"}));
  EXPECT_EQ(schema_violations(R"({"exclusiveMaximum": 1})", "1"), Violations({"$: not below 1"}));
}

TEST(SchemaCheck, FindsMissingAndUnknownMembers) {
  const char* schema =
      R"({"required": ["a"], "properties": {"a": {}}, "additionalProperties": false})";
  EXPECT_EQ(schema_violations(schema, R"({"b": 1})"),
            Violations({"$: lacks \"a\"", "$: has unknown \"b\""}));
  EXPECT_EQ(schema_violations(R"({"additionalProperties": {"type": "string"}})", R"({"b": 1})"),
            Violations({"$.b: expected type \"string\""}));
}

TEST(SchemaCheck, FollowsReferencesAndAlternatives) {
  const char* schema =
      R"({"properties": {"p": {"anyOf": [{"$ref": "#/$defs/p"}, {"type": "null"}]}},
                           "$defs": {"p": {"type": "object", "required": ["x"]}}})";
  EXPECT_EQ(schema_violations(schema, R"({"p": null})"), Violations());
  EXPECT_EQ(schema_violations(schema, R"({"p": {"x": 1}})"), Violations());
  EXPECT_EQ(schema_violations(schema, R"({"p": {}})"),
            Violations({"$.p: matches no alternative; $.p: lacks \"x\"; $.p: expected type "
                        "\"null\""}));
}

TEST(SchemaCheck, RefusesAKeywordItDoesNotKnow) {
  EXPECT_THROW(schema_violations(R"({"maxItems": 3})", "[]"), std::invalid_argument);
  EXPECT_THROW(schema_violations(R"({"type": "float"})", "1"), std::invalid_argument);
  EXPECT_THROW(schema_violations("{", "1"), std::invalid_argument);
  EXPECT_THROW(schema_violations("{}", "{"), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
