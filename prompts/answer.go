// Package prompts holds what the bot says to a model and how it reads the
// answer: embedded templates and role instructions, the answer's types, its flat
// JSON schema, and the strict decoder.
package prompts

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Answer is what a model says about a pull request.
type Answer struct {
	Summary  string    `json:"summary"`
	Findings []Finding `json:"findings"` // new ones only
	Retained []string  `json:"retained"` // ids of earlier findings that are kept; nil if the answer doesn't say
	Closed   []Fix     `json:"closed"`   // earlier findings that the change fixes; nil if the answer doesn't say
	Receipt  string    `json:"receipt"`  // codes that the model was to copy; see Request.Codes
}

// Fix says by what an earlier finding is fixed, as the model claims it.
type Fix struct {
	ID string `json:"id"`
	By string `json:"by"` // path:line of a changed line, or the path of a file that is gone
}

// Finding is one defect as the model describes it. Its place is what the model
// claims; nothing says yet that the diff has such a line.
type Finding struct {
	Path       string   `json:"path"`
	Line       int      `json:"line"`
	EndLine    int      `json:"end_line"`
	Side       string   `json:"side"` // new or old
	Quote      string   `json:"quote"`
	Severity   Severity `json:"severity"`
	Category   string   `json:"category"`
	Title      string   `json:"title"`
	Body       string   `json:"body"`
	Suggestion string   `json:"suggestion"`
}

// Severity says how much a finding matters.
type Severity string

// The severities, and Never, which only a threshold may be.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	Never    Severity = "never"
)

// Severities lists the severities, worst first.
var Severities = []Severity{Critical, High, Medium, Low}

// Categories lists what a finding may be about.
var Categories = []string{"logic", "security", "access_control", "performance", "quality", "side_effects", "testing", "documentation"}

// AtLeast tells whether s is as bad as the threshold or worse. Nothing reaches
// the threshold Never. A severity that isn't known counts as the worst.
func (s Severity) AtLeast(threshold Severity) bool {
	at := slices.Index(Severities, threshold)
	return at >= 0 && s.Rank() <= at
}

// Rank is the place of s among Severities, 0 for the worst.
func (s Severity) Rank() int { return slices.Index(Severities, s) }

// UnmarshalText reads a threshold; the error names the valid values.
func (s *Severity) UnmarshalText(text []byte) error {
	v := Severity(text)
	if v != Never && !slices.Contains(Severities, v) {
		return fmt.Errorf("%q is not one of low, medium, high, critical, never", text)
	}
	*s = v
	return nil
}

//go:embed schema.json
var schema []byte

// Schema is the answer's JSON schema: flat, strict, sent as it is.
func Schema() json.RawMessage { return bytes.Clone(schema) }

// SchemaVersion changes whenever the schema or its meaning does; it is part of
// the question's digest.
const SchemaVersion = 3

// MaxFindings bounds how many findings of one answer are read. A model that
// reports more is rambling, and the rest is named rather than cut in silence.
const MaxFindings = 500

// Decode reads an answer: one JSON object with every field present and its values of
// their form. What models and servers without structured output do to such an object is
// put right first, see plain. What is said of earlier findings may be missing, see
// [Request.Decode]. The error says what is wrong in words that the model can be shown.
func Decode(content string) (Answer, error) {
	content = bare(content)
	if content == "" {
		return Answer{}, errors.New("the answer is empty")
	}
	object, err := plain(content)
	if err != nil {
		return Answer{}, err
	}
	// Pointers tell a missing field from an empty one.
	var raw struct {
		Summary  *string           `json:"summary"`
		Findings *[]map[string]any `json:"findings"`
		Retained []*string         `json:"retained"`
		Closed   []map[string]any  `json:"closed"`
		Receipt  *string           `json:"receipt"`
	}
	if err := json.Unmarshal(object, &raw); err != nil {
		return Answer{}, fmt.Errorf("the answer is not the JSON object asked for: %w", err)
	}
	for _, f := range []struct {
		name    string
		missing bool
	}{{"summary", raw.Summary == nil}, {"findings", raw.Findings == nil}} {
		if f.missing {
			return Answer{}, fmt.Errorf("the field %q is missing", f.name)
		}
	}
	if n := len(*raw.Findings); n > MaxFindings {
		return Answer{}, fmt.Errorf("%d findings, at most %d are read: report the most severe", n, MaxFindings)
	}
	if err := complete("closed", raw.Closed, fixFields); err != nil {
		return Answer{}, err
	}
	if err := complete("findings", *raw.Findings, findingFields); err != nil {
		return Answer{}, err
	}
	for i, f := range *raw.Findings {
		// Severity's own decoder reads thresholds, and would offer "never" to the model.
		if v, ok := f["severity"].(string); ok && !slices.Contains(Severities, Severity(v)) {
			return Answer{}, fmt.Errorf("findings[%d]: severity %q is not one of critical, high, medium, low", i, v)
		}
	}
	if i := slices.Index(raw.Retained, nil); i >= 0 {
		return Answer{}, fmt.Errorf("retained[%d] is null", i)
	}
	var a Answer
	if err := json.Unmarshal(object, &a); err != nil {
		return Answer{}, fmt.Errorf("the answer is not of the form asked for: %w", err)
	}
	for i, f := range a.Findings {
		if err := f.validate(); err != nil {
			return Answer{}, fmt.Errorf("findings[%d]: %w", i, err)
		}
	}
	return a, nil
}

// Decode reads an answer to the request, as the function of that name does. One
// that was asked about earlier findings has to say which of them are kept, and all
// receipts of the request have to be in it: see [Unread]. In what it returns they
// are nowhere.
func (r Request) Decode(content string) (Answer, error) {
	a, err := Decode(content)
	switch missing := r.unread(a); {
	case err != nil:
		return Answer{}, err
	case missing > 0:
		return Answer{}, &Unread{Missing: missing, Of: len(r.Codes)}
	case r.Asks && a.Retained == nil:
		return Answer{}, errors.New(`the field "retained" is missing`)
	}
	return r.withoutCodes(a), nil
}

// complete reports the first object of a list that lacks a field.
func complete(list string, objects []map[string]any, fields []string) error {
	for i, object := range objects {
		for _, name := range fields {
			if object[name] == nil {
				return fmt.Errorf("%s[%d]: the field %q is missing", list, i, name)
			}
		}
	}
	return nil
}

var answerFields = []string{"summary", "findings", "retained", "closed", "receipt"}

var fixFields = []string{"id", "by"}

var findingFields = []string{"path", "line", "end_line", "side", "quote", "severity", "category", "title", "body", "suggestion"}

func (f Finding) validate() error {
	if !slices.Contains(Categories, f.Category) {
		return fmt.Errorf("category %q is not one of %s", f.Category, strings.Join(Categories, ", "))
	}
	if f.Side != "new" && f.Side != "old" {
		return fmt.Errorf("side %q is not one of new, old", f.Side)
	}
	if strings.TrimSpace(f.Title) == "" {
		return errors.New("the title is empty")
	}
	return nil
}
