package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// Many servers hold a model to no schema, and models have habits. What they do to a good
// answer without changing what it says is put right here: thoughts before it, words
// around a fence, numbers as texts or with a fraction of zero, words in capitals, a
// suggestion that isn't there, further fields. What would have to be guessed isn't.

var (
	thoughts = regexp.MustCompile(`(?s)^\s*<think(?:ing)?>.*?</think(?:ing)?>`)
	fence    = regexp.MustCompile("(?ms)^[ \t]*```[a-zA-Z]*[ \t\r]*\n(.*?)\n?[ \t]*```[ \t\r]*$")
)

// bare is the text of the object within an answer: without thoughts, and out of a
// Markdown fence, if there is one and no other.
func bare(content string) string {
	content = strings.TrimPrefix(content, "\ufeff")
	content = strings.TrimSpace(thoughts.ReplaceAllString(content, ""))
	if strings.HasPrefix(content, "{") {
		return content
	}
	if found := fence.FindAllStringSubmatch(content, 2); len(found) == 1 {
		return strings.TrimSpace(found[0][1])
	}
	return content
}

// plain reads the object strictly as JSON, and writes it with the fields that are
// known, their values in the form asked for where they mean the same.
func plain(content string) ([]byte, error) {
	d := json.NewDecoder(strings.NewReader(content))
	d.UseNumber()
	var object map[string]any
	err := d.Decode(&object)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the answer is not the JSON object asked for: it ends in the middle")
	case err != nil:
		return nil, fmt.Errorf("the answer is not the JSON object asked for: %w", err)
	}
	if err := once(json.NewDecoder(strings.NewReader(content))); err != nil {
		return nil, fmt.Errorf("the answer is not of the form asked for: %w", err)
	}
	keep(object, answerFields)
	findings, _ := object["findings"].([]any)
	for _, item := range findings {
		if f, ok := item.(map[string]any); ok {
			keep(f, findingFields)
			dress(f)
		}
	}
	return json.Marshal(object)
}

// dress puts a finding's values into the form asked for.
func dress(f map[string]any) {
	for _, name := range []string{"line", "end_line"} {
		switch v := f[name].(type) {
		case json.Number:
			f[name] = whole(v.String(), v)
		case string:
			f[name] = whole(strings.TrimSpace(v), v)
		}
	}
	for _, name := range []string{"severity", "category", "side"} {
		if v, ok := f[name].(string); ok {
			f[name] = strings.ToLower(strings.TrimSpace(v))
		}
	}
	if f["suggestion"] == nil {
		f["suggestion"] = ""
	}
}

var number = regexp.MustCompile(`^-?[0-9]{1,9}(\.[0-9]{1,9})?$`)

// whole is the whole number that a text means, or else what there was.
func whole(text string, was any) any {
	if !number.MatchString(text) {
		return was
	}
	if n, ok := new(big.Rat).SetString(text); ok && n.IsInt() {
		return json.Number(n.Num().String())
	}
	return was
}

// keep removes all fields but these.
func keep(object map[string]any, fields []string) {
	for name := range object {
		if !slices.Contains(fields, name) {
			delete(object, name)
		}
	}
}

// once refuses a name that is twice in one object: encoding/json would take the last
// one. The content is well-formed, its depth bounded.
func once(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string)
			if seen[name] {
				return fmt.Errorf("the field %q is there twice", name)
			}
			seen[name] = true
		}
		if err := once(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
