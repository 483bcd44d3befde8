package forgetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"review-bot/escalation"
	"review-bot/reviewer"
	"review-bot/sentinel"
)

// Step is one act of a random history.
type Step struct {
	Kind     string
	Who      string
	Whom     string
	Target   int // which of the things that there are; counted around
	Event    sentinel.Verdict
	Body     string
	Comments []reviewer.NewComment
	Extra    bool
}

func (s Step) String() string {
	text := s.Who + " " + s.Kind
	if s.Event != "" {
		text += " " + string(s.Event)
	}
	if s.Whom != "" {
		text += " " + s.Whom
	}
	text += fmt.Sprintf(" #%d", s.Target)
	if s.Extra {
		text += " extra"
	}
	for _, c := range s.Comments {
		text += fmt.Sprintf(" %s:+%d-%d", c.Path, c.NewLine, c.OldLine)
	}
	return fmt.Sprintf("%s %q", text, s.Body)
}

// RandomStep draws a step: intn gives a number in [0, n). Bodies are made of the
// step's number, so that each text can be told from the others.
func RandomStep(number int, intn func(n int) int) Step {
	pick := func(words ...string) string { return words[intn(len(words))] }
	s := Step{
		// What the bot does comes most often. A search for a smaller example goes to the front.
		Kind: pick("rest", "post", "post", "post", "post", "post", "edit", "edit", "push", "push", "dismiss", "dismiss", "request", "request", "request",
			"react", "unreact", "unrequest", "undismiss", "submit", "begin", "delete", "resolve", "resolve", "unresolve", "reply", "edit inline", "comment", "close", "merge base"),
		Who:    pick("bot", "bot", "bot", "bot2", "bot2", "owner", "outsider"),
		Target: intn(6),
		Body:   fmt.Sprintf("step %d", number),
		Extra:  intn(4) == 0,
	}
	switch s.Kind {
	case "post":
		s.Event = []sentinel.Verdict{sentinel.Approved, sentinel.RequestChanges, sentinel.Comment}[intn(3)]
		for i := range max(0, intn(6)-2) {
			s.Comments = append(s.Comments, randomComment(fmt.Sprintf("step %d comment %d", number, i), intn))
		}
		// Without anything to say only an approval gets past the SDK.
		if intn(8) == 0 && (s.Event == sentinel.Approved || len(s.Comments) > 0) {
			s.Body = ""
		}
	case "dismiss", "undismiss":
		s.Who = pick("owner", "owner", "owner", "bot")
	case "request", "unrequest":
		s.Whom = pick("bot", "bot", "bot2", "author", "outsider")
		if intn(3) == 0 {
			s.Whom = s.Who
		}
	case "push", "merge base":
		s.Who = pick("author", "author", "bot")
	case "react", "unreact":
		s.Whom = pick("rocket", "rocket", "eyes", "no-such")
	case "close":
		s.Who = "owner"
	}
	return s
}

// RandomSetup draws the protection of a random history, and now and then a bot as
// author.
func RandomSetup(intn func(n int) int) Setup {
	yes := func() bool { return intn(2) == 1 }
	s := Setup{Protection: &Protection{
		BlockOnRejected: true, RequiredApprovals: intn(2), DismissStale: yes(), IgnoreStale: yes(), BlockOnRequests: intn(4) == 3,
	}}
	switch intn(8) {
	case 5:
		s.Protection = nil
	case 6:
		s.Protection.Whitelist = []string{"bot", "owner"}
	case 7:
		s.Author = "bot2"
	}
	return s
}

func randomComment(body string, intn func(n int) int) reviewer.NewComment {
	places := []reviewer.NewComment{
		{Path: "new.go", NewLine: 3}, {Path: "main.go", NewLine: 11}, {Path: "main.go", OldLine: 10}, {Path: "old.txt", NewLine: 2},
		{Path: "new.go", NewLine: 3}, {Path: "main.go", NewLine: 11}, {Path: "main.go", OldLine: 10}, {Path: "old.txt", NewLine: 2},
		{Path: "no/such.go", NewLine: 7}, {Path: "main.go"}, {Path: "new.go", NewLine: 500}, {Path: "new.go", OldLine: 500}, {Path: "../x", NewLine: 1},
	}
	c := places[intn(len(places))]
	c.Body = body
	return c
}

// Run does the step on the observed bench and says what came of it.
func (s Step) Run(o *Observer) (string, error) {
	as := o.Bench.As(s.Who)
	switch s.Kind {
	case "rest":
		return "", nil
	case "post":
		return s.post(o)
	case "edit", "delete":
		return s.onEntry(o)
	case "dismiss", "undismiss":
		return s.onReview(o)
	case "submit":
		id, err := s.review(o, func(r reviewer.Row) bool { return r.State != escalation.RowPending || r.Author != 0 })
		if id == 0 || err != nil {
			return "nothing there", err
		}
		_, err = as.SubmitPending(o.ctx, id, s.Body)
		return Outcome(err), nil
	case "request":
		return Outcome(as.RequestReview(o.ctx, o.Bench.Login(s.Whom))), nil
	case "unrequest":
		return status(o.Bench.RemoveRequest(s.Who, s.Whom)), nil
	case "react":
		added, _, err := as.React(o.ctx, s.Whom)
		return fmt.Sprintf("%t %s", added, Outcome(err)), nil
	case "unreact":
		return Outcome(as.Unreact(o.ctx, s.Whom)), nil
	case "begin":
		return status(o.Bench.BeginReview(s.Who, s.Body)), nil
	case "resolve", "unresolve", "reply", "edit inline":
		return s.onInline(o)
	case "comment":
		return s.comment(o)
	default:
		return s.onPull(o)
	}
}

func status(code int) string { return fmt.Sprint("status ", code) }

// post names the head, or now and then an older commit or none that exists. Its
// answer must be what the list then says.
func (s Step) post(o *Observer) (string, error) {
	commit := o.heads[len(o.heads)-1]
	if s.Extra {
		commits := append(slices.Clone(o.heads), strings.Repeat("12345678", 5))
		commit = commits[s.Target%len(commits)]
	}
	as := o.Bench.As(s.Who)
	row, err := as.PostReview(o.ctx, reviewer.NewReview{Event: s.Event, Commit: commit, Body: s.Body, Comments: s.Comments})
	if err != nil {
		return Outcome(err), nil
	}
	rows, err := as.Reviews(o.ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("ok, answered as listed: %t", slices.ContainsFunc(rows, func(r reviewer.Row) bool {
		a, b := r, row
		sameTime := a.Submitted.Equal(b.Submitted)
		a.Submitted, b.Submitted = time.Time{}, time.Time{}
		return sameTime && a == b
	})), nil
}

// review is the target among the reviews that the owner sees.
func (s Step) review(o *Observer, which func(reviewer.Row) bool) (int64, error) {
	name := "owner"
	if s.Kind == "submit" {
		name = s.Who
	}
	rows, err := o.Bench.As(name).Reviews(o.ctx)
	rows = slices.DeleteFunc(rows, func(r reviewer.Row) bool { return !which(r) })
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	if s.Kind == "submit" && s.Target > 0 { // the newest is the one that is pending, if any is
		return rows[len(rows)-1].ID, nil
	}
	return rows[s.Target%len(rows)].ID, nil
}

func (s Step) onReview(o *Observer) (string, error) {
	id, err := s.review(o, func(r reviewer.Row) bool { return isVerdict(r.State) || s.Extra })
	if id == 0 || err != nil {
		return "nothing there", err
	}
	if s.Kind == "undismiss" {
		return status(o.Bench.Undismiss(s.Who, id)), nil
	}
	return status(o.Bench.Dismiss(s.Who, id, s.Body, s.Extra)), nil
}

func (s Step) onEntry(o *Observer) (string, error) {
	entries, err := o.Bench.As("owner").Timeline(o.ctx, time.Time{}, nil)
	entries = slices.DeleteFunc(entries, func(e reviewer.Entry) bool { return e.Kind != escalation.EntryReview && !s.Extra })
	if err != nil || len(entries) == 0 {
		return "nothing there", err
	}
	e := entries[s.Target%len(entries)]
	if s.Kind == "delete" {
		return status(o.Bench.DeleteEntry(s.Who, e.ID)), nil
	}
	return Outcome(o.Bench.As(s.Who).EditReview(o.ctx, e.ID, s.Body)), nil
}

// onInline does something with one of the inline comments that the owner sees:
// as a person, or (Extra) as the bot does.
func (s Step) onInline(o *Observer) (string, error) {
	all, err := s.inlines(o)
	if err != nil || len(all) == 0 {
		return "nothing there", err
	}
	as, id := o.Bench.As(s.Who), all[s.Target%len(all)].ID
	switch {
	case s.Kind == "reply":
		o.Bench.Reply(s.Who, id, s.Body)
		return "ok", nil
	case s.Kind == "edit inline":
		return Outcome(as.EditComment(o.ctx, id, s.Body)), nil
	case s.Extra:
		return Outcome(as.Resolve(o.ctx, id, s.Kind == "resolve")), nil
	case s.Kind == "resolve":
		return status(o.Bench.Resolve(s.Who, id)), nil
	default:
		return status(o.Bench.Unresolve(s.Who, id)), nil
	}
}

func (s Step) inlines(o *Observer) ([]reviewer.Comment, error) {
	rows, err := o.Bench.As("owner").Reviews(o.ctx)
	if err != nil {
		return nil, err
	}
	var all []reviewer.Comment
	for _, r := range rows {
		if r.Comments == 0 || r.State == escalation.RowPending {
			continue
		}
		comments, err := o.Bench.As("owner").Comments(o.ctx, r.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, comments...)
	}
	slices.SortFunc(all, func(a, b reviewer.Comment) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// comment writes an ordinary comment, as a person or (Extra) as the bot does.
func (s Step) comment(o *Observer) (string, error) {
	if !s.Extra {
		o.Bench.Comment(s.Who, s.Body)
		return "ok", nil
	}
	_, err := o.Bench.As(s.Who).Say(o.ctx, s.Body)
	return Outcome(err), nil
}

// onPull pushes to, closes or reopens the pull request.
func (s Step) onPull(o *Observer) (string, error) {
	p, err := o.Bench.As("bot").Pull(o.ctx)
	switch {
	case err != nil:
		return "", err
	case s.Kind == "close" && p.Closed:
		o.Bench.Reopen(s.Who)
	case s.Kind == "close":
		o.Bench.Close(s.Who)
	case p.Closed:
		// Nobody pushes to a closed pull request here: the forge in memory can't tell what then happens.
		return "closed", nil
	case s.Kind == "merge base":
		o.Bench.MergeBase(s.Who, map[string]string{"base.txt": s.Body + "\n"})
	default:
		return "ok", s.push(o, p.Head)
	}
	return "ok", nil
}

// push changes a file, or takes back what the pull request changed in one, which
// is no change to the server.
func (s Step) push(o *Observer, head string) error {
	path, text := fmt.Sprintf("%d.txt", s.Target), s.Body+"\n"
	if s.Extra {
		now, err := o.Bench.As("bot").File(o.ctx, "main.go", head)
		if err != nil {
			return err
		}
		if before := BaseFiles()["main.go"]; before != string(now) {
			path, text = "main.go", before
		}
	}
	o.Bench.Push(s.Who, map[string]string{path: text})
	return nil
}
