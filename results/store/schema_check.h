// Checks a JSON document against a JSON Schema (draft 2020-12), for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// Each violation as "$.cases[0].flops: expected integer". Supports the keywords of
/// sparkbench.run.schema.json: type, enum, const, minimum, exclusiveMaximum, required, properties,
/// additionalProperties, items, anyOf, $ref to "#/$defs/NAME"; and the annotations $schema, $defs,
/// title, description. Throws std::invalid_argument if either text is not JSON, or if the schema
/// has any other keyword, so that none is silently ignored.
std::vector<std::string> schema_violations(std::string_view schema, std::string_view document);

}  // namespace sparkbench
