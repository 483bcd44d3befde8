package sentinel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Marker is the hidden line that gives a finding its identity, in the inline
// comment or the body that carries it:
//
//	<!-- review-bot-finding:security/1f3c9a2b head=… sev=high cat=logic key=… v=1 -->
type Marker struct {
	Role     string
	ID       string // 8 hex digits
	Head     string // commit at which the finding was made, 40 hex digits
	Severity string
	Category string
	Key      string // fingerprint of the content, hexadecimal
	Version  int
	Extra    []Field // keys that this version doesn't know, in the order read
}

const markerOpen = "<!-- review-bot-finding:"

// ValidID tells whether id may be a finding's.
func ValidID(id string) bool { return len(id) == 8 && hexadecimal(id) }

// String encodes the marker as one line.
func (m Marker) String() string {
	fields := slices.Concat([]Field{{"head", m.Head}, {"sev", m.Severity}, {"cat", m.Category}, {"key", m.Key}}, m.Extra,
		[]Field{{"v", strconv.Itoa(m.Version)}})
	var b strings.Builder
	b.WriteString(markerOpen + m.Role + "/" + m.ID)
	for _, f := range fields {
		if f.Value != "" {
			fmt.Fprintf(&b, " %s=%s", f.Key, f.Value)
		}
	}
	b.WriteString(close)
	return b.String()
}

// ParseMarker decodes one line, as strictly as Parse does. The error is ErrNone
// if the line doesn't begin as a marker does.
func ParseMarker(line string) (Marker, error) {
	name, fields, err := split(line, markerOpen)
	if err != nil {
		return Marker{}, err
	}
	role, id, _ := strings.Cut(name, "/")
	if !ValidRole(role) || !ValidID(id) {
		return Marker{}, fmt.Errorf("marker: name %q", name)
	}
	m := Marker{Role: role, ID: id}
	for _, f := range fields {
		switch f.Key {
		case "head":
			m.Head = f.Value
		case "sev":
			m.Severity = f.Value
		case "cat":
			m.Category = f.Value
		case "key":
			m.Key = f.Value
		case "v":
			if m.Version, err = number(f.Key, f.Value); err != nil {
				return Marker{}, fmt.Errorf("marker: %w", err)
			}
		default:
			m.Extra = append(m.Extra, f)
		}
	}
	if !hexadecimal(m.Key) || !hexadecimal(m.Head) || len(m.Head) != 40 || m.Version < 1 {
		return Marker{}, fmt.Errorf("marker: %s: head, key and v are needed", name)
	}
	return m, nil
}

// Markers finds the markers in a text that the account itself published: those
// that stand alone on a line. Broken ones are passed over.
func Markers(text string) []Marker {
	var list []Marker
	for line := range strings.Lines(text) {
		if m, err := ParseMarker(strings.TrimRight(line, " \t\r\n")); err == nil {
			list = append(list, m)
		}
	}
	return list
}

// split reads what sentinels and markers share: the opening, a name, fields each
// behind one space and no key twice, the closing.
func split(line, opening string) (name string, fields []Field, err error) {
	rest, ok := strings.CutPrefix(line, opening)
	if !ok {
		return "", nil, ErrNone
	}
	rest, ok = strings.CutSuffix(rest, close)
	if !ok {
		return "", nil, fmt.Errorf("%q is not closed on its line", opening)
	}
	words := strings.Split(rest, " ")
	for _, word := range words[1:] {
		key, value, ok := strings.Cut(word, "=")
		if !ok || value == "" || slices.ContainsFunc(fields, func(f Field) bool { return f.Key == key }) || !validKey(key) || !validValue(value) {
			return "", nil, fmt.Errorf("field %q", word)
		}
		fields = append(fields, Field{key, value})
	}
	return words[0], fields, nil
}
