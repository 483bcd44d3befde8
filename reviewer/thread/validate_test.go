package thread

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	goodJudgement = `{"thread_id":"1:2","classification":"valid","confidence":0.5,"reason":"because","recommended_action":"","files_to_inspect":[],` +
		`"files_to_change":["a.go"],"checks_to_run":["go test ./..."],"reply_body":"","can_resolve_after_checks":true,"requires_human_decision":false}`
	goodItem = `{"thread_id":"1:2","classification":"valid","verification":["seen"],"checks_run":["go test ./..."],"resolve_requested":true}`

	judgementKeys = "can_resolve_after_checks, checks_to_run, classification, confidence, files_to_change, files_to_inspect, reason, recommended_action, " +
		"reply_body, requires_human_decision, thread_id"
	itemKeys  = "checks_run, classification, commit_sha, fix_summary, human_decision, reply_body, resolve_requested, thread_id, verification"
	wantClass = "one of valid, invalid, stale, already_fixed, needs_human"
	wantID    = "the id of a conversation, as in 12:345"
)

func triageOf(judgements ...string) string {
	return fmt.Sprintf(`{"scan":{"head":"%040d","count":%d,"complete":true},"threads":[`, 0, len(judgements)) +
		strings.Join(judgements, ",") + `]}`
}
func settleOf(items ...string) string { return `{"items":[` + strings.Join(items, ",") + `]}` }

// edited is a text in which each old is a new.
func edited(text string, oldNew ...string) string {
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(text, oldNew[i]) {
			panic(oldNew[i])
		}
		text = strings.Replace(text, oldNew[i], oldNew[i+1], 1)
	}
	return text
}

// badJudgement is a triage of one judgement with a change, badItem a settlement of one item.
func badJudgement(oldNew ...string) string { return triageOf(edited(goodJudgement, oldNew...)) }
func badItem(oldNew ...string) string      { return settleOf(edited(goodItem, oldNew...)) }

// textList is a list of n texts, none like another.
func textList(n int) string {
	var texts []string
	for k := range n {
		texts = append(texts, fmt.Sprintf(`"t%d"`, k))
	}
	return "[" + strings.Join(texts, ",") + "]"
}

const sixty = "123456789 123456789 123456789 123456789 123456789 1234567890"

// Bad payloads, with all that is said about them.
var badTriages = map[string]struct {
	payload string
	want    []string
}{
	"nothing":              {"", []string{"$: is empty, and must be a JSON object"}},
	"white space":          {" \n\t", []string{"$: is empty, and must be a JSON object"}},
	"not JSON":             {"{\n \"threads\": [}\n", []string{"$: is not JSON: '}' is out of place in line 2, column 14"}},
	"not JSON, behind é":   {`{"é": é}`, []string{"$: is not JSON: 'é' is out of place in line 1, column 7"}},
	"comma too many":       {"{\"threads\": [],\n}", []string{"$: is not JSON: '}' is out of place in line 2, column 1"}},
	"a word":               {"yes", []string{"$: is not JSON: 'y' is out of place in line 1, column 1"}},
	"line in a text":       {"{\"a\nb\":1}", []string{"$: is not JSON: '\\n' is out of place in line 1, column 4"}},
	"cut":                  {"{\"threads\": [\n  ", []string{"$: is not JSON: it ends too early, in line 2, column 3"}},
	"cut in a text":        {`{"thr`, []string{"$: is not JSON: it ends too early, in line 1, column 6"}},
	"something after":      {triageOf() + "\n {}", []string{"$: has something after its end: line 2, column 2"}},
	"word after":           {triageOf() + "x", []string{"$: has something after its end: line 1, column 100"}},
	"not UTF-8":            {"{\n\"a\xff\": 1}", []string{"$: is not text in UTF-8: line 2, column 3"}},
	"surrogate in UTF-8":   {"\"\xed\xa0\x80\"", []string{"$: is not text in UTF-8: line 1, column 2"}},
	"too long":             {`"` + strings.Repeat("x", 4<<20) + `"`, []string{"$: is 4,194,306 bytes long, and may have 4,194,304"}},
	"too deep":             {strings.Repeat("[", 101) + strings.Repeat("]", 101), []string{"$: is nested deeper than 100: line 1, column 101"}},
	"too deep, in objects": {strings.Repeat(`{"[\"":`, 101), []string{"$: is nested deeper than 100: line 1, column 701"}},
	"deep, not too deep":   {strings.Repeat("[", 100) + strings.Repeat("]", 100), []string{"$: a list is not an object"}},
	"brackets in a text":   {`"\"` + strings.Repeat("[", 101) + `"`, []string{"$: a text is not an object"}},
	"too many values":      {`{"threads":[` + strings.Repeat("[],", 200_000) + "[]]}", []string{"$: has more than 200,000 values"}},

	"null":             {"null", []string{"$: null is not an object"}},
	"a list":           {"[]", []string{"$: a list is not an object"}},
	"a text":           {`"secret"`, []string{"$: a text is not an object"}},
	"no threads":       {"{}", []string{"$.scan: is required", "$.threads: is required"}},
	"threads null":     {`{"threads":null}`, []string{"$.scan: is required", "$.threads: null is not a list"}},
	"threads object":   {`{"threads":{}}`, []string{"$.scan: is required", "$.threads: an object is not a list"}},
	"a text for a one": {`{"threads":["1:2"]}`, []string{"$.scan: is required", "$.threads[0]: a text is not an object"}},
	"the other kind": {
		settleOf(goodItem), []string{"$.items: no such property — the properties are scan, threads", "$.scan: is required",
			"$.threads: is required"},
	},
	"other spelling": {
		`{"Threads":[]}`, []string{"$.Threads: no such property — the properties are scan, threads", "$.scan: is required",
			"$.threads: is required"},
	},
	"too many": {triageOf(slices.Repeat([]string{goodJudgement}, 501)...), []string{
		"$.threads: has more than 500 entries, and may have 500",
	}},
	"scan, a part": {edited(triageOf(goodJudgement), `"count":1,`, ""), []string{"$.scan.count: is required"}},
	"scan, a short head": {
		edited(triageOf(goodJudgement), strings.Repeat("0", 40), "main"),
		[]string{`$.scan.head: "main" is not a commit's full id, 40 hexadecimal digits`},
	},
	"scan, a fraction": {
		edited(triageOf(goodJudgement), `"count":1`, `"count":1.5`),
		[]string{"$.scan.count: 1.5 is not a whole number from 0 to 9007199254740991"},
	},
	"scan, a word": {
		edited(triageOf(goodJudgement), `true},`, `"yes"},`), []string{"$.scan.complete: a text is not true or false"},
	},
	"key twice": {
		`{"threads":[],"threads":[]}`, []string{"$.scan: is required", "$.threads: is twice in its object"},
	},
	"key twice, written \\": {badJudgement(`"reason"`, `"re\u0061son":"x","reason"`), []string{"$.threads[0].reason: is twice in its object"}},
	"key thrice":            {badJudgement(`"reason"`, `"reason":"x","reason":"y","reason"`), []string{"$.threads[0].reason: is twice in its object"}},
	"key twice, far down": {
		`{"threads":[],"x":[{"a b":[0,{"c":1,"c":2}]}]}`, []string{"$.scan: is required",
			`$.x: no such property — the properties are scan, threads`, `$.x[0]["a b"][1].c: is twice in its object`},
	},

	"unknown key":     {badJudgement(`"reason"`, `"odd key":1,"reason"`), []string{`$.threads[0]["odd key"]: no such property — the properties are ` + judgementKeys}},
	"key of controls": {badJudgement(`"reason"`, `"\u001b\"\u202e":1,"reason"`), []string{`$.threads[0]["\x1b\"\u202e"]: no such property — the properties are ` + judgementKeys}},
	"empty key":       {badJudgement(`"reason"`, `"":1,"reason"`), []string{`$.threads[0][""]: no such property — the properties are ` + judgementKeys}},
	"long key":        {badJudgement(`"reason"`, `"`+sixty+`x":1,"`+sixty+`y":1,"reason"`), []string{`$.threads[0]["` + sixty + `…"]: no such property — the properties are ` + judgementKeys}},
	"empty judgement": {triageOf("{}"), []string{
		"$.threads[0].can_resolve_after_checks: is required", "$.threads[0].checks_to_run: is required", "$.threads[0].classification: is required",
		"$.threads[0].confidence: is required", "$.threads[0].files_to_change: is required", "$.threads[0].files_to_inspect: is required",
		"$.threads[0].reason: is required", "$.threads[0].recommended_action: is required", "$.threads[0].reply_body: is required",
		"$.threads[0].requires_human_decision: is required", "$.threads[0].thread_id: is required",
	}},
	"order": {triageOf(goodJudgement, goodJudgement, edited(goodJudgement, "0.5", "2"), goodJudgement, goodJudgement, goodJudgement, goodJudgement, goodJudgement, goodJudgement, goodJudgement, edited(goodJudgement, "0.5", "3")), []string{
		"$.threads[2].confidence: 2 is not a number from 0 to 1", "$.threads[10].confidence: 3 is not a number from 0 to 1",
	}},

	"id, a comment's":    {badJudgement(`"1:2"`, `"345"`), []string{`$.threads[0].thread_id: "345" is not ` + wantID}},
	"id, a number":       {badJudgement(`"1:2"`, `345`), []string{`$.threads[0].thread_id: a number is not ` + wantID}},
	"id, empty":          {badJudgement(`"1:2"`, `""`), []string{`$.threads[0].thread_id: "" is not ` + wantID}},
	"id, zero":           {badJudgement(`"1:2"`, `"0:2"`), []string{`$.threads[0].thread_id: "0:2" is not ` + wantID}},
	"id, line behind":    {badJudgement(`"1:2"`, `"1:2\n"`), []string{`$.threads[0].thread_id: "1:2\n" is not ` + wantID}},
	"id, too large":      {badJudgement(`"1:2"`, `"1:9223372036854775808"`), []string{`$.threads[0].thread_id: 1:9223372036854775808 is no id: its numbers are too large`}},
	"id, too long":       {badJudgement(`"1:2"`, `"`+sixty+`x"`), []string{`$.threads[0].thread_id: "` + sixty + `…" is not ` + wantID}},
	"class":              {badJudgement(`"valid"`, `"vaild"`), []string{`$.threads[0].classification: "vaild" is not ` + wantClass}},
	"class, capitals":    {badJudgement(`"valid"`, `"Valid"`), []string{`$.threads[0].classification: "Valid" is not ` + wantClass}},
	"class, null":        {badJudgement(`"valid"`, `null`), []string{`$.threads[0].classification: null is not ` + wantClass}},
	"class, a list":      {badJudgement(`"valid"`, `["valid"]`), []string{`$.threads[0].classification: a list is not ` + wantClass}},
	"confidence":         {badJudgement("0.5", "1.5"), []string{"$.threads[0].confidence: 1.5 is not a number from 0 to 1"}},
	"confidence, below":  {badJudgement("0.5", "-0.01"), []string{"$.threads[0].confidence: -0.01 is not a number from 0 to 1"}},
	"confidence, barely": {badJudgement("0.5", "1.0000000000000000000001"), []string{"$.threads[0].confidence: 1.0000000000000000000001 is not a number from 0 to 1"}},
	"confidence, text":   {badJudgement("0.5", `"0.9"`), []string{"$.threads[0].confidence: a text is not a number from 0 to 1"}},
	"confidence, true":   {badJudgement("0.5", `true`), []string{"$.threads[0].confidence: true is not a number from 0 to 1"}},
	"confidence, huge":   {badJudgement("0.5", `1e1000000000`), []string{"$.threads[0].confidence: 1e999 is not a number from 0 to 1"}},
	"confidence, deep":   {badJudgement("0.5", `-1e1000000000`), []string{"$.threads[0].confidence: -1e999 is not a number from 0 to 1"}},
	"confidence, long":   {badJudgement("0.5", strings.Repeat("7", 90)), []string{"$.threads[0].confidence: " + strings.Repeat("7", 60) + "… is not a number from 0 to 1"}},

	"reason, empty":    {badJudgement(`"because"`, `""`), []string{"$.threads[0].reason: is empty"}},
	"reason, blank":    {badJudgement(`"because"`, `" \n\t "`), []string{"$.threads[0].reason: is blank"}},
	"reason, null":     {badJudgement(`"because"`, `null`), []string{"$.threads[0].reason: null is not a text"}},
	"reason, a number": {badJudgement(`"because"`, `4711`), []string{"$.threads[0].reason: a number is not a text"}},
	"reason, too long": {badJudgement(`"because"`, `"`+strings.Repeat("ä", 2001)+`"`), []string{"$.threads[0].reason: is 2,001 characters long, and may have 2,000"}},
	"action, too long": {badJudgement(`"recommended_action":""`, `"recommended_action":"`+strings.Repeat("a", 2001)+`"`), []string{"$.threads[0].recommended_action: is 2,001 characters long, and may have 2,000"}},
	"reply, too long":  {badJudgement(`"reply_body":""`, `"reply_body":"`+strings.Repeat("secret ", 600)+`"`), []string{"$.threads[0].reply_body: is 4,200 characters long, and may have 4,000"}},
	"reply, an object": {badJudgement(`"reply_body":""`, `"reply_body":{"secret":"text"}`), []string{"$.threads[0].reply_body: an object is not a text"}},

	"files, a text":   {badJudgement(`["a.go"]`, `"a.go"`), []string{"$.threads[0].files_to_change: a text is not a list"}},
	"files, a number": {badJudgement(`["a.go"]`, `["a.go",7]`), []string{"$.threads[0].files_to_change[1]: a number is not a text"}},
	"files, empty":    {badJudgement(`["a.go"]`, `[""]`), []string{"$.threads[0].files_to_change[0]: is empty"}},
	"files, long":     {badJudgement(`["a.go"]`, `["`+strings.Repeat("a", 1025)+`"]`), []string{"$.threads[0].files_to_change[0]: is 1,025 characters long, and may have 1,024"}},
	"files, twice":    {badJudgement(`["a.go"]`, `["a.go","b.go","a.go"]`), []string{"$.threads[0].files_to_change[2]: is the same as entry [0]"}},
	"files, many":     {badJudgement(`["a.go"]`, textList(101)), []string{"$.threads[0].files_to_change: has 101 entries, and may have 100"}},
	"inspect, many":   {badJudgement(`"files_to_inspect":[]`, `"files_to_inspect":`+textList(101)), []string{"$.threads[0].files_to_inspect: has 101 entries, and may have 100"}},
	"inspect, a lot":  {badJudgement(`"files_to_inspect":[]`, `"files_to_inspect":`+textList(777)), []string{"$.threads[0].files_to_inspect: has more than 500 entries, and may have 100"}},
	"twice":           {triageOf(goodJudgement, goodJudgement), []string{"$.threads[1].thread_id: 1:2 stands in $.threads[0] already"}},
	"checks, blank":   {badJudgement(`["go test ./..."]`, `[" "]`), []string{"$.threads[0].checks_to_run[0]: is blank"}},
	"checks, many":    {badJudgement(`["go test ./..."]`, textList(21)), []string{"$.threads[0].checks_to_run: has 21 entries, and may have 20"}},
	"checks, long":    {badJudgement(`["go test ./..."]`, `["`+strings.Repeat("a", 301)+`"]`), []string{"$.threads[0].checks_to_run[0]: is 301 characters long, and may have 300"}},

	"switch, a text": {badJudgement(`"requires_human_decision":false`, `"requires_human_decision":"false"`), []string{"$.threads[0].requires_human_decision: a text is not true or false"}},
	"human, resolvable": {badJudgement(`"requires_human_decision":false`, `"requires_human_decision":true`), []string{
		"$.threads[0].can_resolve_after_checks: is true, and must be false: requires_human_decision is true",
	}},
	"needs_human, no human": {badJudgement(`"valid"`, `"needs_human"`), []string{
		"$.threads[0].requires_human_decision: is false, and must be true: the classification is needs_human",
	}},
	"needs_human, null for a human": {badJudgement(`"valid"`, `"needs_human"`, `"requires_human_decision":false`, `"requires_human_decision":null`), []string{
		"$.threads[0].requires_human_decision: null is not true or false",
	}},
	"needs_human, human not said": {badJudgement(`"valid"`, `"needs_human"`, `,"requires_human_decision":false`, ``), []string{
		"$.threads[0].requires_human_decision: is required",
	}},
}

var badSettlements = map[string]struct {
	payload string
	want    []string
}{
	"no items":           {"{}", []string{"$.items: is required"}},
	"no item":            {settleOf(), []string{"$.items: is empty, and needs an entry"}},
	"too many":           {settleOf(slices.Repeat([]string{goodItem}, 600)...), []string{"$.items: has more than 500 entries, and may have 500"}},
	"pull, zero":         {edited(settleOf(goodItem), `{"items"`, `{"pr":0,"items"`), []string{"$.pr: 0 is not a whole number from 1 to 9007199254740991"}},
	"pull, a fraction":   {edited(settleOf(goodItem), `{"items"`, `{"pr":1.5,"items"`), []string{"$.pr: 1.5 is not a whole number from 1 to 9007199254740991"}},
	"pull, a text":       {edited(settleOf(goodItem), `{"items"`, `{"pr":"7","items"`), []string{"$.pr: a text is not a whole number from 1 to 9007199254740991"}},
	"pull, huge":         {edited(settleOf(goodItem), `{"items"`, `{"pr":9223372036854775808,"items"`), []string{"$.pr: 9223372036854775808 is not a whole number from 1 to 9007199254740991"}},
	"pull, null":         {edited(settleOf(goodItem), `{"items"`, `{"pr":null,"items"`), []string{"$.pr: null is not a whole number from 1 to 9007199254740991"}},
	"unknown key":        {badItem(`"verification"`, `"confidence":1,"verification"`), []string{"$.items[0].confidence: no such property — the properties are " + itemKeys}},
	"empty item":         {settleOf("{}"), []string{"$.items[0].checks_run: is required", "$.items[0].classification: is required", "$.items[0].resolve_requested: is required", "$.items[0].thread_id: is required", "$.items[0].verification: is required"}},
	"id, too large":      {badItem(`"1:2"`, `"9999999999999999999:2"`), []string{"$.items[0].thread_id: 9999999999999999999:2 is no id: its numbers are too large"}},
	"class":              {badItem(`"valid"`, `"fixed"`), []string{`$.items[0].classification: "fixed" is not ` + wantClass}},
	"verification, many": {badItem(`["seen"]`, textList(21)), []string{"$.items[0].verification: has 21 entries, and may have 20"}},
	"verification, none": {badItem(`["seen"]`, `null`), []string{"$.items[0].verification: null is not a list"}},
	"verification, text": {badItem(`["seen"]`, `["a",""," "]`), []string{"$.items[0].verification[1]: is empty", "$.items[0].verification[2]: is blank"}},
	"verification, same": {badItem(`["seen"]`, `["seen","seen"]`), []string{"$.items[0].verification[1]: is the same as entry [0]"}},
	"checks, long":       {badItem(`["go test ./..."]`, `["`+strings.Repeat("x", 301)+`"]`), []string{"$.items[0].checks_run[0]: is 301 characters long, and may have 300"}},
	"resolve, a number":  {badItem(`"resolve_requested":true`, `"resolve_requested":1`), []string{"$.items[0].resolve_requested: a number is not true or false"}},
	"summary, empty":     {badItem(`"verification"`, `"fix_summary":"","verification"`), []string{"$.items[0].fix_summary: is empty"}},
	"summary, null":      {badItem(`"verification"`, `"fix_summary":null,"verification"`), []string{"$.items[0].fix_summary: null is not a text"}},
	"summary, long":      {badItem(`"verification"`, `"fix_summary":"`+strings.Repeat("x", 2001)+`","verification"`), []string{"$.items[0].fix_summary: is 2,001 characters long, and may have 2,000"}},
	"commit, short":      {badItem(`"verification"`, `"commit_sha":"abc123","verification"`), []string{`$.items[0].commit_sha: "abc123" is not a commit, 7 to 40 hexadecimal digits`}},
	"commit, a branch":   {badItem(`"verification"`, `"commit_sha":"refs/heads/x","verification"`), []string{`$.items[0].commit_sha: "refs/heads/x" is not a commit, 7 to 40 hexadecimal digits`}},
	"commit, long":       {badItem(`"verification"`, `"commit_sha":"`+strings.Repeat("a", 41)+`","verification"`), []string{`$.items[0].commit_sha: "` + strings.Repeat("a", 41) + `" is not a commit, 7 to 40 hexadecimal digits`}},
	"reply, long":        {badItem(`"verification"`, `"reply_body":"`+strings.Repeat("x", 4001)+`","verification"`), []string{"$.items[0].reply_body: is 4,001 characters long, and may have 4,000"}},
	"decision, blank":    {badItem(`"verification"`, `"human_decision":" ","verification"`), []string{"$.items[0].human_decision: is blank"}},
	"decision, long":     {badItem(`"verification"`, `"human_decision":"`+strings.Repeat("x", 2001)+`","verification"`), []string{"$.items[0].human_decision: is 2,001 characters long, and may have 2,000"}},
	"pull, twice":        {edited(settleOf(goodItem), `{"items"`, `{"pr":7,"pr":8,"items"`), []string{"$.pr: is twice in its object"}},
}

func problemLines(problems []Problem) (texts []string) {
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	return texts
}

func TestParseTriageRefuses(t *testing.T) {
	for name, test := range badTriages {
		t.Run(name, func(t *testing.T) {
			got, problems := ParseTriage([]byte(test.payload))
			if diff := cmp.Diff(test.want, problemLines(problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Threads != nil {
				t.Errorf("not zero: %v", got)
			}
		})
	}
}

func TestParseSettlementRefuses(t *testing.T) {
	for name, test := range badSettlements {
		t.Run(name, func(t *testing.T) {
			got, problems := ParseSettlement([]byte(test.payload))
			if diff := cmp.Diff(test.want, problemLines(problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !reflect.ValueOf(got).IsZero() {
				t.Errorf("not zero: %v", got)
			}
		})
	}
}

// judged are n conversations, and a judgement of each.
func judged(n int) (threads []Thread, t Triage) {
	for k := range n {
		thread := leastThread
		thread.ID = ID{int64(k + 1), int64(k + 1000)}
		j := fullJudgement
		j.ThreadID, j.Classification = thread.ID, Classifications[k%len(Classifications)]
		threads, t.Threads = append(threads, thread), append(t.Threads, j)
	}
	t.Scan = Scan{strings.Repeat("0", 40), n, true}
	return threads, t
}

func marshal(t testing.TB, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseTriage(t *testing.T) {
	threads, want := judged(60)
	want.Threads[3].Reason = strings.Repeat("ä", 2000)
	want.Threads[4].Confidence, want.Threads[5].Confidence = 0, 1
	want.Threads[6].ReplyBody = "<b> & \u2028 \U0001f642"
	want.Threads[7].FilesToInspect = []string{}
	got, problems := ParseTriage(append([]byte("\ufeff \n"), marshal(t, want)...))
	if problems != nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if problems := got.Check(got.Scan, threads, threads); problems != nil {
		t.Error(problems)
	}
}

func TestParseSettlement(t *testing.T) {
	threads, judged := judged(60)
	want := Settlement{PR: 9007199254740991}
	for k, j := range judged.Threads {
		item := fullItem
		item.ThreadID, item.Classification = j.ThreadID, j.Classification
		if k%2 == 0 {
			item = Item{ThreadID: j.ThreadID, Classification: j.Classification, Verification: []string{}, ChecksRun: []string{}}
		}
		want.Items = append(want.Items, item)
	}
	got, problems := ParseSettlement(marshal(t, want))
	if problems != nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if problems := got.Check(want.PR, threads, &judged); problems != nil {
		t.Error(problems)
	}
	for written, pr := range map[string]int64{"7": 7, "7.0": 7, "7e1": 70} {
		got, problems := ParseSettlement([]byte(edited(settleOf(goodItem), `{"items"`, `{"pr":`+written+`,"items"`)))
		if got.PR != pr || problems != nil {
			t.Errorf("%s: %d, %v", written, got.PR, problems)
		}
	}
}

func TestParseMany(t *testing.T) {
	_, problems := ParseTriage([]byte(triageOf(slices.Repeat([]string{"{}"}, 20)...)))
	if len(problems) != 100 {
		t.Fatalf("%d problems", len(problems))
	}
	if got, want := problems[99].String(), "$: has 121 more problems"; got != want {
		t.Errorf("the last one is %q, want %q", got, want)
	}
	if got, want := problems[98].String(), "$.threads[8].thread_id: is required"; got != want {
		t.Errorf("the one before is %q, want %q", got, want)
	}
	// 99 and one more that is the hundredth, and needs no counting.
	_, problems = ParseTriage([]byte(triageOf(append(slices.Repeat([]string{"{}"}, 9), edited(goodJudgement, "0.5", "7"))...)))
	if len(problems) != 100 || problems[99].String() != "$.threads[9].confidence: 7 is not a number from 0 to 1" {
		t.Errorf("%d problems, the last one is %v", len(problems), problems[len(problems)-1])
	}
}

// What no schema lets pass isn't kept, so that it isn't held against one either.
func TestLongListsAreCut(t *testing.T) {
	root, found, ok := read([]byte(textList(5000)))
	if texts, _ := root.([]any); len(texts) != maxEntries+1 || found != nil || !ok {
		t.Errorf("%d entries are kept, %v, %v", len(texts), found, ok)
	}
}

// What somebody else made up must not take long, whatever it is.
func TestParseIsQuick(t *testing.T) {
	for name, payload := range map[string]string{
		"numbers":    triageOf(slices.Repeat([]string{edited(goodJudgement, "0.5", "1e-999999")}, 500)...),
		"long":       triageOf(edited(goodJudgement, "0.5", "0."+strings.Repeat("1", 3<<20))),
		"empty":      `{"threads":[` + strings.Repeat("{},", 190_000) + `{}]}`,
		"keys twice": `{"threads":[],"x":{` + strings.Repeat(`"a":1,`, 190_000) + `"a":1}}`,
		"wrong":      triageOf(slices.Repeat([]string{edited(goodJudgement, `["a.go"]`, "[0"+strings.Repeat(",0", 350)+"]")}, 500)...),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			ParseTriage([]byte(payload))
			if took := time.Since(start); took > 20*time.Second { // a busy machine with the race detector takes 3
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestTriageCheck(t *testing.T) {
	threads, whole := judged(16)
	all := append(slices.Clone(threads), Thread{ID: ID{90, 90}, Resolved: true, Outdated: true}, Thread{ID: ID{91, 91}, Outdated: true}, Thread{ID: ID{92, 92}})
	for name, test := range map[string]struct {
		change func(t *Triage)
		want   []string
	}{
		"as it should be": {func(*Triage) {}, nil},
		"twice": {func(t *Triage) { t.Threads = append(t.Threads, t.Threads[2]) }, []string{
			"$.threads[16].thread_id: 3:1002 stands in $.threads[2] already",
		}},
		"twice instead of another": {func(t *Triage) { t.Threads[1].ThreadID = ID{1, 1000} }, []string{
			"$.threads: leaves out selected conversations: 2:1001", "$.threads[1].thread_id: 1:1000 stands in $.threads[0] already",
		}},
		"not selected": {func(t *Triage) { t.Threads = append(t.Threads, fullJudgement, fullJudgement) }, []string{
			"$.threads[16].thread_id: 1:2 is no conversation of the pull request", "$.threads[17].thread_id: 1:2 stands in $.threads[16] already",
		}},
		"resolved, outdated, filtered out": {func(t *Triage) {
			for _, id := range []ID{{90, 90}, {91, 91}, {92, 92}} {
				j := fullJudgement
				j.ThreadID = id
				t.Threads = append(t.Threads, j)
			}
		}, []string{
			"$.threads[16].thread_id: 90:90 is not among the selected conversations: it is resolved (--all selects it)",
			"$.threads[17].thread_id: 91:91 is not among the selected conversations: its line no longer stands at the head (--include-outdated selects it)",
			"$.threads[18].thread_id: 92:92 is not among the selected conversations",
		}},
		"of an older head": {func(t *Triage) { t.Scan.Head = strings.Repeat("7", 40) }, []string{
			"$.scan.head: is 7777777, and the pull request's head is 0000000",
		}},
		"of an incomplete list": {func(t *Triage) { t.Scan.Complete = false }, []string{
			"$.scan.complete: is false, and a triage of a part settles nothing: list all conversations first",
		}},
		"of a longer list": {
			func(t *Triage) { t.Scan.Count++ }, []string{"$.scan.count: is 17, and 16 conversations are selected"},
		},
		"ten left out": {func(t *Triage) { t.Threads = t.Threads[:6] }, []string{
			"$.threads: leaves out selected conversations: 7:1006, 8:1007, 9:1008, 10:1009, 11:1010, 12:1011, 13:1012, 14:1013, 15:1014, 16:1015",
		}},
		"all left out": {func(t *Triage) { t.Threads = nil }, []string{
			"$.threads: leaves out selected conversations: 1:1000, 2:1001, 3:1002, 4:1003, 5:1004, 6:1005, 7:1006, 8:1007, 9:1008, 10:1009 and 6 more",
		}},
		"human, resolvable": {func(t *Triage) { t.Threads[3].CanResolveAfterChecks = true }, []string{
			"$.threads[3].can_resolve_after_checks: is true, and must be false: requires_human_decision is true",
		}},
		"needs_human, no human": {func(t *Triage) { t.Threads[4].RequiresHumanDecision = false }, []string{
			"$.threads[4].requires_human_decision: is false, and must be true: the classification is needs_human",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			triage := Triage{whole.Scan, slices.Clone(whole.Threads)}
			test.change(&triage)
			if diff := cmp.Diff(test.want, problemLines(triage.Check(whole.Scan, threads, all))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := problemLines(Triage{Scan: Scan{Complete: true}}.Check(Scan{Complete: true}, append(threads[:1:1], threads[0]), threads)); !slices.Equal(got, []string{"$.threads: leaves out selected conversations: 1:1000"}) {
		t.Errorf("selected twice: %q", got)
	}
}

func TestSettlementCheck(t *testing.T) {
	threads, judged := judged(5) // of each classification one
	threads[1].Resolved = true
	has := func(i int, c Classification) Item { return Item{ThreadID: threads[i].ID, Classification: c} }
	decided := has(4, Valid)
	decided.HumanDecision = "alice: fix it"
	blank := has(4, Valid)
	blank.HumanDecision = " "
	few := Triage{Scan{judged.Scan.Head, 1, true}, judged.Threads[:1]}
	for name, test := range map[string]struct {
		pr     int64
		items  []Item
		triage *Triage
		want   []string
	}{
		"some":              {7, []Item{has(0, Valid), has(1, Invalid)}, &judged, nil},
		"no pull":           {0, []Item{has(0, Valid)}, &judged, nil},
		"no triage":         {7, []Item{has(0, Stale), has(4, Valid)}, nil, nil},
		"decided otherwise": {7, []Item{decided}, &judged, nil},
		"another pull":      {8, []Item{has(0, Valid)}, &judged, []string{"$.pr: is 8, and the pull request is 7"}},
		"twice":             {7, []Item{has(0, Valid), has(1, Invalid), has(0, Stale)}, &judged, []string{"$.items[2].thread_id: 1:1000 stands in $.items[0] already"}},
		"unknown":           {7, []Item{has(0, Valid), fullItem}, &judged, []string{"$.items[1].thread_id: 1:2 is no conversation of the pull request"}},
		"unknown, no triage": {7, []Item{fullItem}, nil, []string{
			"$.items[0].thread_id: 1:2 is no conversation of the pull request",
		}},
		"not judged": {7, []Item{has(0, Valid), has(1, Invalid)}, &few, []string{"$.items[1].thread_id: 2:1001 has no judgement in the triage"}},
		"nothing judged": {
			7, []Item{has(0, Valid)}, &Triage{Scan: Scan{Complete: true}},
			[]string{"$.items[0].thread_id: 1:1000 has no judgement in the triage"},
		},
		"judged a person's": {7, []Item{has(4, Valid)}, &judged, []string{
			"$.items[0].classification: is valid, and the triage says needs_human: a person who decided otherwise says so in human_decision",
		}},
		"of an incomplete list": {7, []Item{has(0, Valid)}, &Triage{Scan{judged.Scan.Head, 5, false}, judged.Threads},
			[]string{
				"$.triage.scan.complete: is false, and a triage of a part settles nothing: list all conversations first",
			}},
		"of a longer list": {7, []Item{has(0, Valid)}, &Triage{Scan{judged.Scan.Head, 6, true}, judged.Threads}, []string{
			"$.triage.scan.count: is 6, and there are 5 judgements",
		}},
		"decided blankly": {7, []Item{blank}, &judged, []string{
			"$.items[0].classification: is valid, and the triage says needs_human: a person who decided otherwise says so in human_decision",
		}},
		"judged otherwise": {9, []Item{has(0, Valid), has(2, AlreadyFixed)}, &judged, []string{
			"$.items[1].classification: is already_fixed, and the triage says stale: a person who decided otherwise says so in human_decision",
			"$.pr: is 9, and the pull request is 7",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, problemLines(Settlement{test.pr, test.items}.Check(7, threads, test.triage))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestChecksAreBounded(t *testing.T) {
	threads, judged := judged(150)
	var items []Item
	for _, thread := range threads {
		items = append(items, Item{ThreadID: thread.ID, Classification: Classification(strings.Repeat("x", 1000))})
	}
	problems := Settlement{Items: items}.Check(7, threads, &judged)
	if len(problems) != 100 || problems[99].String() != "$: has 51 more problems" {
		t.Errorf("%d problems, the last one is %v", len(problems), problems[len(problems)-1])
	}
	if n := strings.Count(problems[0].Reason, "x"); n != maxShown {
		t.Errorf("shows %d characters of a classification", n)
	}
}

func FuzzParse(f *testing.F) {
	for _, test := range badTriages {
		if len(test.payload) < 10_000 {
			f.Add([]byte(test.payload))
		}
	}
	for _, test := range badSettlements {
		if len(test.payload) < 10_000 {
			f.Add([]byte(test.payload))
		}
	}
	f.Add([]byte(triageOf(goodJudgement)))
	f.Add([]byte(edited(settleOf(goodItem), `{"items"`, `{"pr":7.0,"items"`)))
	f.Add(marshal(f, Triage{Scan{strings.Repeat("0", 40), 1, true}, []Judgement{fullJudgement}}))
	f.Add(marshal(f, Settlement{3, []Item{fullItem}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		again(t, data, ParseTriage)
		again(t, data, ParseSettlement)
	})
}

// again checks what holds for every payload: what is accepted means the same when
// it is written and read again, and what isn't has its problems in order, at places.
func again[T any](t *testing.T, data []byte, parse func([]byte) (T, []Problem)) {
	t.Helper()
	value, problems := parse(data)
	seen := map[Problem]bool{}
	for _, p := range problems {
		if !strings.HasPrefix(p.Path, "$") || p.Reason == "" || seen[p] {
			t.Errorf("problem %q of %q", p, problems)
		}
		seen[p] = true
	}
	if len(problems) > 0 {
		if !reflect.ValueOf(value).IsZero() {
			t.Errorf("%v, and yet %v", problems, value)
		}
		return
	}
	copied, problems := parse(marshal(t, value))
	if problems != nil {
		t.Fatalf("written again, it has %v", problems)
	}
	if diff := cmp.Diff(value, copied); diff != "" {
		t.Errorf("written and read again (-before +after):\n%s", diff)
	}
}
