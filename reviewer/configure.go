package reviewer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer/budget"
	"review-bot/sentinel"
)

// Configuration is where a run's settings come from: flags, environment, and a
// file of the base branch, which can be read only when the pull request is known.
type Configuration interface {
	// Path is the file's in the base branch; "" if none is to be read.
	Path() string
	// Given tells all that the settings are made of beside that file.
	Given() string
	// Effective are the settings with what the file says, and the model that they name. file
	// is nil if there is none.
	Effective(file []byte) (Settings, Model, error)
}

// DefaultGuidelines are files in which projects tell how they work.
var DefaultGuidelines = []string{"AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md"}

// maxGuidelines bounds the guideline files in a request, in tokens. Of a small
// request they take a quarter at most.
const maxGuidelines = 8000

// texts is what the base branch says about reviewing. The pull request's own
// versions of these files don't count.
type texts struct {
	attributes   []byte // .gitattributes
	instructions string // of the role; "" if no prompt file is given
	guidelines   string // with headings
}

// configure reads what the base branch says, and completes the settings. The
// files that a run is likely to need are read at once; those that only the
// configuration names cost a further request.
func (r *run) configure(ctx context.Context, pull Pull) error {
	r.set = r.first // not what a record remembers
	configuration := ""
	if r.env.Configuration != nil {
		configuration = r.env.Configuration.Path()
	}
	files, err := r.env.Forge.Files(ctx, wanted(attributesPath, configuration, r.set), pull.Base)
	if err != nil {
		return err
	}
	if c := r.env.Configuration; c != nil {
		var file []byte
		if content, ok := files[configuration]; ok && configuration != "" {
			file = append([]byte{}, content...) // not nil
		}
		set, model, err := c.Effective(file)
		if err != nil {
			return err // r.set stays what flags and environment say: the run still ends by it
		}
		r.set, r.env.Model = set, model
		r.tokens = newCounter(r.set)
	}
	asked := wanted(attributesPath, configuration, r.first)
	more := slices.DeleteFunc(wanted("", "", r.set), func(path string) bool { return slices.Contains(asked, path) })
	if len(more) > 0 {
		further, err := r.env.Forge.Files(ctx, more, pull.Base)
		if err != nil {
			return err
		}
		maps.Copy(files, further)
	}
	r.texts.attributes = files[attributesPath]
	if file := r.set.PromptFile; file != "" {
		text := strings.TrimSpace(string(files[file]))
		if text == "" {
			return noPromptFile(file, files, pull)
		}
		r.texts.instructions = text
	}
	r.texts.guidelines = r.guidelines(files, pull)
	r.question = question(r.set, r.texts)
	return nil
}

func noPromptFile(file string, files map[string][]byte, pull Pull) error {
	e := &Error{
		Doing: "reading the prompt file " + file,
		Err:   errors.New("the base branch " + pull.BaseBranch + " has no such file"),
		Next:  "commit it there, or drop --prompt-file; a file of this machine is given as ./" + file,
	}
	if _, has := files[file]; has {
		e.Err, e.Next = errors.New("it is empty in the base branch "+pull.BaseBranch), "write the role's instructions into it, or drop --prompt-file"
	}
	return e
}

// wanted are the files of the base branch that settings ask for, each once.
func wanted(attributes, configuration string, set Settings) []string {
	paths := append([]string{attributes, configuration, set.PromptFile}, guidelinePaths(set)...)
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(path string) bool { return path == "" })
}

func guidelinePaths(set Settings) []string {
	if set.Guidelines == nil {
		return DefaultGuidelines
	}
	return set.Guidelines
}

// guidelines puts the guideline files together, cut where there is no more room.
func (r *run) guidelines(files map[string][]byte, pull Pull) string {
	var all, told []string
	left := min(maxGuidelines, r.set.MaxTokens/4)
	seen := map[string]bool{}
	for _, file := range guidelinePaths(r.set) {
		content, has := files[file]
		if !has && r.set.Guidelines != nil {
			r.note("the guideline file %s isn't in the base branch %s", file, pull.BaseBranch)
		}
		text := strings.TrimSpace(strings.ToValidUTF8(string(content), "\ufffd"))
		// One file is often a link to another, or its copy: a link's content is the path.
		link := path.Join(path.Dir(file), text)
		if text == "" || seen[text] || strings.ContainsRune(text, 0) || link != file && slices.Contains(guidelinePaths(r.set), link) {
			continue
		}
		seen[text] = true
		text = r.env.Secrets.Redact(text)
		kept, tokens, whole := r.fitting(text, left)
		left -= tokens
		if !whole {
			all = append(all, "## "+file+"\n\n"+strings.TrimSpace(kept+"\n(cut here)"))
			told = append(told, fmt.Sprintf("%s (cut after %d of %d bytes: guidelines may take %d tokens)", file, len(kept), len(text), min(maxGuidelines, r.set.MaxTokens/4)))
			continue
		}
		all, told = append(all, "## "+file+"\n\n"+text), append(told, file)
	}
	if len(told) > 0 {
		r.progress("read", time.Time{}, "guidelines: %s", strings.Join(told, ", "))
	}
	return strings.Join(all, "\n\n")
}

// fitting is as much of a text, in whole lines, as fits into so many tokens.
func (r *run) fitting(text string, most int) (kept string, tokens int, whole bool) {
	const longest = 16 // bytes that a token is expected to have at the most
	if len(text) <= most*longest {
		if n := r.tokens.Count(text); n <= most {
			return text, n, true
		}
	}
	end := 0
	for line := range strings.Lines(text) {
		if len(line) > most*longest {
			break
		}
		n := r.tokens.Count(line)
		if tokens+n > most {
			break
		}
		tokens += n
		end += len(line)
	}
	return strings.TrimSpace(text[:end]), tokens, false
}

// What the role's sentinel notes of its settings, so that the next run knows
// without reading them that nothing has changed.
const (
	givenField    = "given" // digest of what they were made of beside the base branch
	settingsField = "set"   // those by which the run tells whether there is anything to publish
)

// given digests all that the settings are made of beside the base branch.
func given(set Settings, env Env) string {
	text := question(set, texts{})
	if env.Configuration != nil {
		text += "\n" + env.Configuration.Path() + "\n" + env.Configuration.Given()
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// remember takes the settings that matter when there is nothing to do from the
// role's record: they are the same as long as the base branch is, and flags and
// environment are. Whatever is to be asked or published wants [run.configure] first.
func (r *run) remember(st state) bool {
	cur, ok := st.log.Current(r.set.Role)
	if !ok || cur.Sentinel.Base == "" || cur.Sentinel.Base != st.pull.Base || field(cur.Sentinel, givenField) != r.given {
		return false
	}
	set := r.set
	if !recallSettings(field(cur.Sentinel, settingsField), &set) {
		return false
	}
	set.Advisory = cur.Sentinel.Advisory
	r.set, r.question = set, cur.Sentinel.Q
	return true
}

// noteSettings is the value of settingsField; "" if there is no room.
func noteSettings(set Settings) string {
	words := []string{"rounds:" + strconv.Itoa(set.MaxRounds), "follow_ups:" + strconv.Itoa(set.MaxFollowUps)}
	for _, s := range []struct {
		word string
		on   bool
	}{{"no_approve", set.NoApprove}, {"repost_stale", set.RepostStale}} {
		if s.on {
			words = append(words, s.word)
		}
	}
	if len(set.Siblings) > 0 {
		words = append(words, "siblings:"+strings.Join(set.Siblings, "+"))
	}
	if text := strings.Join(words, ","); len(text) <= sentinel.MaxValue {
		return text
	}
	return ""
}

// noted are the fields that say what settings the run has.
func (r *run) noted() []sentinel.Field {
	return []sentinel.Field{{Key: givenField, Value: r.given}, {Key: settingsField, Value: noteSettings(r.set)}}
}

// recallSettings reads what noteSettings wrote; false if it didn't.
func recallSettings(text string, set *Settings) bool {
	set.NoApprove, set.RepostStale, set.Siblings = false, false, nil
	rounds := false
	for word := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(word, ":")
		switch name {
		case "rounds":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return false
			}
			set.MaxRounds, rounds = n, true
		case "follow_ups":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return false
			}
			set.MaxFollowUps = n
		case "no_approve":
			set.NoApprove = true
		case "repost_stale":
			set.RepostStale = true
		case "siblings":
			set.Siblings = strings.Split(value, "+")
		default:
			return false
		}
	}
	return rounds
}

// rests tells whether nothing is to be written about a head for which no model
// needs to be asked.
func (r *run) rests(st state, capped bool) bool {
	cur, _ := st.log.Current(r.set.Role)
	cfg := r.config(st, escalation.Recorded(cur))
	if capped && !r.handed(st.log) || r.handsOver(st.log) {
		return false
	}
	if capped {
		cfg = config(r.set, st, r.key, r.nonce())
	}
	_, _, needed := escalation.Preview(cfg, st.log, st.pull.Head, false)
	return !needed
}

func newCounter(set Settings) budget.Counter { return budget.NewCounter(set.Model) }

// instructions are the role's.
func (r *run) instructions() string {
	return strings.TrimSpace(cmp.Or(r.texts.instructions, r.set.Instructions))
}
