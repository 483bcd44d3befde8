package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"review-bot/sentinel"
)

// maxDepth bounds how many brackets are open at once, and how many lists begin on
// one line. The parser takes 45 s for 64 KiB of the ones, and seconds for the others.
const maxDepth = 100

// Parse reads a file. name stands in the error, which is an *Error: the first
// mistake of the file.
func Parse(name string, data []byte) (file File, err error) {
	r := reading{name}
	root, err := r.root(data)
	if err != nil || root == nil {
		return File{}, err
	}
	err = r.mapping(root, "", sectionExample, func(key string, at *token.Token, value ast.Node) (err error) {
		switch key {
		case rolesKey:
			file.Roles, err = r.roles(value)
		case settleKey:
			file.Settle, err = settleKeys.section(r, value, settleKey, settleExample)
		default:
			err = keys.key(r, &file.Defaults, "", key, at, value)
		}
		return err
	})
	if err != nil {
		return File{}, err
	}
	return file, nil
}

// Keys of the file that hold sections.
const (
	rolesKey  = "roles"
	settleKey = "settle"
)

// What a mapping looks like, for those who wrote something else.
const (
	sectionExample = "model: gpt-5"
	settleExample  = "apply_replies: true"
)

// reading is a file that is being read.
type reading struct{ name string }

func (r reading) whole(format string, args ...any) error {
	return &Error{File: r.name, Text: fmt.Sprintf(format, args...)}
}

// wrong is a mistake at a token.
func (r reading) wrong(at *token.Token, key, format string, args ...any) error {
	e := &Error{File: r.name, Line: 1, Column: 1, Key: key, Text: fmt.Sprintf(format, args...)}
	if at != nil && at.Position != nil {
		e.Line, e.Column = max(at.Position.Line, 1), max(at.Position.Column, 1)
	}
	return e
}

// root is the file's one value; nil if it has none.
func (r reading) root(data []byte) (node ast.Node, err error) {
	if len(data) > MaxSize {
		return nil, r.whole("the file is %d bytes long, and may have %d", len(data), MaxSize)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // the parser counts some of them twice
	if !utf8.Valid(data) {
		return nil, r.whole("the file is not text in UTF-8")
	}
	depth := 0
	for i, c := range data {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > maxDepth {
			line := 1 + bytes.Count(data[:i], []byte("\n"))
			return nil, &Error{File: r.name, Line: line, Column: i - bytes.LastIndexByte(data[:i], '\n'), Text: "too many brackets are open"}
		}
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		rest, lists := bytes.TrimLeft(line, " "), 0
		for ; len(rest) > 1 && (rest[0] == '-' || rest[0] == '?') && rest[1] == ' '; lists++ {
			rest = bytes.TrimLeft(rest[2:], " ")
		}
		if lists > maxDepth {
			return nil, &Error{File: r.name, Line: n + 1, Column: 1, Text: "too many lists begin on one line"}
		}
	}
	defer func() {
		if p := recover(); p != nil { // the parser's own mistake, not the caller's
			node, err = nil, r.whole("the file is not YAML that can be read: %.100s", fmt.Sprint(p))
		}
	}()
	// Keys that stand twice are found below, in words of our own.
	parsed, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) {
			return nil, r.wrong(syntax.GetToken(), "", "not valid YAML: %s", oneLine(syntax.GetMessage()))
		}
		return nil, r.whole("not valid YAML: %s", oneLine(err.Error()))
	}
	seen := false
	for _, doc := range parsed.Docs {
		if doc == nil || doc.Body == nil || empty(doc.Body) {
			continue
		}
		if seen {
			return nil, r.wrong(cmpToken(doc.Start, doc.Body.GetToken()), "", "a second document begins here, and there may be one only")
		}
		seen, node = true, doc.Body
	}
	return node, nil
}

func cmpToken(a, b *token.Token) *token.Token {
	if a != nil {
		return a
	}
	return b
}

func oneLine(s string) string { return shortened(strings.Join(strings.Fields(s), " ")) }

// empty tells whether a value is none: nothing behind the key, null, or nothing
// but white space.
func empty(node ast.Node) bool {
	switch n := node.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return true
	case *ast.StringNode:
		return strings.TrimSpace(n.Value) == ""
	case *ast.LiteralNode:
		return n.Value == nil || strings.TrimSpace(n.Value.Value) == ""
	}
	return false
}

// mapping calls each for the keys of a mapping that have a value; path is where
// the mapping stands, "" for the file itself. A key may stand there once.
func (r reading) mapping(node ast.Node, path, example string, each func(key string, at *token.Token, value ast.Node) error) error {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		if err := r.plain(node, path); err != nil {
			return err
		}
		return r.wrong(node.GetToken(), path, "%s is not a list of keys with values, such as %s", shown(node), example)
	}
	lines := map[string]int{}
	for _, pair := range pairs {
		at := pair.Key.GetToken()
		name, ok := pair.Key.(*ast.StringNode)
		if !ok {
			if err := r.plain(pair.Key, path); err != nil {
				return err
			}
			return r.wrong(at, path, "%s is not a name", shown(pair.Key))
		}
		key := name.Value
		if line, twice := lines[key]; twice {
			return r.wrong(at, join(path, shortened(key)), "stands in line %d already", line)
		}
		lines[key] = max(at.Position.Line, 1)
		if err := each(key, at, pair.Value); err != nil {
			return err
		}
	}
	return nil
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// plain refuses what makes more of a text than it says.
func (r reading) plain(node ast.Node, key string) error {
	var what string
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		what = "anchors and aliases"
	case *ast.TagNode:
		what = "tags"
	case *ast.MergeKeyNode:
		what = "merge keys"
	case *ast.DirectiveNode:
		what = "directives"
	case *ast.MappingKeyNode:
		what = "keys behind a question mark"
	default:
		return nil
	}
	return r.wrong(node.GetToken(), key, "%s are not supported, write the value out", what)
}

func (r reading) roles(node ast.Node) (map[string]Section, error) {
	if empty(node) {
		return nil, nil
	}
	roles := map[string]Section{}
	return roles, r.mapping(node, rolesKey, sectionExample, func(role string, at *token.Token, value ast.Node) (err error) {
		if !sentinel.ValidRole(role) {
			return r.wrong(at, rolesKey, "%q is not of the form %s", shortened(role), sentinel.RolePattern)
		}
		roles[role], err = keys.section(r, value, join(rolesKey, role), sectionExample)
		return err
	})
}

// section reads a section; path is where it stands.
func (t table[S]) section(r reading, node ast.Node, path, example string) (s S, err error) {
	if empty(node) {
		return s, nil
	}
	err = r.mapping(node, path, example, func(key string, at *token.Token, value ast.Node) error {
		return t.key(r, &s, path, key, at, value)
	})
	return s, err
}

// key reads one setting into a section.
func (t table[S]) key(r reading, to *S, path, name string, at *token.Token, value ast.Node) error {
	i := slices.IndexFunc(t, func(k key[S]) bool { return k.name == name })
	if i < 0 {
		valid := t.names()
		if path == "" {
			valid = append(valid, rolesKey, settleKey)
		}
		hint := ""
		if other := home(name); other != "" {
			hint = " here, it belongs " + other
		} else if near := nearest(name, valid); near != "" {
			hint = ", did you mean " + near + "?"
		}
		return r.wrong(at, join(path, shortened(name)), "no such key%s — the keys are %s", hint, strings.Join(valid, ", "))
	}
	if empty(value) {
		return nil
	}
	path = join(path, name)
	if err := r.plain(value, path); err != nil {
		return err
	}
	return t[i].read(r, to, path, at, value)
}

// home is where a key belongs; "" if there is none of this name.
func home(name string) string {
	switch {
	case name == rolesKey, name == settleKey:
		return "at the top"
	case slices.Contains(Keys(), name):
		return "at the top or below a role"
	case slices.Contains(SettleKeys(), name):
		return "below " + settleKey + " at the top"
	}
	return ""
}

// nearest is the name that was probably meant; "" if none is near.
func nearest(name string, valid []string) string {
	flat := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(name))
	best, at := "", 3
	if len(flat) > 40 {
		return ""
	}
	for _, v := range valid {
		if d := distance(flat, v); d < at && d <= len(v)/2 {
			best, at = v, d
		}
	}
	return best
}

// distance is how many letters must be added, dropped or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// shown is a value as an error names it.
func shown(node ast.Node) string {
	switch n := node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a list of keys"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return fmt.Sprintf("%q", shortened(n.Value))
	case *ast.LiteralNode:
		return fmt.Sprintf("%q", shortened(n.Value.Value))
	case *ast.NullNode:
		return "nothing"
	default:
		return shortened(node.GetToken().Value)
	}
}

func shortened(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "…"
	}
	return s
}
