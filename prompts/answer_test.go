package prompts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	one   = `{"path":"a.go","line":12,"end_line":13,"side":"new","quote":"x := 1","severity":"high","category":"logic","title":"Off by one","body":"It fails.","suggestion":""}`
	empty = `{"summary":"Fine.","findings":[],"retained":[]}`
)

func answer(findings ...string) string {
	return `{"summary":"S","findings":[` + strings.Join(findings, ",") + `],"retained":["1f3c9a2b"],"closed":[{"id":"5d0e7c41","by":"a.go:7"}]}`
}

// but is the good finding with one piece replaced.
func but(old, new string) string {
	f := strings.Replace(one, old, new, 1)
	if f == one {
		panic(old + " is not in the example")
	}
	return answer(f)
}

func TestAGoodAnswerIsReadWhole(t *testing.T) {
	want := Answer{Summary: "S", Retained: []string{"1f3c9a2b"}, Closed: []Fix{{"5d0e7c41", "a.go:7"}}, Findings: []Finding{{Path: "a.go", Line: 12, EndLine: 13, Side: "new", Quote: "x := 1",
		Severity: High, Category: "logic", Title: "Off by one", Body: "It fails."}}}
	for promise, content := range map[string]string{
		"plain":                    answer(one),
		"white space around":       "\n \t" + answer(one) + "\r\n\n",
		"fenced":                   "```\n" + answer(one) + "\n```",
		"fenced, with a language":  "```json\n" + answer(one) + "\n```",
		"fenced, white space":      "\n```json  \n\n" + answer(one) + "\n\n```\n",
		"fenced, line ends of DOS": "```json\r\n" + answer(one) + "\r\n```\r\n",
		"indented, in another order": `{
			"closed": [{"by": "a.go:7", "id": "5d0e7c41"}],
			"retained": ["1f3c9a2b"],
			"findings": [` + one + `],
			"summary": "S"
		}`,
		"escaped": strings.Replace(answer(one), "It fails.", `\u0049t fails.`, 1),
	} {
		got, err := Decode(content)
		if err != nil {
			t.Errorf("%s: %v", promise, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", promise, d)
		}
	}
}

func TestDecode(t *testing.T) {
	tests := []struct {
		promise, content string
		wrong            string // a word of the error; "" if it is accepted
	}{
		{"no findings", empty, ""},
		{"empty texts but for the title", strings.NewReplacer(`"Off by one"`, `"T"`, `"It fails."`, `""`, `"x := 1"`, `""`, `"a.go"`, `""`).Replace(answer(one)), ""},
		{"unicode", but("It fails.", "日本語 \\u202e \U0001f600 \\ud83d\\ude00"), ""},
		{"half a surrogate", but("It fails.", `\ud83d`), ""},
		{"a fence inside a text", but("It fails.", "```go\\nx\\n```"), ""},
		{"a place that can't be", but("12", "-3"), ""},
		{"the largest number of findings", answer(slices.Repeat([]string{one}, MaxFindings)...), ""},

		{"nothing", "", "empty"},
		{"white space only", " \n\t ", "empty"},
		{"an empty fence", "```json\n```", "empty"},
		{"prose", "The change looks good to me.", "JSON"},
		{"prose in front", "Here it is: " + empty, "JSON"},
		{"prose behind", empty + " Done.", "follows"},
		{"prose behind the fence", "```json\n" + empty + "\n```\nDone.", ""},
		{"prose in front of the fence", "Sure!\n```json\n" + empty + "\n```", ""},
		{"two fences", "```json\n" + empty + "\n```\n```json\n" + empty + "\n```", "JSON"},
		{"thoughts in front", "<think>\n{\"summary\": no, wait</think>\n\n" + empty, ""},
		{"thoughts and a fence", "<thinking>hm</thinking>\n```\n" + empty + "\n```", ""},
		{"thoughts without an end", "<think>" + empty, "JSON"},
		{"nothing but thoughts", "<think>" + empty + "</think>", "empty"},
		{"a fence that isn't closed", "```json\n" + empty, "JSON"},
		{"two objects", empty + empty, "follows"},
		{"two objects on two lines", empty + "\n" + empty, "follows"},
		{"a closing brace too many", empty + "}", "follows"},
		{"cut short in a text", answer(one)[:40], "middle"},
		{"cut short at a value's end", `{"summary":"S","findings":[]`, "middle"},
		{"cut short by one brace", strings.TrimSuffix(empty, "}"), "middle"},
		{"an array", "[" + empty + "]", "JSON"},
		{"null", "null", `"summary" is missing`},
		{"a text", `"approved"`, "JSON"},
		{"an empty object", "{}", `"summary" is missing`},
		{"a comma too many", `{"summary":"S","findings":[],"retained":[],}`, "JSON"},
		{"single quotes", strings.ReplaceAll(empty, `"`, `'`), "JSON"},
		{"a comment", strings.Replace(empty, "[]", "[/* none */]", 1), "JSON"},
		{"a line feed inside a text", "{\"summary\":\"a\nb\",\"findings\":[],\"retained\":[]}", "JSON"},
		{"a byte order mark", "\ufeff" + empty, ""},
		{"nested without end", strings.Repeat("[", 1<<20), "JSON"},
		{"nested without end in a finding", answer(`{"path":` + strings.Repeat("[", 1<<20) + "}"), "JSON"},

		{"summary is null", `{"summary":null,"findings":[],"retained":[]}`, `"summary" is missing`},
		{"findings is null", `{"summary":"S","findings":null,"retained":[]}`, `"findings" is missing`},
		{"retained is null", `{"summary":"S","findings":[],"retained":null}`, ""},
		{"no summary", `{"findings":[],"retained":[]}`, `"summary" is missing`},
		{"no findings field", `{"summary":"S","retained":[]}`, `"findings" is missing`},
		{"no retained field", `{"summary":"S","findings":[]}`, ""},
		{"no closed field", `{"summary":"S","findings":[],"retained":[]}`, ""},
		{"closed is null", `{"summary":"S","findings":[],"closed":null}`, ""},
		{"closed holds an id alone", `{"summary":"S","findings":[],"retained":[],"closed":["1f3c9a2b"]}`, "string"},
		{"closed holds null", `{"summary":"S","findings":[],"retained":[],"closed":[null]}`, `closed[0]: the field "id" is missing`},
		{"closed by nothing", `{"summary":"S","findings":[],"retained":[],"closed":[{"id":"1f3c9a2b"}]}`, `closed[0]: the field "by" is missing`},
		{"closed by null", `{"summary":"S","findings":[],"retained":[],"closed":[{"id":"1f3c9a2b","by":null}]}`, `closed[0]: the field "by" is missing`},
		{"closed by a number", `{"summary":"S","findings":[],"retained":[],"closed":[{"id":"1f3c9a2b","by":7}]}`, "number"},
		{"closed, with a field of a finding", `{"summary":"S","findings":[],"retained":[],"closed":[{"id":"1f3c9a2b","by":"a:1","line":7}]}`, ""},
		{"closed, a field twice", `{"summary":"S","findings":[],"retained":[],"closed":[{"id":"1f3c9a2b","by":"a:1","by":"a:2"}]}`, "twice"},
		{"summary is a number", `{"summary":1,"findings":[],"retained":[]}`, "number"},
		{"findings is an object", `{"summary":"S","findings":{},"retained":[]}`, "object"},
		{"retained is a text", `{"summary":"S","findings":[],"retained":"1f3c9a2b"}`, "string"},
		{"retained holds a number", `{"summary":"S","findings":[],"retained":[12345678]}`, "number"},
		{"retained holds null", `{"summary":"S","findings":[],"retained":["1f3c9a2b",null]}`, "retained[1]"},
		{"an unknown field", `{"summary":"S","findings":[],"retained":[],"verdict":"approved"}`, ""},
		{"a known field in capitals", `{"Summary":"S","findings":[],"retained":[]}`, `"summary" is missing`},
		{"a finding's field on top", `{"summary":"S","findings":[],"retained":[],"path":"a"}`, ""},
		{"a field twice", `{"summary":"S","findings":[` + one + `],"findings":[],"retained":[]}`, "twice"},

		{"a finding is null", answer("null"), "findings[0]"},
		{"a finding is a text", answer(`"bad"`), "string"},
		{"an unknown field in a finding", but(`"line"`, `"confidence":1,"line"`), ""},
		{"a finding's field in capitals, too", but(`"severity":"high"`, `"severity":"high","Severity":"low"`), ""},
		{"a finding's field twice", but(`"severity":"high"`, `"severity":"high","severity":"low"`), "twice"},
		{"an object within a finding", but(`"a.go"`, `{"summary":"a.go"}`), "object"},
		{"the second finding is wrong", answer(one, strings.Replace(one, "logic", "style", 1)), "findings[1]"},
		{"line is a text", but("12", `" 12 "`), ""},
		{"line is a word", but("12", `"twelve"`), "string"},
		{"line is a fraction of zero", but("12", "12.0"), ""},
		{"line is a fraction", but("12", "12.5"), "number"},
		{"line is true", but("12", "true"), "bool"},
		{"line beyond all integers", but("12", "99999999999999999999999"), "number"},
		{"line with an exponent beyond all", but("12", "1e400"), "number"},
		{"path is a list", but(`"a.go"`, `["a.go"]`), "array"},
		{"severity made up", but("high", "blocker"), `"blocker" is not one of critical, high, medium, low`},
		{"severity never is a threshold only", but("high", "never"), `"never" is not one of critical, high, medium, low`},
		{"severity in capitals", but("high", " HIGH"), ""},
		{"side and category in capitals", strings.NewReplacer(`"new"`, `"New"`, `"logic"`, `"LOGIC"`).Replace(answer(one)), ""},
		{"no suggestion", but(`,"suggestion":""`, ""), ""},
		{"suggestion is null", but(`"suggestion":""`, `"suggestion":null`), ""},
		{"suggestion is a number", but(`"suggestion":""`, `"suggestion":1`), "number"},
		{"severity empty", but("high", ""), "severity"},
		{"severity is a number", but(`"high"`, "1"), "number"},
		{"category made up", but("logic", "style"), `"style" is not one of logic`},
		{"side made up", but(`"new"`, `"right"`), `"right" is not one of new, old`},
		{"side empty", but(`"new"`, `""`), "side"},
		{"title empty", but("Off by one", ""), "title"},
		{"title blank", but("Off by one", ` \t`), "title"},
		{"one finding too many", answer(slices.Repeat([]string{one}, MaxFindings+1)...), "501 findings"},
	}
	for _, tt := range tests {
		t.Run(tt.promise, func(t *testing.T) {
			got, err := Decode(tt.content)
			switch {
			case tt.wrong == "" && err != nil:
				t.Fatal(err)
			case tt.wrong != "" && err == nil:
				t.Fatalf("accepted as %+v", got)
			case tt.wrong != "" && !strings.Contains(err.Error(), tt.wrong):
				t.Errorf("the error doesn't say %q: %v", tt.wrong, err)
			case err != nil && !cmp.Equal(got, Answer{}):
				t.Errorf("a refused answer gave %+v", got)
			}
		})
	}
}

// Only an answer that was asked about earlier findings has to say which are kept.
func TestAnAnswerSaysWhatItWasAskedAbout(t *testing.T) {
	in := input("security")
	in.Receipt = ""
	first, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Earlier = "## 1f3c9a2b"
	later, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]bool{
		`{"summary":"S","findings":[],"retained":[]}`:               true,
		`{"summary":"S","findings":[],"retained":[],"closed":[]}`:   true,
		`{"summary":"S","findings":[],"closed":[]}`:                 false,
		`{"summary":"S","findings":[],"retained":null,"closed":[]}`: false,
		`{"summary":"S","findings":[]}`:                             false,
	} {
		if _, err := first.Decode(content); err != nil {
			t.Errorf("a first answer: %s: %v", content, err)
		}
		if _, err := later.Decode(content); (err == nil) != want {
			t.Errorf("a later answer: %s: %v", content, err)
		}
	}
}

func TestEveryFieldOfAFindingIsRequired(t *testing.T) {
	for _, name := range slices.DeleteFunc(slices.Clone(findingFields), func(name string) bool { return name == "suggestion" }) {
		value := regexp.MustCompile(`"` + name + `":("[^"]*"|\d+),?`)
		for promise, f := range map[string]string{
			"missing": strings.Replace(value.ReplaceAllString(one, ""), ",}", "}", 1),
			"null":    strings.Replace(value.ReplaceAllString(one, `"`+name+`":null,`), ",}", "}", 1),
		} {
			_, err := Decode(answer(one, f))
			if want := fmt.Sprintf("findings[1]: the field %q is missing", name); err == nil || err.Error() != want {
				t.Errorf("%s %s: %v, want %s", name, promise, err, want)
			}
		}
	}
}

// node is the part of JSON Schema that the answer's schema may use.
type node struct {
	Type                 string           `json:"type"`
	Description          string           `json:"description"`
	Enum                 []string         `json:"enum"`
	AdditionalProperties *bool            `json:"additionalProperties"`
	Required             []string         `json:"required"`
	Properties           map[string]*node `json:"properties"`
	Items                *node            `json:"items"`
}

// fields lists the JSON names of a struct, in order.
func fields(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		names = append(names, of.Field(i).Tag.Get("json"))
	}
	return names
}

func schemaNode(t testing.TB) *node {
	t.Helper()
	var root node
	// Strict: $ref, oneOf, format and the like aren't known to every server, and fail here.
	d := json.NewDecoder(bytes.NewReader(Schema()))
	d.DisallowUnknownFields()
	if err := d.Decode(&root); err != nil {
		t.Fatalf("schema.json: %v", err)
	}
	return &root
}

func TestSchemaIsStrictAndAgreesWithTheTypes(t *testing.T) {
	var check func(place string, n *node, of reflect.Type)
	check = func(place string, n *node, of reflect.Type) {
		switch of.Kind() {
		case reflect.Struct:
			if n.Type != "object" || n.AdditionalProperties == nil || *n.AdditionalProperties {
				t.Errorf("%s: not an object that is closed to other properties", place)
			}
			if d := cmp.Diff(fields(of), n.Required); d != "" {
				t.Errorf("%s: required (-type +schema):\n%s", place, d)
			}
			if len(n.Properties) != of.NumField() {
				t.Errorf("%s: %d properties for %d fields", place, len(n.Properties), of.NumField())
			}
			for i := range of.NumField() {
				name := of.Field(i).Tag.Get("json")
				if p := n.Properties[name]; p == nil {
					t.Errorf("%s: no property %q", place, name)
				} else {
					check(place+"."+name, p, of.Field(i).Type)
				}
			}
		case reflect.Slice:
			if n.Type != "array" || n.Items == nil {
				t.Fatalf("%s: not an array with items", place)
			}
			check(place+"[]", n.Items, of.Elem())
		case reflect.Int:
			if n.Type != "integer" {
				t.Errorf("%s is %s, not an integer", place, n.Type)
			}
		case reflect.String:
			if n.Type != "string" {
				t.Errorf("%s is %s, not a string", place, n.Type)
			}
		default:
			t.Errorf("%s: no rule for %s", place, of)
		}
	}
	root := schemaNode(t)
	check("answer", root, reflect.TypeFor[Answer]())

	finding := root.Properties["findings"].Items
	var severities []string
	for _, s := range Severities {
		severities = append(severities, string(s))
	}
	for name, want := range map[string][]string{"severity": severities, "category": Categories, "side": {"new", "old"}} {
		if d := cmp.Diff(want, finding.Properties[name].Enum); d != "" {
			t.Errorf("%s (-code +schema):\n%s", name, d)
		}
	}
	if d := cmp.Diff(fields(reflect.TypeFor[Finding]()), findingFields); d != "" {
		t.Errorf("findingFields (-type +list):\n%s", d)
	}
	if d := cmp.Diff(fields(reflect.TypeFor[Answer]()), answerFields); d != "" {
		t.Errorf("answerFields (-type +list):\n%s", d)
	}
	if strings.Contains(string(Schema()), "$") {
		t.Error("the schema refers to something")
	}
}

func TestNobodyCanChangeTheSchema(t *testing.T) {
	Schema()[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("Schema hands out its own bytes")
	}
}

// allows tells why a schema refuses a value, or nil.
func (n *node) allows(v any) error {
	switch v := v.(type) {
	case map[string]any:
		if n.Type != "object" {
			return fmt.Errorf("an object is no %s", n.Type)
		}
		for _, name := range n.Required {
			if _, ok := v[name]; !ok {
				return fmt.Errorf("no %s", name)
			}
		}
		for name, value := range v {
			p := n.Properties[name]
			if p == nil {
				return fmt.Errorf("unknown %s", name)
			}
			if err := p.allows(value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	case []any:
		if n.Type != "array" {
			return fmt.Errorf("an array is no %s", n.Type)
		}
		for _, value := range v {
			if err := n.Items.allows(value); err != nil {
				return err
			}
		}
	case float64:
		if n.Type != "integer" || v != float64(int64(v)) {
			return fmt.Errorf("%v is no %s", v, n.Type)
		}
	case string:
		if n.Type != "string" || n.Enum != nil && !slices.Contains(n.Enum, v) {
			return fmt.Errorf("%q is no %s of %v", v, n.Type, n.Enum)
		}
	default:
		return fmt.Errorf("%v is no %s", v, n.Type)
	}
	return nil
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", empty, answer(one), answer(one, one), "```json\n" + empty + "\n```", empty + empty, answer("null"),
		but("high", "never"), but("12", "1e3"), but(`"severity"`, `"Severity"`), but(`"line":12`, `"line":12,"line":13`),
		`{"summary":"S","findings":[],"retained":[null]}`, `{"ſummary":"S","findings":[],"retained":[]}`, answer(one)[:70],
	} {
		f.Add(seed)
	}
	root := schemaNode(f)
	f.Fuzz(func(t *testing.T, content string) {
		a, err := Decode(content)
		if err != nil {
			return
		}
		// Not every server holds a model to the schema.
		a.Retained, a.Closed = append([]string{}, a.Retained...), append([]Fix{}, a.Closed...)
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		if err := root.allows(v); err != nil {
			t.Fatalf("accepted, but not by the schema: %v", err)
		}
		if again, err := Decode(string(text)); err != nil || !cmp.Equal(a, again) {
			t.Fatalf("written and read again: %+v, %v\nwas %+v", again, err, a)
		}
	})
}

func TestSeverityReachesItsThreshold(t *testing.T) {
	for threshold, want := range map[Severity][]Severity{
		Low: {Critical, High, Medium, Low}, Medium: {Critical, High, Medium}, High: {Critical, High}, Critical: {Critical}, Never: nil, "": nil, "blocker": nil,
	} {
		var got []Severity
		for _, s := range Severities {
			if s.AtLeast(threshold) {
				got = append(got, s)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("threshold %q is reached by %v, want %v", threshold, got, want)
		}
	}
	if Critical.Rank() != 0 || Low.Rank() != 3 {
		t.Errorf("ranks %d and %d", Critical.Rank(), Low.Rank())
	}
}

func TestAThresholdIsReadAndAnUnknownOneNamesTheValidOnes(t *testing.T) {
	for _, text := range []string{"critical", "high", "medium", "low", "never"} {
		var s Severity
		if err := s.UnmarshalText([]byte(text)); err != nil || string(s) != text {
			t.Errorf("%s: %q, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "High", "blocker", "high "} {
		s := High
		err := s.UnmarshalText([]byte(text))
		if err == nil || !strings.Contains(err.Error(), "low, medium, high, critical, never") {
			t.Errorf("%q: %v", text, err)
		}
		if s != High {
			t.Errorf("%q changed the value to %q", text, s)
		}
	}
}
