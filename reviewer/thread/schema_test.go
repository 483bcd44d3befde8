package thread

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const threadsURN = "urn:review-bot:threads"

// compiled is a schema, or a definition of one: the library checks each against the
// metaschema of 2020-12.
func compiled(t *testing.T, at string) *jsonschema.Schema {
	t.Helper()
	c := newCompiler()
	addSchema(c, threadsURN, threadsSchema)
	addSchema(c, triageURN, triageSchema)
	addSchema(c, settleURN, settleSchema)
	schema, err := c.Compile(at)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// fits tells what a schema has against a value's JSON; nil if nothing.
func fits(t *testing.T, at string, value any) error {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return compiled(t, at).Validate(doc)
}

func yes() *bool { b := true; return &b }

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))

	fullThread = Thread{
		ID: ID{9223372036854775807, 345}, PR: 7, Path: "a.go", Line: 3, Side: Old, HeadPath: "b.go", HeadLine: 4, Resolved: true, Resolver: "bob",
		Outdated: true, Author: "alice", AuthorKind: KindBot, URL: "https://forge.example/x", CanResolve: yes(), CanReply: new(bool),
		Role: "security", FindingID: "abc", Comments: []Comment{
			{ID: 345, Author: "alice", AuthorKind: KindBot, Body: "text\n", Created: noon, Updated: noon, URL: "https://forge.example/y", Ours: true},
			{ID: 346, AuthorKind: KindDeleted},
		},
	}
	leastThread = Thread{ID: ID{1, 1}, PR: 1, Side: New, AuthorKind: KindUser, Comments: []Comment{{ID: 1, AuthorKind: KindUser}}}

	fullList = List{
		Repo: "o/r", PR: 7, URL: "https://forge.example/o/r/pulls/7", Head: strings.Repeat("0a", 20), Phase: Fixing, Incomplete: true, Total: 9, Unresolved: 8,
		Selected: 7, Scan: Scan{strings.Repeat("0a", 20), 7, false}, Threads: []Thread{fullThread, leastThread},
		Triage: &Tally{1, 2, 3, 4, 5, 6}, Notes: []string{"a note"},
	}
	fullJudgement = Judgement{
		ThreadID: ID{1, 2}, Classification: NeedsHuman, Confidence: 0.25, Reason: "r", RecommendedAction: "a", FilesToInspect: []string{"a.go"},
		FilesToChange: []string{"b.go"}, ChecksToRun: []string{"c"}, ReplyBody: "b", RequiresHumanDecision: true,
	}
	fullItem = Item{
		ThreadID: ID{1, 2}, Classification: Valid, Verification: []string{"v"}, ChecksRun: []string{"c"}, ResolveRequested: true, FixSummary: "s",
		CommitSHA: "0123abC", ReplyBody: "b", HumanDecision: "d",
	}
)

func TestTypesFitSchemas(t *testing.T) {
	emptyList := Select(nil, Filter{}, 50)
	emptyList.PR = 1
	emptyList.At(strings.Repeat("0", 40))
	for name, test := range map[string]struct {
		at    string
		value any
	}{
		"thread, full":        {threadsURN + "#/$defs/thread", fullThread},
		"thread, least":       {threadsURN + "#/$defs/thread", leastThread},
		"list, full":          {threadsURN, fullList},
		"list, empty":         {threadsURN, emptyList},
		"judgement":           {triageURN + "#/$defs/judgement", fullJudgement},
		"triage":              {triageURN, Triage{Scan{strings.Repeat("0", 40), 1, true}, []Judgement{fullJudgement}}},
		"triage, empty":       {triageURN, Triage{Scan{Head: strings.Repeat("0", 40)}, []Judgement{}}},
		"item":                {settleURN + "#/$defs/item", fullItem},
		"item, least":         {settleURN + "#/$defs/item", Item{ThreadID: ID{1, 1}, Classification: Stale, Verification: []string{}, ChecksRun: []string{}}},
		"settlement":          {settleURN, Settlement{PR: 3, Items: []Item{fullItem}}},
		"settlement, no pull": {settleURN, Settlement{Items: []Item{fullItem}}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := fits(t, test.at, test.value); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestListSchemaRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*List){
		"no head":        func(l *List) { l.Head = "" },
		"phase":          func(l *List) { l.Phase = "done" },
		"threads null":   func(l *List) { l.Threads = nil },
		"notes null":     func(l *List) { l.Notes = nil },
		"no comment":     func(l *List) { l.Threads = []Thread{leastThread}; l.Threads[0].Comments = []Comment{} },
		"no id":          func(l *List) { l.Threads = []Thread{leastThread}; l.Threads[0].ID = ID{} },
		"no side":        func(l *List) { l.Threads = []Thread{leastThread}; l.Threads[0].Side = "" },
		"author's kind":  func(l *List) { l.Threads = []Thread{leastThread}; l.Threads[0].AuthorKind = "robot" },
		"negative count": func(l *List) { l.Triage = &Tally{Valid: -1} },
		"too long":       func(l *List) { l.Threads = slices.Repeat([]Thread{leastThread}, 501) },
	} {
		t.Run(name, func(t *testing.T) {
			list := fullList
			spoil(&list)
			if fits(t, threadsURN, list) == nil {
				t.Error("accepted")
			}
		})
	}
	type comment struct {
		Comment
		Created string `json:"created"`
	}
	if fits(t, threadsURN+"#/$defs/comment", comment{fullThread.Comments[0], "2026-03-01 12:00"}) == nil {
		t.Error("a time of another form is accepted")
	}
}

// A property that a type has and its schema doesn't, or the other way round, would
// only show when somebody uses it.
func TestSchemasHaveTheTypesProperties(t *testing.T) {
	for at, typ := range map[string]reflect.Type{
		threadsURN:                           reflect.TypeFor[List](),
		threadsURN + "#/$defs/triage_counts": reflect.TypeFor[Tally](),
		threadsURN + "#/$defs/thread":        reflect.TypeFor[Thread](),
		threadsURN + "#/$defs/comment":       reflect.TypeFor[Comment](),
		triageURN:                            reflect.TypeFor[Triage](),
		triageURN + "#/properties/scan":      reflect.TypeFor[Scan](),
		threadsURN + "#/properties/scan":     reflect.TypeFor[Scan](),
		triageURN + "#/$defs/judgement":      reflect.TypeFor[Judgement](),
		settleURN:                            reflect.TypeFor[Settlement](),
		settleURN + "#/$defs/item":           reflect.TypeFor[Item](),
	} {
		t.Run(at, func(t *testing.T) {
			var all, required []string
			for field := range typ.Fields() {
				name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
				if name == "-" {
					continue
				}
				all = append(all, name)
				if option != "omitempty" {
					required = append(required, name)
				}
			}
			slices.Sort(all)
			slices.Sort(required)
			schema := compiled(t, at)
			if diff := cmp.Diff(all, slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
				t.Errorf("properties (-type +schema):\n%s", diff)
			}
			if diff := cmp.Diff(required, slices.Sorted(slices.Values(schema.Required))); diff != "" {
				t.Errorf("required (-type +schema):\n%s", diff)
			}
		})
	}
}

func TestSchemasHaveTheTypesWords(t *testing.T) {
	for at, words := range map[string][]any{
		triageURN + "#/$defs/classification":          anys(Classifications...),
		settleURN + "#/$defs/classification":          anys(Classifications...),
		threadsURN + "#/$defs/author_kind":            anys(KindUser, KindBot, KindDeleted),
		threadsURN + "#/properties/phase":             anys(Blocked, InTriage, Fixing, Verified),
		threadsURN + "#/$defs/thread/properties/side": anys(New, Old),
	} {
		if diff := cmp.Diff(words, compiled(t, at).Enum.Values); diff != "" {
			t.Errorf("%s (-type +schema):\n%s", at, diff)
		}
	}
	want := strings.NewReplacer("(", "", ")", "").Replace(idPattern.String())
	for _, urn := range []string{threadsURN, triageURN, settleURN} {
		if got := compiled(t, urn+"#/$defs/thread_id").Pattern.String(); got != want {
			t.Errorf("%s: the pattern of ids is %s, and ParseID's is %s", urn, got, want)
		}
	}
}

func anys[T ~string](words ...T) (list []any) {
	for _, word := range words {
		list = append(list, string(word))
	}
	return list
}

func TestSchemas(t *testing.T) {
	data := Schemas()
	if !bytes.HasPrefix(data, []byte("{\n  \"threads\": {\n    \"$schema\": ")) || !bytes.HasSuffix(data, []byte("}\n")) {
		t.Errorf("not as people read it: %.60q…", data)
	}
	var got map[string]map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"settle", "threads", "triage"}, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Error(diff)
	}
	for name, schema := range got {
		if schema["$id"] != "urn:review-bot:"+name {
			t.Errorf("%s has the id %v", name, schema["$id"])
		}
		if schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s is of the kind %v", name, schema["$schema"])
		}
		if schema["title"] == nil {
			t.Errorf("%s has no title", name)
		}
		described(t, name, schema)
	}
}

// described finds objects that aren't closed, properties without a description, and
// lists that are longer than what the walk keeps.
func described(t *testing.T, at string, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if schema["type"] == "object" && schema["additionalProperties"] != false {
		t.Errorf("%s: not closed", at)
	}
	if most, ok := schema["maxItems"].(float64); ok && most > maxEntries {
		t.Errorf("%s: may have %v entries, and the walk keeps %d", at, most, maxEntries)
	}
	for name, property := range properties {
		object := property.(map[string]any)
		if text, _ := object["description"].(string); len(text) < 15 {
			t.Errorf("%s.%s: described as %q", at, name, text)
		}
		described(t, at+"."+name, object)
	}
	defs, _ := schema["$defs"].(map[string]any)
	for name, def := range defs {
		described(t, at+"#"+name, def.(map[string]any))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		described(t, at+"[]", items)
	}
}
