package untrusted

import (
	"bytes"
	"encoding/base64"
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

	encrypted = regexp.MustCompile(`(?:^|\\n)Proc-Type: 4,ENCRYPTED`)

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
	minLine  = 16 // what is shorter may be a word, and is too little of a key to be of use
)

// keyWidths are the lengths of line that programs write, of base64 whose BEGIN or END is missing.
var keyWidths = []int{64, 70, 76}

// maskKeys masks private keys: known BEGIN and END lines with nothing but base64
// between them that decodes to a key, all lines of it of one length. So nothing
// else is hidden by being written between such lines: code, labels, lines of a
// comment stay as they are, and so do the lines around. Nor is a line that an
// interpreter may run, though a key may be made that has it, see [secretLine].
// Of a key that a hunk's context cuts off the part is masked that is there.
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
			if m := keyStart.FindStringSubmatchIndex(rest); m != nil && inlineKey(rest[:m[3]], rest[m[2]:m[3]], false) {
				lines[i] = lines[i][:begin[0]] + maskText(keyName) + rest[m[3]:]
				count++
				break
			}
			b := readBlock(lines, i)
			if !b.key(lines) || !b.mask(lines) {
				if b.end > 0 { // nor is it one whose BEGIN isn't there
					i, floor = b.last, b.last+1
				}
				break
			}
			lines[i] = lines[i][:begin[0]] + maskText(keyName) + rest
			count++
			i, floor = b.last, b.last+1
		case end != nil:
			b := readTail(lines, i, floor)
			if b.key(lines) && b.mask(lines) {
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
			inner := before[begin[1]:]
			if m := keyInline.FindStringSubmatch(inner); m != nil && inlineKey(inner, m[1], true) {
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

// inlineKey reports whether base64, its newlines written as \n, is a key or, if it needn't be whole, the first part
// of one: it is in lines of one length but for the last, and nothing in it is legible. text has its headers, too.
func inlineKey(text, key string, whole bool) bool {
	lines := strings.Fields(strings.NewReplacer(`\r`, " ", `\n`, " ").Replace(key))
	for n, line := range lines {
		last := n == len(lines)-1
		if len(line) > len(lines[0]) || !last && len(line) < len(lines[0]) || len(line) >= minLine && !secretLine(line) {
			return false
		}
	}
	all := strings.Join(lines, "")
	return varied(all) && decodes(all, encrypted.MatchString(text), whole)
}

// block is what a BEGIN or an END is about: the lines of base64, and the END.
type block struct {
	lines []int // in order
	end   int   // 0: there is none
	last  int   // line that is looked at
	begun bool  // BEGIN is there
	// encrypted: the key is encrypted in whole, says a header.
	encrypted bool
}

// readBlock reads on from the BEGIN on lines[i].
func readBlock(lines []string, i int) block {
	b := block{last: i, begun: true}
	for j := i + 1; j < len(lines); j++ {
		if keyEnd.MatchString(lines[j]) {
			if strings.TrimSpace(beforeEnd(lines[j])) == "" {
				b.end, b.last = j, j
			}
			return b
		}
		switch {
		case payload(lines[j]) != "":
			b.lines = append(b.lines, j)
			b.last = j
		case unmargined(lines[j]) == "":
		case keyHeader.MatchString(unmargined(lines[j])):
			b.encrypted = b.encrypted || encrypted.MatchString(unmargined(lines[j]))
		default:
			return b
		}
	}
	return b
}

// unmargined is what a line has after its margin.
func unmargined(line string) string {
	return strings.TrimSpace(line[len(keyMargin.FindString(line)):])
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
// which only the last may be shorter, and the checksum of PGP after it. What
// has its beginning must decode to a key's; of what hasn't, the length of its
// lines must be one that programs write.
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
	if slices.Contains(keyWidths, width+1) && plus(lines[data[0]], width+1) {
		width++ // all lines but the last one begin with a plus
	}
	var all strings.Builder
	for n, j := range data {
		p, last := payload(lines[j]), n == len(data)-1
		if plus(lines[j], width) {
			p = "+" + p
		}
		if strings.HasPrefix(p, "=") || !last && (strings.Contains(p, "=") || len(p) != width) {
			return false
		}
		if b.end == 0 && len(p) < width { // without an END nobody knows that it is the last
			return false
		}
		all.WriteString(p)
	}
	text := all.String()
	if n := len(text); n%4 == 3 && strings.HasSuffix(keyMargin.FindString(lines[data[len(data)-1]]), "+") {
		p := payload(lines[data[len(data)-1]]) // the last line has a plus that was taken for a sign as well
		text = text[:n-len(p)] + "+" + p
	}
	if !varied(text) {
		return false
	}
	whole := b.begun && b.end > 0
	part := slices.Contains(keyWidths, width) && (!b.begun || decodes(text, b.encrypted, false)) // a line of it may be gone
	return part || whole && decodes(text, b.encrypted, whole)
}

// decodes reports whether base64 is that of a private key, or the first part of one: DER, as of OpenSSL, the forms of
// OpenSSH and of OpenPGP, or whole blocks of a cipher if it is encrypted from its first byte on.
func decodes(text string, encrypted, whole bool) bool {
	text = strings.TrimRight(text, "=")
	if !whole {
		text = text[:len(text)/4*4]
	}
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(data) < 8 {
		return false
	}
	if encrypted {
		return !whole || len(data)%8 == 0
	}
	const oldTag, newTag = 0x94, 0xc5 // a secret key's; two bits of the old one are the length's
	if bytes.HasPrefix(data, []byte("openssh-key-v1\x00")) || data[0]&^3 == oldTag || data[0] == newTag {
		return true
	}
	n, header := int(data[1]), 2
	if long := n - 0x80; long > 0 && long <= 3 {
		for n = 0; header < 2+long; header++ {
			n = n<<8 | int(data[header])
		}
	}
	rest := data[header:]
	const integer, sequence = 0x02, 0x30 // it begins with its version, or with the cipher
	return data[0] == sequence && (rest[0] == integer || rest[0] == sequence) &&
		(n == len(rest) || !whole && n > len(rest))
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
	return len(s) >= minKey && signs >= minSigns && upper && lower && digit
}

// secretLine reports whether a line of base64 can be nothing but data. Keys may be made that have lines which a shell
// runs, or which call a function; those are legible, or short.
func secretLine(s string) bool {
	return len(s) >= minLine && !legible(s) && !strings.Contains(s, "////")
}

// mask masks what is data, and reports whether anything is.
func (b block) mask(lines []string) bool {
	secret := func(j int) bool { return secretLine(strings.TrimRight(payload(lines[j]), "=")) }
	if !slices.ContainsFunc(b.lines, secret) {
		return false
	}
	for _, j := range b.lines {
		if !secret(j) {
			continue
		}
		margin := keyMargin.FindString(lines[j])
		lines[j] = margin + maskText(keyName) + lines[j][len(margin)+len(payload(lines[j])):]
	}
	if b.end > 0 {
		end := keyEnd.FindStringIndex(lines[b.end])
		lines[b.end] = lines[b.end][:end[0]] + maskText(keyName) + lines[b.end][end[1]:]
	}
	return true
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
