package untrusted

import (
	"regexp"
	"slices"
	"strings"
)

const keyLabel = `(?:(?:RSA |DSA |EC |OPENSSH |ENCRYPTED |ANY )?PRIVATE KEY|PGP PRIVATE KEY BLOCK)`

var (
	keyBegin = regexp.MustCompile(`-----BEGIN ` + keyLabel + `-----`)
	keyEnd   = regexp.MustCompile(`-----END ` + keyLabel + `-----`)

	// keyMargin is what a diff, a quoted reply or a source file puts before a
	// line of a key: line-number columns, a diff sign, "> ", quotes.
	keyMargin = regexp.MustCompile("^[ \t>|]*(?:[0-9]+[ \t|:]+){0,2}[-+ ]?[ \t]*[\"'`]?")

	// keyTail is what a source file puts after it: an escaped newline, a quote,
	// a plus, a comma.
	keyTail = regexp.MustCompile("^(?:\\\\r)?(?:\\\\n)?[\"'`]?[ \t]*[+.,;\\\\)]*[ \t\r]*$")

	keyPayload = regexp.MustCompile(`^(?:[A-Za-z0-9+/]{2,}={0,2}|=[A-Za-z0-9+/]{4})`)

	// keyHeader is what may come between BEGIN and the key. It is never masked:
	// a label and a statement look like one.
	keyHeader = regexp.MustCompile(`^(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID): `)

	// keyInline is a whole key on one line, newlines written as \n.
	keyInline = regexp.MustCompile(`^(?:\\r|\\n|\s)*` +
		`(?:Proc-Type: 4,ENCRYPTED(?:\\r)?\\nDEK-Info: [A-Z0-9-]+,[0-9A-Fa-f]+(?:\\r|\\n)+)?` +
		`((?:[A-Za-z0-9+/]+(?:\\r|\\n)*)+={0,2}(?:\\r|\\n)*)$`)

	// keyStart is the beginning of a key after its BEGIN on the same line.
	keyStart = regexp.MustCompile(`^(?:\\r|\\n| )*([A-Za-z0-9+/]{40,}={0,2}(?:(?:\\r|\\n)+[A-Za-z0-9+/]{2,}={0,2})*)`)
)

const (
	minKey   = 32 // characters of base64 that the smallest key has
	minSigns = 10 // different characters of a key
)

// keyWidths are the lengths of line that programs write, of base64 whose BEGIN or END is missing.
var keyWidths = []int{64, 70, 76}

// maskKeys masks private keys: known BEGIN and END lines with nothing but base64
// between them, all lines of it of one length. So nothing else is hidden by
// being written between such lines: code, labels, lines of a comment stay as
// they are, and so do the lines around. Of a key that a hunk's context cuts off
// the part is masked that is there.
func maskKeys(s string) (string, int) {
	if !strings.Contains(s, "PRIVATE KEY-----") && !strings.Contains(s, "PRIVATE KEY BLOCK-----") {
		return s, 0
	}
	lines := strings.Split(s, "\n")
	count, floor := 0, 0 // lines before floor are done
	for i := 0; i < len(lines); i++ {
		begin, end := keyBegin.FindStringIndex(lines[i]), keyEnd.FindStringIndex(lines[i])
		switch {
		case begin != nil && end != nil && begin[1] <= end[0]:
			var n int
			lines[i], n = maskInline(lines[i])
			count += n
			floor = i + 1
		case begin != nil:
			rest := lines[i][begin[1]:]
			if m := keyStart.FindStringSubmatchIndex(rest); m != nil && varied(rest[m[2]:m[3]]) {
				lines[i] = lines[i][:begin[0]] + maskText(keyName) + rest[m[3]:]
				count++
				break
			}
			b := readBlock(lines, i)
			if !b.key(lines) {
				break
			}
			lines[i] = lines[i][:begin[0]] + maskText(keyName) + rest
			b.mask(lines)
			count++
			i, floor = b.last, b.last+1
		case end != nil:
			b := readTail(lines, i, floor)
			if b.key(lines) {
				b.mask(lines)
				count++
			}
			floor = i + 1
		}
	}
	return strings.Join(lines, "\n"), count
}

const keyName = "private key"

// maskInline masks the keys that begin and end on this line.
func maskInline(line string) (string, int) {
	count := 0
	var b strings.Builder
	for {
		end := keyEnd.FindStringIndex(line)
		if end == nil {
			break
		}
		before, kept := line[:end[0]], line[:end[1]]
		if all := keyBegin.FindAllStringIndex(before, -1); len(all) > 0 {
			begin := all[len(all)-1]
			if m := keyInline.FindStringSubmatch(before[begin[1]:]); m != nil && evenLines(m[1]) && varied(m[1]) {
				kept = before[:begin[0]] + maskText(keyName)
				count++
			}
		}
		b.WriteString(kept)
		line = line[end[1]:]
	}
	b.WriteString(line)
	return b.String(), count
}

// evenLines reports whether the lines of a key, its newlines written as \n, are of one length but for the last.
func evenLines(key string) bool {
	lines := strings.Fields(strings.NewReplacer(`\r`, " ", `\n`, " ").Replace(key))
	for _, line := range lines[:max(len(lines)-1, 0)] {
		if len(line) != len(lines[0]) {
			return false
		}
	}
	return len(lines) < 2 || len(lines[len(lines)-1]) <= len(lines[0])
}

// block is what a BEGIN or an END is about: the lines of base64, and the END.
type block struct {
	lines []int // in order
	end   int   // 0: there is none
	last  int   // line that is looked at
	whole bool  // BEGIN and END are there
}

// readBlock reads on from the BEGIN on lines[i].
func readBlock(lines []string, i int) block {
	b := block{last: i}
	for j := i + 1; j < len(lines); j++ {
		if keyEnd.MatchString(lines[j]) {
			if strings.TrimSpace(beforeEnd(lines[j])) == "" {
				b.end, b.last, b.whole = j, j, true
			}
			return b
		}
		switch {
		case payload(lines[j]) != "":
			b.lines = append(b.lines, j)
			b.last = j
		case strings.TrimSpace(lines[j][len(keyMargin.FindString(lines[j])):]) == "", isKeyHeader(lines[j]):
		default:
			return b
		}
	}
	return b
}

func isKeyHeader(line string) bool {
	return keyHeader.MatchString(line[len(keyMargin.FindString(line)):])
}

// readTail reads back from the END on lines[i], whose BEGIN isn't there.
func readTail(lines []string, i, floor int) block {
	b := block{end: i, last: i}
	if strings.TrimSpace(beforeEnd(lines[i])) != "" {
		return block{}
	}
	first := i
	for first > floor && payload(lines[first-1]) != "" {
		first--
	}
	for j := first; j < i; j++ {
		b.lines = append(b.lines, j)
	}
	return b
}

// beforeEnd is what an END line has before its END, less the margin.
func beforeEnd(line string) string {
	margin := keyMargin.FindString(line)
	end := keyEnd.FindStringIndex(line)
	return line[min(len(strings.TrimRight(margin, "-")), end[0]):end[0]]
}

// key reports whether the lines are those of a key: base64 of one length, of
// which only the last may be shorter, and the checksum of PGP after it.
func (b block) key(lines []string) bool {
	data := b.lines
	if n := len(data); n > 1 && strings.HasPrefix(payload(lines[data[n-1]]), "=") {
		data = data[:n-1]
	}
	if len(data) == 0 {
		return false
	}
	width := 0
	for _, j := range data {
		width = max(width, len(payload(lines[j])))
	}
	var all strings.Builder
	for n, j := range data {
		p, last := payload(lines[j]), n == len(data)-1
		if strings.HasPrefix(p, "=") || !last && (strings.Contains(p, "=") || len(p) != width && !plus(lines[j], width)) {
			return false
		}
		if b.end == 0 && len(p) < width-1 { // without an END nobody knows that it is the last
			return false
		}
		all.WriteString(p)
	}
	return (b.whole || slices.Contains(keyWidths, width)) && varied(all.String())
}

// plus reports whether a line has the width with the plus that was taken for a diff's sign.
func plus(line string, width int) bool {
	margin := keyMargin.FindString(line)
	return strings.HasSuffix(margin, "+") && len(payload(line))+1 == width
}

// varied reports whether base64 has what random bytes have.
func varied(s string) bool {
	var seen [256]bool
	signs, upper, lower, digit := 0, false, false, false
	for i := range len(s) {
		c := s[i]
		if !seen[c] {
			seen[c] = true
			signs++
		}
		upper, lower, digit = upper || c >= 'A' && c <= 'Z', lower || c >= 'a' && c <= 'z', digit || c >= '0' && c <= '9'
	}
	return len(s) >= minKey && signs >= minSigns && upper && lower && digit && !strings.Contains(s, "////")
}

func (b block) mask(lines []string) {
	for _, j := range b.lines {
		margin := keyMargin.FindString(lines[j])
		lines[j] = margin + maskText(keyName) + lines[j][len(margin)+len(payload(lines[j])):]
	}
	if b.end > 0 {
		end := keyEnd.FindStringIndex(lines[b.end])
		lines[b.end] = lines[b.end][:end[0]] + maskText(keyName) + lines[b.end][end[1]:]
	}
}

// payload returns the base64 of a line that holds nothing else.
func payload(line string) string {
	rest := line[len(keyMargin.FindString(line)):]
	p := keyPayload.FindString(rest)
	if !keyTail.MatchString(rest[len(p):]) {
		return ""
	}
	return p
}
