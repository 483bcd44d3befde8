package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fields maps the names a JSON object may have to where their values go.
type fields map[string]any

// parseObject decodes one JSON object, already known to be well-formed. Names
// that aren't in known, repeated names, nulls and wrong types are errors that
// begin with the field's place, which is under prefix.
func parseObject(raw json.RawMessage, prefix string, known fields) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return errors.New(strings.TrimPrefix(prefix+": want an object", ": "))
	}
	seen := make(map[string]bool)
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // a name in an object always is one
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		place := strings.TrimPrefix(prefix+"."+name, ".")
		target, ok := known[name]
		switch {
		case !ok:
			return fmt.Errorf("%s: unknown field; known are %s", place, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case seen[name]:
			return fmt.Errorf("%s: is given twice", place)
		case !present(value):
			return fmt.Errorf("%s: is null; leave it out instead", place)
		}
		seen[name] = true
		if err := json.Unmarshal(value, target); err != nil {
			return fmt.Errorf("%s: %w", place, plainType(err))
		}
	}
	return nil
}

// plainType says what a value should have been without Go's vocabulary.
func plainType(err error) error {
	wrong := new(json.UnmarshalTypeError)
	if !errors.As(err, &wrong) {
		return err
	}
	names := map[string]string{
		"int": "a whole number", "bool": "true or false", "[]string": "a list of strings",
		"map[string]string": "an object of strings",
	}
	want, ok := names[wrong.Type.String()]
	if !ok {
		want = "a string"
	}
	return fmt.Errorf("want %s, got %s", want, wrong.Value)
}

// locate adds line and column, both from 1, to a syntax error in data.
func locate(data []byte, err error) error {
	syntax := new(json.SyntaxError)
	if !errors.As(err, &syntax) {
		return errors.New("want a list of rules")
	}
	before := data[:min(int(syntax.Offset), len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Errorf("line %d, column %d: %w", line, max(column, 1), err)
}
