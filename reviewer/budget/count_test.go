package budget

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"
)

// repositoryText is this module's own code and documents, at least of a size.
var repositoryText = sync.OnceValue(func() string {
	var b strings.Builder
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // others may be writing
		}
		if ext := filepath.Ext(path); entry.Type().IsRegular() && (ext == ".go" || ext == ".md" || ext == ".yml") {
			if data, err := os.ReadFile(path); err == nil {
				b.Write(data)
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return b.String()
})

// reference is what the library says of a text as a whole.
func reference(t interface{ Fatal(...any) }, v vocabulary, text string) int {
	n, err := codecs[v]().Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNewCounter(t *testing.T) {
	for name, want := range map[string]Counter{
		"gpt-5": {o200k, true}, "gpt-5-mini": {o200k, true}, "gpt-4o-2024-08-06": {o200k, true}, "gpt-4.1-nano": {o200k, true}, "o3": {o200k, true},
		"o4-mini": {o200k, true}, "chatgpt-4o-latest": {o200k, true}, "gpt-oss-120b": {o200k, true}, "openai/gpt-5": {o200k, true}, "GPT-4o": {o200k, true},
		"ft:gpt-4o-mini:acme::x": {o200k, true}, "ft:gpt-4:acme": {cl100k, true}, "gpt-4": {cl100k, true}, "gpt-4-turbo": {cl100k, true}, "gpt-3.5-turbo-0125": {cl100k, true},
		"gpt-35-turbo": {cl100k, true},
		"gpt-6":        {}, "gpt-5.9": {}, "gpt-50": {}, "o2": {}, "claude-sonnet-4": {}, "anthropic/claude-x": {}, "llama3.1:70b": {}, "scripted-1": {}, "": {}, "/": {}, "o3mini": {},
	} {
		if got := NewCounter(name); got != want || got.Exact() != want.exact {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// The families are as the library has them, for the names that it has.
func TestFamiliesAsLibrary(t *testing.T) {
	for _, model := range []tokenizer.Model{
		tokenizer.O1, tokenizer.O1Preview, tokenizer.O1Mini, tokenizer.O3, tokenizer.O3Mini, tokenizer.O4Mini, tokenizer.GPT5, tokenizer.GPT5Mini,
		tokenizer.GPT5Nano, tokenizer.GPT41, tokenizer.GPT4o, tokenizer.GPT4, tokenizer.GPT35, tokenizer.GPT35Turbo,
	} {
		want, err := tokenizer.ForModel(model)
		if err != nil {
			t.Fatal(err)
		}
		c := NewCounter(string(model))
		if got := codecs[c.vocabulary](); got.GetName() != want.GetName() || !c.Exact() {
			t.Errorf("%s: %s, want %s", model, got.GetName(), want.GetName())
		}
	}
}

// From OpenAI's own examples (openai-cookbook, How to count tokens with tiktoken).
func TestCountKnown(t *testing.T) {
	for _, c := range []struct {
		model, text string
		want        int
	}{
		{"gpt-4", "antidisestablishmentarianism", 6}, {"gpt-5", "antidisestablishmentarianism", 6},
		{"gpt-4", "2 + 2 = 4", 7}, {"gpt-5", "2 + 2 = 4", 7},
		{"gpt-4", "お誕生日おめでとう", 9}, {"gpt-5", "お誕生日おめでとう", 8},
		{"gpt-5", "", 0}, {"claude", "2 + 2 = 4", 7}, {"gpt-5", "<|endoftext|>", 7},
	} {
		if got := NewCounter(c.model).Count(c.text); got != c.want {
			t.Errorf("%s: %q: %d tokens, want %d", c.model, c.text, got, c.want)
		}
	}
	if got := (Counter{}).Count("2 + 2 = 4"); got != 7 {
		t.Errorf("zero counter: %d", got)
	}
}

// Chunks make no difference to real text.
func TestCountChunks(t *testing.T) {
	text := repositoryText()[:maxExact]
	for v := range codecs {
		if got, want := (Counter{vocabulary: vocabulary(v)}).Count(text), reference(t, vocabulary(v), text); got != want {
			t.Errorf("vocabulary %d: %d tokens, want %d", v, got, want)
		}
	}
}

// Nor to any other, if it has line ends where the text may be cut.
func TestCutProperty(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		bit := rapid.SampledFrom([]string{"a", "Abc", "9", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "/", "//", "}", "});", "'s", "\u00a0", "\u2028", "ä", "中", "e\u0301", "\xff", "🙂", "\n/", " \n"})
		return strings.Join(rapid.SliceOfN(bit, 0, 60).Draw(t, "bits"), "")
	})
	cuts := 0
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		size := rapid.IntRange(0, 10).Draw(t, "size")
		for v := range codecs {
			total := 0
			for rest := s; rest != ""; {
				n := cut(rest, size)
				if n < 1 || n > len(rest) {
					t.Fatalf("%q is cut at %d", rest, n)
				}
				total += reference(t, vocabulary(v), rest[:n])
				rest = rest[n:]
				if rest != "" {
					cuts++
				}
			}
			if want := reference(t, vocabulary(v), s); total != want {
				t.Fatalf("vocabulary %d: %q by pieces of %d: %d tokens, want %d", v, s, size, total, want)
			}
		}
	})
	if cuts == 0 {
		t.Error("nothing was cut")
	}
}

func TestCutLongLines(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("a", 100_000):       maxChunk,
		strings.Repeat("中", 30_000):        maxChunk + 2, // a rune begins there
		strings.Repeat(" ", 1000):          maxSpace,
		strings.Repeat("\n ", 1000):        maxSpace,
		"x" + strings.Repeat("\t", 1000):   1 + maxSpace,
		strings.Repeat("\u2028", 1000):     maxSpace + 2,
		strings.Repeat("a\n", 20_000):      chunk,
		strings.Repeat("a\n/", 30_000):     maxChunk,
		strings.Repeat("ab\n  c\n", 9_000): chunk + 3,
	} {
		if got := cut(text, chunk); got != want {
			t.Errorf("%.9q…: cut at %d, want %d", text, got, want)
		}
	}
}

// noise is data without sense, the same each time.
func noise(n int, alphabet string) string {
	b := make([]byte, n)
	state := uint32(1)
	for i := range b {
		state = state*1664525 + 1013904223
		b[i] = alphabet[int(state>>8)%len(alphabet)]
	}
	return string(b)
}

const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// The estimate's error, on real text and on mixtures of it with data. By its name it isn't
// run under the race detector, where it takes a minute.
func TestSpeedEstimate(t *testing.T) {
	code := repositoryText()
	if len(code) < maxExact/2 {
		t.Fatalf("only %d bytes of text", len(code))
	}
	for len(code) <= maxExact {
		code += code
	}
	half := code[:maxExact/2]
	wrapped := func(n int) string {
		var b strings.Builder
		for line := noise(n, base64); line != ""; line = line[min(76, len(line)):] {
			b.WriteString(line[:min(76, len(line))] + "\n")
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text string
		over float64 // how much too much is allowed
	}{
		"code":                  {code[:maxExact+1], 0.08},
		"code, then data":       {half + wrapped(maxExact/2), 0.2},
		"alternating":           {strings.Repeat(code[:20_000]+wrapped(20_000), 27), 0.2},
		"a little data in code": {half + wrapped(20_000) + half, 0.1},
		"data in blanks":        {strings.Repeat(strings.Repeat(" ", 90_000)+wrapped(9_000), 11), 1.5},
		"lines among blanks":    {strings.Repeat(strings.Repeat(" ", 99_000)+wrapped(2_000), 11), 3},
		"blanks, then code":     {strings.Repeat(" ", maxExact/2) + half + "x", 0.5},
		"one line of data":      {noise(maxExact+1, base64), 0.04},
		"chinese":               {strings.Repeat("中文字词，", maxExact/15+1), 0.04},
	} {
		got, want := NewCounter("gpt-5").Count(c.text), Counter{}.whole(c.text)
		err := float64(got)/float64(want) - 1
		t.Logf("%-22s %.1f MB, %d tokens, estimated %d: %+.1f %%", name, float64(len(c.text))/1e6, want, got, 100*err)
		if err <= 0 || err > c.over {
			t.Errorf("%s: estimated %d tokens, counted %d: %+.1f %%", name, got, want, 100*err)
		}
	}
}

// within fails if work takes longer than it may. The bounds are for a busy machine.
func within(t *testing.T, bound time.Duration, what string, work func()) {
	t.Helper()
	start := time.Now()
	work()
	took := time.Since(start)
	t.Logf("%-12s %v", what, took.Round(time.Millisecond))
	if took > bound {
		t.Errorf("%s took %v, bound %v", what, took, bound)
	}
}

// Texts made to be slow, of a quarter of a megabyte; and one of 20 MB, which is estimated.
func TestSpeedCount(t *testing.T) {
	c := NewCounter("gpt-5")
	within(t, 5*time.Second, "the first", func() { c.Count("x") })
	for name, unit := range map[string]string{
		"a": "a", "A": "A", "blanks": " ", "tabs": "\t", "lines": "\n", "blank lines": "\n ", "blank CRs": "\r ", "indents": "\n\t ", "nbsp": "\u00a0\n",
		"brackets": "{", "slashes": "/", "slash lines": "/\n", "marks": "\u0301", "title": "ǅ", "modifiers": "aʰ", "invalid": "\xff", "NUL": "\x00", "quotes": "'s", "emoji": "👩\u200d",
		"letters": noise(1<<16, "abcdefghijklmnopqrstuvwxyz"), "data": noise(1<<16, base64), "symbols": noise(1<<16, "{}[]()<>/+-*!?#$%&="), "space": noise(1<<16, " \t\n\r"),
		"almost": strings.Repeat("\n ", 127) + "x", "words": "x" + strings.Repeat(" ", 200),
	} {
		text := strings.Repeat(unit, maxExact/4/len(unit))
		if name == "data" {
			text = strings.Repeat(text, 80)
		}
		var n int
		within(t, 10*time.Second, name, func() { n = c.Count(text) })
		if n < 1 || n > len(text) {
			t.Errorf("%s: %d tokens of %d bytes", name, n, len(text))
		}
	}
}

// A counter may be used by several goroutines.
func TestCountAtOnce(t *testing.T) {
	text := repositoryText()[:50_000]
	want := Counter{}.Count(text)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got := (Counter{}).Count(text); got != want {
				t.Errorf("%d tokens, want %d", got, want)
			}
		})
	}
	group.Wait()
}
