package sentinel

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Marker is the hidden line that gives a finding its identity, in the inline
// comment or the body that carries it:
//
//	<!-- review-bot-finding:security/1f3c9a2b head=… sev=high cat=logic key=… blob=… line=42 v=1 -->
//
// Markers of the time before versions name the role and perhaps an id, and say
// nothing else for sure.
type Marker struct {
	Role     string
	ID       string // 8 hex digits; may be empty in an unversioned marker
	Head     string // commit at which the finding was made, 40 hex digits
	Severity string
	Category string
	Key      string  // fingerprint of the content, hexadecimal
	Blob     string  // abbreviated id of the file's content at Head; "" if not known
	Line     int     // in the file at Head, from 1; 0 if it has none. Servers may move a comment's own position
	Old      bool    // Line counts in the file before the change
	Closed   bool    // the comment says that the finding is fixed, where the server can't resolve
	Version  int     // 0: unversioned
	MAC      string  // see Key.SignMarker
	Extra    []Field // keys that this version doesn't know, in the order read
}

const (
	markerOpen  = "<!-- review-bot-finding:"
	sideOld     = "old"
	stateClosed = "closed"
)

// idLength is how many hex digits an id has.
const idLength = 8

// ValidID reports whether id may be a finding's.
func ValidID(id string) bool { return len(id) == idLength && hexadecimal(id) }

// String encodes the marker as one line.
func (m Marker) String() string {
	fields := []Field{{"head", m.Head}, {"sev", m.Severity}, {"cat", m.Category}, {"key", m.Key}, {"blob", m.Blob}}
	if m.Line > 0 {
		fields = append(fields, Field{"line", strconv.Itoa(m.Line)})
	}
	if m.Old {
		fields = append(fields, Field{"side", sideOld})
	}
	if m.Closed {
		fields = append(fields, Field{"state", stateClosed})
	}
	fields = append(fields, m.Extra...)
	if m.Version > 0 {
		fields = append(fields, Field{"v", strconv.Itoa(m.Version)})
	}
	if m.MAC != "" {
		fields = append(fields, Field{"mac", m.MAC})
	}
	var b strings.Builder
	b.WriteString(markerOpen + m.Role)
	if m.ID != "" {
		b.WriteString("/" + m.ID)
	}
	for _, f := range fields {
		if f.Value != "" {
			fmt.Fprintf(&b, " %s=%s", f.Key, f.Value)
		}
	}
	b.WriteString(close)
	return b.String()
}

// ParseMarker decodes one line, as strictly as Parse does: a versioned marker has
// all that ties it to a finding. The error is ErrNone if the line doesn't begin as
// a marker does.
func ParseMarker(line string) (Marker, error) {
	name, fields, err := split(line, markerOpen)
	if err != nil {
		return Marker{}, err
	}
	role, id, named := strings.Cut(name, "/")
	if !ValidRole(role) || named && !ValidID(id) {
		return Marker{}, fmt.Errorf("marker: name %q", name)
	}
	m := Marker{Role: role, ID: id}
	for _, f := range fields {
		if err := m.set(f); err != nil {
			return Marker{}, fmt.Errorf("marker: %w", err)
		}
	}
	if err := m.validate(); err != nil {
		return Marker{}, fmt.Errorf("marker: %s: %w", name, err)
	}
	return m, nil
}

func (m *Marker) set(f Field) (err error) {
	switch f.Key {
	case "head":
		m.Head = f.Value
	case "sev":
		m.Severity = f.Value
	case "cat":
		m.Category = f.Value
	case "key":
		m.Key = f.Value
	case "blob":
		m.Blob = f.Value
	case "line":
		m.Line, err = number(f.Key, f.Value)
	case "side":
		m.Old = f.Value == sideOld
		if !m.Old {
			err = fmt.Errorf("side %q", f.Value)
		}
	case "state":
		m.Closed = f.Value == stateClosed
		if !m.Closed {
			err = fmt.Errorf("state %q", f.Value)
		}
	case "v":
		m.Version, err = number(f.Key, f.Value)
	case "mac":
		m.MAC = f.Value
	default:
		m.Extra = append(m.Extra, f)
	}
	return err
}

func (m Marker) validate() error {
	switch {
	case m.Head != "" && (len(m.Head) != 40 || !hexadecimal(m.Head)):
		return errors.New("head is not a commit id")
	case m.Key != "" && !hexadecimal(m.Key), m.Blob != "" && !hexadecimal(m.Blob):
		return errors.New("key or blob is not hexadecimal")
	case m.Version > 0 && (m.ID == "" || m.Head == "" || m.Key == ""):
		return errors.New("id, head and key are needed")
	}
	return nil
}

// SignMarker returns m with the code over all its other fields and the text that
// it stands under: see Hash. Anyone with write access to a repository can edit the
// account's comments; a severity that such a person wrote there, or moved there
// from another comment, must not decide about a verdict.
func (k Key) SignMarker(m Marker, text string) Marker {
	m.MAC = k.markerCode(m, text)
	return m
}

// VerifyMarker tells whether m carries the code that SignMarker would give it.
func (k Key) VerifyMarker(m Marker, text string) bool {
	return m.MAC != "" && hmac.Equal([]byte(m.MAC), []byte(k.markerCode(m, text)))
}

func (k Key) markerCode(m Marker, text string) string {
	m.MAC = ""
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte(m.String() + "\n" + Hash(text)))
	return hex.EncodeToString(h.Sum(nil)[:8])
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
