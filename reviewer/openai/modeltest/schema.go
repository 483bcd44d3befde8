package modeltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// strictRefused are keywords that strict structured outputs don't take.
var strictRefused = []string{
	"allOf", "oneOf", "not", "if", "then", "else", "patternProperties", "dependentRequired", "dependentSchemas",
}

// checkSchema applies the rules that a real server applies to json_schema:
// always that there is a well-formed name and a schema object; with strict
// also that the root is an object, that every object forbids further
// properties and requires all it has, and that no keyword of strictRefused is
// used. The error names the place as a path of keywords.
func checkSchema(name string, strict bool, raw json.RawMessage) error {
	if name == "" {
		return fmt.Errorf("missing required parameter: response_format.json_schema.name")
	}
	if !schemaName.MatchString(name) {
		return fmt.Errorf("invalid response_format.json_schema.name %q: want it to match %s", name, schemaName)
	}
	if !present(raw) {
		return fmt.Errorf("missing required parameter: response_format.json_schema.schema")
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return fmt.Errorf("invalid schema for response_format '%s': %w", name, err)
	}
	object, ok := root.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid schema for response_format '%s': want a JSON object", name)
	}
	if !strict {
		return nil
	}
	err := checkStrict(object, nil)
	if object["type"] != "object" {
		err = inContext(nil, "schema must be a JSON Schema of 'type: \"object\"'")
	}
	if err != nil {
		return fmt.Errorf("invalid schema for response_format '%s': %w", name, err)
	}
	return nil
}

func checkStrict(schema map[string]any, path []string) error {
	for _, keyword := range strictRefused {
		if _, ok := schema[keyword]; ok {
			return inContext(path, "'%s' is not permitted", keyword)
		}
	}
	if isObject(schema) {
		if err := checkObject(schema, path); err != nil {
			return err
		}
	}
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		value, ok := schema[keyword]
		if !ok {
			continue
		}
		named, ok := value.(map[string]any)
		if !ok {
			return inContext(path, "'%s' must be an object", keyword)
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if err := checkSub(named[name], append(slices.Clone(path), keyword, name)); err != nil {
				return err
			}
		}
	}
	if items, ok := schema["items"]; ok {
		if err := checkSub(items, append(slices.Clone(path), "items")); err != nil {
			return err
		}
	}
	if value, ok := schema["anyOf"]; ok {
		branches, ok := value.([]any)
		if !ok {
			return inContext(path, "'anyOf' must be a list")
		}
		for i, branch := range branches {
			if err := checkSub(branch, append(slices.Clone(path), "anyOf", fmt.Sprint(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkSub(value any, path []string) error {
	schema, ok := value.(map[string]any)
	if !ok {
		return inContext(path, "a schema must be a JSON object")
	}
	return checkStrict(schema, path)
}

// isObject reports whether the schema is one for objects, nullable or not.
func isObject(schema map[string]any) bool {
	if _, ok := schema["properties"]; ok {
		return true
	}
	if types, ok := schema["type"].([]any); ok {
		return slices.Contains(types, any("object"))
	}
	return schema["type"] == "object"
}

func checkObject(schema map[string]any, path []string) error {
	if schema["additionalProperties"] != false {
		return inContext(path, "'additionalProperties' is required to be supplied and to be false")
	}
	properties, _ := schema["properties"].(map[string]any)
	list, _ := schema["required"].([]any)
	required := make(map[string]bool, len(list))
	for _, value := range list {
		name, ok := value.(string)
		if !ok {
			return inContext(path, "'required' must be a list of names")
		}
		if _, ok := properties[name]; !ok {
			return inContext(path, "extra required key '%s' supplied", name)
		}
		required[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !required[name] {
			return inContext(path, "'required' is required to be supplied and to be an array including every key in properties: missing '%s'", name)
		}
	}
	return nil
}

func inContext(path []string, format string, args ...any) error {
	quoted := make([]string, len(path))
	for i, step := range path {
		quoted[i] = "'" + step + "'"
	}
	return fmt.Errorf("in context=(%s): %s", strings.Join(quoted, ", "), fmt.Sprintf(format, args...))
}
