package finding

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"review-bot/reviewer/diff"
	"review-bot/sentinel"
)

func TestClosedReads(t *testing.T) {
	text := posted(t).Inline("security", testKey)
	closed := Closed(text, base, testKey)
	_, rest, _ := marker(text)
	want := "**Fixed** in 0011223.\n\n<details><summary>What it said</summary>\n\n" + rest + "\n\n</details>\n\n<!-- review-bot-finding:security/"
	if !strings.HasPrefix(closed, want) {
		t.Errorf("%s", closed)
	}
	m, _, ok := marker(closed)
	if !ok || !m.Closed || !Vouched(closed, testKey) || strings.Count(closed, "<!--") != 1 {
		t.Errorf("its marker, the last line, says that it is closed: %+v, %s", m, closed)
	}
}

// Opened undoes Closed, and both do nothing the second time, whatever is said.
func TestClosedAndOpenedAreInverse(t *testing.T) {
	d := parse(t, change)
	rapid.Check(t, func(t *rapid.T) {
		f := Finding{Where: Inline, ID: "1f3c9a2b", Head: head, Key: "00", Severity: "high", Category: "logic"}
		f.Title, f.Body = hostile().Draw(t, "title"), rapid.OneOf(hostile(), rapid.SampledFrom([]string{
			"```\n" + fixedOpen + "\n```", "x" + fixedEnd + fixedEnd, "**Fixed** in 0011223." + fixedOpen + "x",
		})).Draw(t, "body")
		f.Place = diff.Place{Path: d.Files[0].Path, Side: diff.New, Line: 11}
		text := f.Inline("security", testKey)
		closed := Closed(text, base, testKey)
		if closed == text || Closed(closed, head, testKey) != closed {
			t.Fatalf("closed: %q", closed)
		}
		if got := Opened(closed, testKey); got != text || Opened(text, testKey) != text {
			t.Fatalf("opened: %q, want %q", got, text)
		}
		windows := strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"
		if got := Opened(Closed(windows, base, testKey), testKey); got != text {
			t.Fatalf("opened: %q, want %q", got, text)
		}
		_, _, ok := marker(closed)
		if !ok || len(sentinel.Markers(closed)) != 1 {
			t.Fatalf("the marker isn't the last line, and the only one: %q", closed)
		}
	})
}

func TestWithoutAMarkerNothingIsClosed(t *testing.T) {
	text := posted(t).Inline("security", testKey)
	for _, text := range []string{"", "text", text + "\n\nand more", "x " + bareMarker, "<!-- review-bot:security v=1 -->"} {
		if Closed(text, head, testKey) != text || Opened(text, testKey) != text {
			t.Errorf("%q is changed", text)
		}
	}
}

// The code vouches for what the account wrote only.
func TestClosingDoesntVouchForAPersonsSeverity(t *testing.T) {
	text := posted(t).Inline("security", testKey)
	forged := strings.Replace(text, "sev=high", "sev=low", 1)
	if Opened(forged, testKey) != forged {
		t.Error("what isn't closed is changed")
	}
	closed := Closed(forged, head, testKey)
	for _, text := range []string{closed, Opened(closed, testKey), Opened(strings.Replace(Closed(text, head, testKey), "sev=high", "sev=low", 1), testKey)} {
		if m, _, ok := marker(text); !ok || m.Severity != "" || !Vouched(text, testKey) {
			t.Errorf("%+v", m)
		}
	}
	if m, _, _ := marker(Closed(text, head, testKey)); m.Severity != "high" {
		t.Errorf("%+v", m)
	}
}

func TestAMaskedCommentIsStillTheAccounts(t *testing.T) {
	f := Finding{ID: "1f3c9a2b", Title: "A key", Body: "It is hidden.", Severity: "high", Category: "security",
		Key: Key("a.go", "x", "security"), Head: strings.Repeat("a", 40), Where: Inline}
	text := f.Inline("security", testKey)
	masked := Masked(text, func(s string) string { return strings.ReplaceAll(s, "hidden", "[masked]") }, testKey)
	if !strings.Contains(masked, "[masked]") || !Vouched(masked, testKey) {
		t.Errorf("not masked, or not signed:\n%s", masked)
	}
	if same := Masked(text, func(s string) string { return s }, testKey); same != text {
		t.Errorf("nothing to mask, but the text is\n%s", same)
	}
}
