package config

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"review-bot/prompts"
	"review-bot/reviewer/ignore"
	"review-bot/sentinel"
)

// key is one setting of a section S: how it is read, and how one section's goes
// before another's.
type key[S any] struct {
	name     string
	read     func(r reading, to *S, path string, at *token.Token, value ast.Node) error
	overrule func(to, by *S)
}

// table is what may stand in a section S, in alphabetical order.
type table[S any] []key[S]

// keys are the settings of every role, and of a single one.
var keys = table[Section]{
	define("advisory", boolean, func(s *Section) *At[bool] { return &s.Advisory }),
	define("base_url", text(address), func(s *Section) *At[string] { return &s.BaseURL }),
	define("block_on", severity, func(s *Section) *At[prompts.Severity] { return &s.BlockOn }),
	define("fallback_model", text(), func(s *Section) *At[string] { return &s.FallbackModel }),
	define("guidelines", list("AGENTS.md", repositoryPath), func(s *Section) *At[[]string] { return &s.Guidelines }),
	define("ignore", list("docs/**", glob), func(s *Section) *At[[]string] { return &s.Ignore }),
	define("inline", text(oneOf(Inlines)), func(s *Section) *At[string] { return &s.Inline }),
	define("instructions", text(), func(s *Section) *At[string] { return &s.Instructions }),
	define("max_calls", number(1), func(s *Section) *At[int] { return &s.MaxCalls }),
	define("max_follow_ups", number(0), func(s *Section) *At[int] { return &s.MaxFollowUps }),
	define("max_input_tokens", number(MinInputTokens), func(s *Section) *At[int] { return &s.MaxInputTokens }),
	define("max_output_tokens", number(0), func(s *Section) *At[int] { return &s.MaxOutputTokens }),
	define("max_rounds", number(0), func(s *Section) *At[int] { return &s.MaxRounds }),
	define("max_tokens_per_pr", number(0), func(s *Section) *At[int] { return &s.MaxTokensPerPR }),
	define("model", text(), func(s *Section) *At[string] { return &s.Model }),
	define("no_approve", boolean, func(s *Section) *At[bool] { return &s.NoApprove }),
	define("operators", list("alice", login), func(s *Section) *At[[]string] { return &s.Operators }),
	define("parallel", number(1), func(s *Section) *At[int] { return &s.Parallel }),
	define("price_in", price, func(s *Section) *At[float64] { return &s.PriceIn }),
	define("price_out", price, func(s *Section) *At[float64] { return &s.PriceOut }),
	define("prompt_file", text(repositoryPath), func(s *Section) *At[string] { return &s.PromptFile }),
	define("receipt", text(oneOf([]string{"on", "off"})), func(s *Section) *At[string] { return &s.Receipt }),
	define("repost_stale", boolean, func(s *Section) *At[bool] { return &s.RepostStale }),
	define("review_drafts", boolean, func(s *Section) *At[bool] { return &s.ReviewDrafts }),
	define("siblings", list("security", role), func(s *Section) *At[[]string] { return &s.Siblings }),
}

// settleKeys are the settings of the command settle.
var settleKeys = table[Settle]{
	define("allow_invalid_resolution", boolean, func(s *Settle) *At[bool] { return &s.AllowInvalidResolution }),
	define("apply_replies", boolean, func(s *Settle) *At[bool] { return &s.ApplyReplies }),
	define("apply_resolutions", boolean, func(s *Settle) *At[bool] { return &s.ApplyResolutions }),
	define("auto_resolve", list("stale, already_fixed", oneOf(AutoResolves)), func(s *Settle) *At[[]string] { return &s.AutoResolve }),
	define("enabled", boolean, func(s *Settle) *At[bool] { return &s.Enabled }),
	define("reply_as_comment", boolean, func(s *Settle) *At[bool] { return &s.ReplyAsComment }),
	define("reply_template", text(repositoryPath), func(s *Settle) *At[string] { return &s.ReplyTemplate }),
	define("require_checks", boolean, func(s *Settle) *At[bool] { return &s.RequireChecks }),
	define("required_checks", list("ci / test (pull_request)", named), func(s *Settle) *At[[]string] { return &s.RequiredChecks }),
}

func (t table[S]) names() []string {
	var list []string
	for _, k := range t {
		list = append(list, k.name)
	}
	return list
}

// misplaced is a mistake in a part of a value.
type misplaced struct {
	node ast.Node
	error
}

// define makes a key of how its value is read and where it is kept.
func define[S, T any](name string, value func(r reading, path string, node ast.Node) (T, error), field func(*S) *At[T]) key[S] {
	return key[S]{
		name: name,
		read: func(r reading, to *S, path string, at *token.Token, node ast.Node) error {
			v, err := value(r, path, node)
			var inside *Error
			var part misplaced
			switch {
			case errors.As(err, &inside):
				return err
			case errors.As(err, &part):
				return r.wrong(part.node.GetToken(), path, "%v", part.error)
			case err != nil:
				return r.wrong(node.GetToken(), path, "%v", err)
			}
			*field(to) = At[T]{v, max(at.Position.Line, 1), max(at.Position.Column, 1)}
			return nil
		},
		overrule: func(to, by *S) {
			if own := field(by); own.Set() {
				*field(to) = *own
			}
		},
	}
}

func boolean(_ reading, _ string, node ast.Node) (bool, error) {
	if n, ok := node.(*ast.BoolNode); ok {
		return n.Value, nil
	}
	return false, fmt.Errorf("%s is not one of true, false", shown(node))
}

func number(least int) func(reading, string, ast.Node) (int, error) {
	const most = 1_000_000_000
	return func(_ reading, _ string, node ast.Node) (int, error) {
		if n, ok := node.(*ast.IntegerNode); ok {
			switch v := n.Value.(type) {
			case int64:
				if v >= int64(least) && v <= most {
					return int(v), nil
				}
			case uint64:
				if v >= uint64(least) && v <= most {
					return int(v), nil
				}
			}
		}
		return 0, fmt.Errorf("%s is not a whole number from %d to %d", shown(node), least, most)
	}
}

func price(_ reading, _ string, node ast.Node) (float64, error) {
	v := -1.0
	switch n := node.(type) {
	case *ast.FloatNode:
		v = n.Value
	case *ast.IntegerNode:
		switch i := n.Value.(type) {
		case int64:
			v = float64(i)
		case uint64:
			v = float64(i)
		}
	}
	if v >= 0 && !math.IsInf(v, 0) {
		return v, nil
	}
	return 0, fmt.Errorf("%s is not a number from 0 on, such as 1.25", shown(node))
}

func severity(_ reading, _ string, node ast.Node) (s prompts.Severity, err error) {
	word, ok := word(node)
	if !ok || s.UnmarshalText([]byte(word)) != nil {
		return "", fmt.Errorf("%s is not one of low, medium, high, critical, never", shown(node))
	}
	return s, nil
}

// word is a text without white space around it.
func word(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return strings.TrimSpace(n.Value), true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	}
	return "", false
}

// check tells what is wrong with a text, other than that it is none.
type check func(text string) error

func text(checks ...check) func(reading, string, ast.Node) (string, error) {
	return func(_ reading, _ string, node ast.Node) (string, error) {
		s, ok := word(node)
		if !ok {
			switch node.(type) {
			case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
				return "", fmt.Errorf("%s is not a text", shown(node))
			}
			return "", fmt.Errorf("%s is not a text: put it in quotes", shown(node))
		}
		for _, c := range checks {
			if err := c(s); err != nil {
				return "", err
			}
		}
		return s, nil
	}
}

func list(example string, c check) func(reading, string, ast.Node) ([]string, error) {
	item := text(c)
	return func(r reading, path string, node ast.Node) ([]string, error) {
		sequence, ok := node.(*ast.SequenceNode)
		if !ok {
			return nil, fmt.Errorf("%s is not a list such as [%s]", shown(node), example)
		}
		all := []string{}
		for _, n := range sequence.Values {
			if n == nil || empty(n) {
				continue
			}
			if err := r.plain(n, path); err != nil {
				return nil, err
			}
			s, err := item(r, path, n)
			if err != nil {
				return nil, misplaced{n, err}
			}
			all = append(all, s)
		}
		return all, nil
	}
}

// address doesn't repeat what it was given: a password may stand in it.
func address(s string) error {
	if u, err := url.Parse(s); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
		return errors.New("not an address such as https://api.example.com/v1")
	}
	return nil
}

func oneOf(valid []string) check {
	return func(s string) error {
		if !slices.Contains(valid, s) {
			return fmt.Errorf("%q is not one of %s", shortened(s), strings.Join(valid, ", "))
		}
		return nil
	}
}

func role(s string) error {
	if !sentinel.ValidRole(s) {
		return fmt.Errorf("%q is not of the form %s", shortened(s), sentinel.RolePattern)
	}
	return nil
}

var loginPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,255}$`)

func login(s string) error {
	if !loginPattern.MatchString(s) {
		return fmt.Errorf("%q is not a login such as alice", shortened(s))
	}
	return nil
}

func named(s string) error {
	if s == "" || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q is not the name of a check such as ci / test (pull_request)", shortened(s))
	}
	return nil
}

func glob(s string) error {
	_, err := ignore.New([]string{s}, nil)
	return err
}

// repositoryPath: a file of the machine that runs the job is for whoever starts it
// to name, not for the repository.
func repositoryPath(s string) error {
	if s != path.Clean(s) || s == "." || s == ".." || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "/") || strings.ContainsAny(s, "\\\n\x00") {
		return fmt.Errorf("%q is not the path of a file in the repository, such as docs/review.md", shortened(s))
	}
	return nil
}
