package thread

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// The bounds of a payload. They keep a hostile one from costing more than a
// moment; what the schemas allow is well inside.
const (
	maxPayload = 4 << 20 // bytes
	maxNesting = 100     // objects and lists in each other
	maxValues  = 200_000 // of any kind, in the whole document
	maxEntries = 500     // of any list: the most that a schema allows
)

const (
	maxProblems = 100 // that are told at once
	maxShown    = 60  // characters of a value or key that a problem shows
	maxNamed    = 10  // ids that one problem names
)

// What the schema and [Triage.Check] both say about a judgement.
const (
	notResolvable = "is true, and must be false: requires_human_decision is true"
	notDecided    = "is false, and must be true: the classification is needs_human"
)

// ParseTriage reads a triage. What is in it is as the schema says, no key
// is in an object twice, and nothing comes after it. With problems, in the order of their
// paths and at most 100, the triage is zero. No problem shows more than 60
// characters of a value, or anything of a reason or reply.
func ParseTriage(data []byte) (Triage, []Problem) {
	triage, problems := parsePayload[Triage](data, payloads().triage, "threads")
	if found := triage.twice(); len(found) > 0 {
		return Triage{}, finish(found)
	}
	return triage, problems
}

// ParseSettlement reads a settlement, as strictly as [ParseTriage] reads a triage.
// Optional texts that are absent are "".
func ParseSettlement(data []byte) (Settlement, []Problem) {
	return parsePayload[Settlement](data, payloads().settle, "items")
}

// Check says what of a triage doesn't fit the conversations that it was asked
// for: each is to be judged once, and no other. scan is the list's; all are the
// conversations of the pull request, to say why one isn't among them. What a triage
// that was parsed can't have is found here, too.
func (t Triage) Check(scan Scan, selected, all []Thread) []Problem {
	found := append(t.twice(), t.whole()...)
	if scan.Complete && t.Scan.Count != scan.Count {
		found = append(found, placed{place{"scan", "count"}, fmt.Sprintf("is %d, and %d conversations are selected", t.Scan.Count, scan.Count)})
	}
	if t.Scan.Head != scan.Head {
		found = append(found, placed{place{"scan", "head"}, fmt.Sprintf("is %.7s, and the pull request's head is %.7s", t.Scan.Head, scan.Head)})
	}
	wanted, judged := idsOf(selected), map[ID]bool{}
	for i, j := range t.Threads {
		at := func(key string) place { return place{"threads", i, key} }
		if !judged[j.ThreadID] && !wanted[j.ThreadID] {
			found = append(found, placed{at("thread_id"), j.ThreadID.String() + unselected(j.ThreadID, all)})
		}
		judged[j.ThreadID] = true
		if j.RequiresHumanDecision && j.CanResolveAfterChecks {
			found = append(found, placed{at("can_resolve_after_checks"), notResolvable})
		}
		if j.Classification == NeedsHuman && !j.RequiresHumanDecision {
			found = append(found, placed{at("requires_human_decision"), notDecided})
		}
	}
	var missing []string
	for _, thread := range selected {
		if !judged[thread.ID] {
			judged[thread.ID] = true
			missing = append(missing, thread.ID.String())
		}
	}
	if n := len(missing); n > 0 {
		named, more := missing, ""
		if n > maxNamed {
			named, more = missing[:maxNamed], fmt.Sprintf(" and %s more", grouped(n-maxNamed))
		}
		found = append(found, placed{place{"threads"}, "leaves out selected conversations: " + strings.Join(named, ", ") + more})
	}
	return finish(found)
}

// Check tells what of a settlement doesn't fit the pull request pr, all of its
// conversations, resolved ones too, and the triage, which is nil if there is none.
// A classification other than the triage's needs a human_decision.
func (s Settlement) Check(pr int64, threads []Thread, triage *Triage) []Problem {
	var found []placed
	if s.PR != 0 && s.PR != pr {
		found = append(found, placed{place{"pr"}, fmt.Sprintf("is %d, and the pull request is %d", s.PR, pr)})
	}
	judged := map[ID]Classification{}
	if triage != nil {
		for _, p := range triage.whole() {
			found = append(found, placed{append(place{"triage"}, p.at...), p.reason})
		}
		if n := len(triage.Threads); triage.Scan.Count != n {
			found = append(found, placed{place{"triage", "scan", "count"}, fmt.Sprintf("is %d, and there are %d judgements", triage.Scan.Count, n)})
		}
		for _, j := range triage.Threads {
			judged[j.ThreadID] = j.Classification
		}
	}
	known, first := idsOf(threads), map[ID]int{}
	for i, item := range s.Items {
		at := func(key string) place { return place{"items", i, key} }
		if before, twice := first[item.ThreadID]; twice {
			found = append(found, placed{at("thread_id"), stands(item.ThreadID, "items", before)})
			continue
		}
		first[item.ThreadID] = i
		class, has := judged[item.ThreadID]
		switch {
		case !known[item.ThreadID]:
			found = append(found, placed{at("thread_id"), item.ThreadID.String() + " is no conversation of the pull request"})
		case triage == nil:
		case !has:
			found = append(found, placed{at("thread_id"), item.ThreadID.String() + " has no judgement in the triage"})
		case class != item.Classification && strings.TrimSpace(item.HumanDecision) == "":
			found = append(found, placed{at("classification"), fmt.Sprintf(
				"is %s, and the triage says %s: a person who decided otherwise says so in human_decision",
				shortened(string(item.Classification)), shortened(string(class)))})
		}
	}
	return finish(found)
}

// whole finds out whether the triage is of a complete list.
func (t Triage) whole() (found []placed) {
	if !t.Scan.Complete {
		found = append(found, placed{place{"scan", "complete"}, "is false, and a triage of a part settles nothing: list all conversations first"})
	}
	return found
}

// twice finds the conversations that are judged more than once.
func (t Triage) twice() (found []placed) {
	first := map[ID]int{}
	for i, j := range t.Threads {
		if before, twice := first[j.ThreadID]; twice {
			found = append(found, placed{place{"threads", i, "thread_id"}, stands(j.ThreadID, "threads", before)})
			continue
		}
		first[j.ThreadID] = i
	}
	return found
}

// unselected says why a conversation isn't among the selected ones.
func unselected(id ID, all []Thread) string {
	i := slices.IndexFunc(all, func(t Thread) bool { return t.ID == id })
	switch {
	case i < 0:
		return " is no conversation of the pull request"
	case all[i].Resolved:
		return " is not among the selected conversations: it is resolved (--all selects it)"
	case all[i].Outdated:
		return " is not among the selected conversations: its line no longer stands at the head (--include-outdated selects it)"
	}
	return " is not among the selected conversations"
}

func idsOf(threads []Thread) map[ID]bool {
	ids := map[ID]bool{}
	for _, thread := range threads {
		ids[thread.ID] = true
	}
	return ids
}

func stands(id ID, list string, i int) string {
	return fmt.Sprintf("%s stands in %s already", id, place{list, i})
}

// parsePayload reads a payload whose entries stand in the given list.
func parsePayload[T any](data []byte, schema *jsonschema.Schema, list string) (value T, problems []Problem) {
	root, found, ok := read(data)
	if ok {
		found = append(found, misfits(schema, root)...)
		found = append(found, hugeIDs(root, list)...)
	}
	if len(found) > 0 {
		return value, finish(found)
	}
	if err := decode(root, &value); err != nil {
		var zero T
		return zero, []Problem{{place{}.String(), "fits the schema, and yet can't be read"}}
	}
	return value, nil
}

// decode gives the type's value of a document that fits the type's schema.
func decode(root, value any) error {
	if object, ok := root.(map[string]any); ok {
		scan, _ := object["scan"].(map[string]any)
		if err := cmp.Or(whole(object, "pr"), whole(scan, "count")); err != nil {
			return err
		}
	}
	data, err := json.Marshal(root)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, value)
}

// whole makes a whole number of one: 1.0 and 1e2 are such to the schema, but not
// to encoding/json.
func whole(object map[string]any, key string) error {
	n, ok := object[key].(json.Number)
	if !ok {
		return nil
	}
	f, err := n.Float64() // exact: the schema's maximum is what a float64 can count to
	if err == nil {
		object[key] = int64(f)
	}
	return err
}

// hugeIDs finds the ids that the schema's pattern lets through and that are no ids
// all the same: the largest numbers of 19 digits are no int64.
func hugeIDs(root any, list string) (found []placed) {
	object, _ := root.(map[string]any)
	entries, _ := object[list].([]any)
	for i, entry := range entries {
		fields, _ := entry.(map[string]any)
		id, _ := fields["thread_id"].(string)
		if !idPattern.MatchString(id) {
			continue
		}
		if _, err := ParseID(id); err != nil {
			found = append(found, placed{place{list, i, "thread_id"}, id + " is no id: its numbers are too large"})
		}
	}
	return found
}

// A place in a document: keys (string) and indexes (int), from the root on.
type place []any

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (p place) String() string {
	var s strings.Builder
	s.WriteByte('$')
	for _, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&s, "[%d]", step)
		case string:
			if key := shortened(step); plainKey.MatchString(key) {
				s.WriteString("." + key)
			} else {
				fmt.Fprintf(&s, "[%q]", key)
			}
		}
	}
	return s.String()
}

// compare puts a value before what is in it, and entries of a list in their order.
func (p place) compare(q place) int {
	return slices.CompareFunc(p, q, func(a, b any) int {
		// What stands at one place is an object or a list, so both steps are alike.
		if i, ok := a.(int); ok {
			j, _ := b.(int)
			return cmp.Compare(i, j)
		}
		k, _ := a.(string)
		l, _ := b.(string)
		return strings.Compare(k, l)
	})
}

// placed is a problem whose place can still be compared.
type placed struct {
	at     place
	reason string
}

// finish sorts the problems, drops those that are told already, and all that are
// more than a reader can use.
func finish(found []placed) []Problem {
	slices.SortFunc(found, func(a, b placed) int {
		return cmp.Or(a.at.compare(b.at), strings.Compare(a.reason, b.reason))
	})
	var problems []Problem
	told := map[Problem]bool{} // two long keys may be the same once they are cut, and needn't be neighbours
	for _, f := range found {
		if p := (Problem{f.at.String(), f.reason}); !told[p] {
			told[p] = true
			problems = append(problems, p)
		}
	}
	if n := len(problems); n > maxProblems {
		problems = append(problems[:maxProblems-1:maxProblems-1],
			Problem{place{}.String(), fmt.Sprintf("has %s more problems", grouped(n-maxProblems+1))})
	}
	return problems
}

// read gives the value of a JSON document. ok tells whether there is one to hold
// against a schema.
func read(data []byte) (root any, found []placed, ok bool) {
	whole := func(format string, args ...any) (any, []placed, bool) {
		return nil, []placed{{nil, fmt.Sprintf(format, args...)}}, false
	}
	if len(data) > maxPayload {
		return whole("is %s bytes long, and may have %s", grouped(len(data)), grouped(maxPayload))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return whole("is not text in UTF-8: %s", position(data, invalidByte(data)))
	}
	if i := tooDeep(data); i >= 0 {
		return whole("is nested deeper than %d: %s", maxNesting, position(data, i))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return whole("is empty, and must be a JSON object")
		case errors.As(err, &syntax):
			i := max(int(syntax.Offset)-1, 0)
			r, _ := utf8.DecodeRune(data[min(i, len(data)):])
			return whole("is not JSON: %q is out of place in %s", r, position(data, i))
		default:
			return whole("is not JSON: it ends too early, in %s", position(data, len(data)))
		}
	}
	end := int(dec.InputOffset())
	if rest := bytes.TrimLeft(data[end:], " \t\r\n"); len(rest) > 0 {
		return whole("has something after its end: %s", position(data, len(data)-len(rest)))
	}
	w := walk{dec: json.NewDecoder(bytes.NewReader(raw))}
	w.dec.UseNumber()
	root, err := w.value()
	switch {
	case errors.Is(err, errManyValues):
		return whole("has more than %s values", grouped(maxValues))
	case err != nil:
		return whole("is not JSON")
	}
	return root, w.found, true
}

// position is where a byte stands, for people: lines and characters from 1.
func position(data []byte, i int) string {
	before := data[:min(i, len(data))]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %s, column %s", grouped(1+bytes.Count(before, []byte("\n"))), grouped(1+utf8.RuneCount(line)))
}

func invalidByte(data []byte) int {
	i := 0
	for i < len(data) {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// tooDeep is where the nesting goes beyond the bound; -1 if it doesn't. It comes
// before anything that recurses.
func tooDeep(data []byte) int {
	depth, inText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			if depth++; depth > maxNesting {
				return i
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return -1
}

// walk reads a document that is known to be JSON, token by token: a key that stands
// twice shows nowhere else, as encoding/json takes the last one.
type walk struct {
	dec    *json.Decoder
	at     place
	values int
	found  []placed
}

var errManyValues = errors.New("too many values")

func (w *walk) value() (any, error) {
	if w.values++; w.values > maxValues {
		return nil, errManyValues
	}
	token, err := w.dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return w.object()
	case json.Delim('['):
		return w.list()
	}
	if n, ok := token.(json.Number); ok {
		return manageable(n), nil
	}
	return token, nil
}

func (w *walk) object() (any, error) {
	object := map[string]any{}
	for w.dec.More() {
		token, err := w.dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		w.at = append(w.at, key)
		if _, twice := object[key]; twice {
			w.found = append(w.found, placed{slices.Clone(w.at), "is twice in its object"})
		}
		if object[key], err = w.value(); err != nil {
			return nil, err
		}
		w.at = w.at[:len(w.at)-1]
	}
	_, err := w.dec.Token()
	return object, err
}

// list keeps one entry more than any schema allows, which is enough for it to fail.
// The others are only looked through.
func (w *walk) list() (any, error) {
	list := []any{}
	for i := 0; w.dec.More(); i++ {
		w.at = append(w.at, i)
		entry, err := w.value()
		if err != nil {
			return nil, err
		}
		w.at = w.at[:len(w.at)-1]
		if i <= maxEntries {
			list = append(list, entry)
		}
	}
	_, err := w.dec.Token()
	return list, err
}

var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4}`)

// manageable is a number that can be computed with exactly, as the library does:
// 1e999999 takes it long, and from 1e1000001 on it panics. A number of such a form
// becomes the nearest float64, and one that is out of their range stays out of it.
func manageable(n json.Number) json.Number {
	if len(n) <= 100 && !longExponent.MatchString(string(n)) {
		return n
	}
	f, _ := strconv.ParseFloat(string(n), 64) // its error is for infinity alone
	switch {
	case math.IsInf(f, 1):
		return "1e999"
	case math.IsInf(f, -1):
		return "-1e999"
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// misfits is what the schema doesn't allow, in words for people.
func misfits(schema *jsonschema.Schema, root any) (found []placed) {
	var invalid *jsonschema.ValidationError
	if !errors.As(schema.Validate(root), &invalid) {
		return nil
	}
	// What is wrong stands at the leaves; above are only ways that led there.
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			found = append(found, explain(locate(schema, root, e.InstanceLocation), e.ErrorKind)...)
		}
		for _, cause := range e.Causes {
			visit(cause)
		}
	}
	visit(invalid)
	return found
}

// spot is a value of a document, and what the schema says about it.
type spot struct {
	at    place
	value any
	rule  *jsonschema.Schema
}

// locate goes where the library found something, so every key is one of the schema's.
func locate(schema *jsonschema.Schema, root any, keys []string) spot {
	s := spot{place{}, root, referred(schema)}
	for _, key := range keys {
		switch v := s.value.(type) {
		case map[string]any:
			s = spot{append(s.at, key), v[key], referred(s.rule.Properties[key])}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				return s
			}
			s = spot{append(s.at, i), v[i], referred(s.rule.Items2020)}
		}
	}
	return s
}

func referred(s *jsonschema.Schema) *jsonschema.Schema {
	for s.Ref != nil {
		s = s.Ref
	}
	return s
}

func explain(s spot, why jsonschema.ErrorKind) []placed {
	one := func(format string, args ...any) []placed { return []placed{{s.at, fmt.Sprintf(format, args...)}} }
	each := func(keys []string, reason string) (all []placed) {
		for _, key := range keys {
			all = append(all, placed{append(slices.Clone(s.at), key), reason})
		}
		return all
	}
	switch why := why.(type) {
	case *kind.Required:
		return each(why.Missing, "is required")
	case *kind.AdditionalProperties:
		return each(why.Properties, "no such property — the properties are "+strings.Join(slices.Sorted(maps.Keys(s.rule.Properties)), ", "))
	case *kind.Type, *kind.Enum, *kind.Minimum, *kind.Maximum:
		return one("%s is not %s", s.shown(), s.wanted())
	case *kind.Pattern:
		if _, known := forms[why.Want]; known {
			return one("%s is not %s", s.shown(), s.wanted())
		}
		if why.Got == "" {
			return nil // that it is empty is told already
		}
		return one("is blank")
	case *kind.Const:
		// The conditions compare with true and false. What is neither is told already.
		switch s.value {
		case true:
			return one(notResolvable)
		case false:
			return one(notDecided)
		}
		return nil
	case *kind.MinLength:
		return one("is empty")
	case *kind.MaxLength:
		return one("is %s characters long, and may have %s", grouped(why.Got), grouped(why.Want))
	case *kind.MinItems:
		return one("is empty, and needs an entry")
	case *kind.MaxItems:
		if why.Got > maxEntries {
			return one("has more than %s entries, and may have %s", grouped(maxEntries), grouped(why.Want))
		}
		return one("has %s entries, and may have %s", grouped(why.Got), grouped(why.Want))
	case *kind.UniqueItems:
		first, again := why.Duplicates[0], why.Duplicates[1]
		return []placed{{append(slices.Clone(s.at), again), fmt.Sprintf("is the same as entry [%d]", first)}}
	default:
		return one("doesn't fit the schema")
	}
}

// forms are the patterns of the schemas that ask for more than that a text isn't
// blank. Such texts are short, and may be shown.
var forms = map[string]string{
	`^[1-9][0-9]{0,18}:[1-9][0-9]{0,18}$`: "the id of a conversation, as in 12:345",
	`^[0-9a-fA-F]{7,40}$`:                 "a commit, 7 to 40 hexadecimal digits",
	`^[0-9a-f]{40}$`:                      "a commit's full id, 40 hexadecimal digits",
}

func (s spot) form() string {
	if s.rule.Pattern == nil {
		return ""
	}
	return forms[s.rule.Pattern.String()]
}

func (s spot) wants(jsonType string) bool {
	return s.rule.Types != nil && slices.Contains(s.rule.Types.ToStrings(), jsonType)
}

// shown is the value as a problem names it: only numbers that should be numbers,
// and texts that should be a word or an id, are quoted.
func (s spot) shown() string {
	switch v := s.value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		if s.wants("number") || s.wants("integer") {
			return shortened(v.String())
		}
		return "a number"
	case string:
		if s.rule.Enum != nil || s.form() != "" {
			return strconv.Quote(shortened(v))
		}
		return "a text"
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

// wanted is what may stand there.
func (s spot) wanted() string {
	switch {
	case s.rule.Enum != nil:
		var words []string
		for _, word := range s.rule.Enum.Values {
			words = append(words, fmt.Sprint(word))
		}
		return "one of " + strings.Join(words, ", ")
	case s.wants("integer"), s.wants("number"):
		what := "a number"
		if s.wants("integer") {
			what = "a whole number"
		}
		if low, high := s.rule.Minimum, s.rule.Maximum; low != nil && high != nil {
			what += " from " + low.RatString() + " to " + high.RatString()
		}
		return what
	case s.wants("boolean"):
		return "true or false"
	case s.wants("array"):
		return "a list"
	case s.wants("object"):
		return "an object"
	case s.form() != "":
		return s.form()
	default:
		return "a text"
	}
}

func shortened(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxShown {
			return s[:i] + "…"
		}
	}
	return s
}

// grouped is a number with its thousands apart, as in 2,001.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
