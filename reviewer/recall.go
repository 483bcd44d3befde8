package reviewer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sourcegraph/conc/pool"

	"review-bot/escalation"
	"review-bot/reviewer/diff"
	"review-bot/reviewer/finding"
	"review-bot/sentinel"
)

const (
	// atOnce bounds how many requests are under way side by side.
	atOnce = 4
	// maxTraced bounds in how many files changes since a finding are looked up; of
	// the others it isn't known what became of them.
	maxTraced = 100
)

// recall reads the role's earlier findings, with what people said to them.
func (r *run) recall(ctx context.Context, st state) ([]finding.Earlier, error) {
	reviews, _ := r.conversations(st.log)
	own, signed := map[int64]bool{}, map[int64]bool{}
	for _, row := range st.log.Rows {
		_, s, err := sentinel.Split(row.Body)
		own[row.ID], signed[row.ID] = r.owns(row), err == nil && r.key.Verify(s)
	}
	lists, err := inReviews(ctx, reviews, r.env.Forge.Comments)
	if err != nil {
		return nil, err
	}
	memory := finding.Memory{
		Role: r.set.Role, Key: r.key, Account: st.account.ID, Author: st.pull.Author.ID, Own: func(review int64) bool { return own[review] },
		Claims: claims(st.log),
	}
	for _, c := range slices.Concat(lists...) {
		comment := asFound(c)
		comment.URL = fmt.Sprintf("%s#issuecomment-%d", st.pull.URL, c.ID) // the server's own leads elsewhere while its review is pending
		// A push that changes the line moves the server's time of the comment, too; so only one
		// that the account can't vouch for may have been edited.
		// In a review that was posted with this token every comment is vouched for: one that isn't
		// was edited, also if that was in the second of the POST, of which the times show nothing.
		// After a change of the token only the times speak. Of a review the server keeps the text as it
		// was posted, of an inline comment it doesn't: what may have been edited isn't believed.
		comment.Edited = !finding.Vouched(c.Body, r.key) && (signed[c.Review] || !c.Updated.Equal(c.Created))
		memory.Comments = append(memory.Comments, comment)
	}
	if cur, ok := st.log.Current(r.set.Role); ok {
		memory.Raised = field(cur.Sentinel, raisedField)
		memory.Closed = strings.Split(field(cur.Sentinel, closedField), ",")
		memory.Fixed, _ = cur.Sentinel.IDs(fixedField)
		memory.Heard = cur.Sentinel.Heard
		memory.Body, memory.BodyURL = escalation.Recorded(cur).Body.Text, cur.Row.URL
	}
	memory.MayWrite = r.mayWrite(ctx, memory.Resolvers())
	earlier := memory.Earlier()
	for i, e := range earlier { // anybody with write access may have edited the comment
		earlier[i].Title, earlier[i].Body = r.env.Secrets.Redact(e.Title), r.env.Secrets.Redact(e.Body)
	}
	r.doubt = doubt(st.log, r.set.Role, r.key, memory.Comments, earlier)
	return earlier, nil
}

// claims reports whether a conversation was closed by somebody whose tool replied to
// it in an ordinary comment, as not every server lets a program reply.
func claims(log escalation.Log) func(finding.Conversation) bool {
	type claim struct {
		user   int64
		thread string
	}
	made := map[claim]bool{}
	for _, e := range log.Entries {
		if reply, _, ok := sentinel.FindReply(e.Body); ok && e.Kind == escalation.EntryComment {
			made[claim{e.User, reply.Thread}] = true
		}
	}
	return func(c finding.Conversation) bool {
		root := c.Comments[0]
		return made[claim{c.Resolver().ID, fmt.Sprintf("%d:%d", root.Review, root.ID)}]
	}
}

// inReviews reads the inline comments of reviews side by side, in the reviews' order.
func inReviews(ctx context.Context, reviews []int64, read func(ctx context.Context, review int64) ([]Comment, error)) ([][]Comment, error) {
	lists := make([][]Comment, len(reviews))
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(atOnce)
	for i, review := range reviews {
		p.Go(func(ctx context.Context) (err error) {
			lists[i], err = read(ctx, review)
			return err
		})
	}
	return lists, p.Wait()
}

// asFound is an inline comment as the forge shows it.
func asFound(c Comment) finding.Comment {
	return finding.Comment{
		ID: c.ID, Review: c.Review, Author: finding.User{ID: c.Author, Login: c.Login}, Body: c.Body, Path: c.Path,
		NewLine: c.NewLine, OldLine: c.OldLine, Commit: c.Commit, Resolver: finding.User{ID: c.Resolver, Login: c.ResolverLogin}, URL: c.URL,
	}
}

// inlineField is the sentinel's field that holds how many inline comments with
// findings the role has.
const inlineField = "inline"

func inline(earlier []finding.Earlier) int {
	n := 0
	for _, e := range earlier {
		if e.Comment != 0 {
			n++
		}
	}
	return n
}

// doubt tells, for people, why the role may have forgotten a finding: anybody with
// write access may edit and delete what the account has written. "" if nobody did.
func doubt(log escalation.Log, role string, key sentinel.Key, comments []finding.Comment, earlier []finding.Earlier) string {
	cur, ok := log.Current(role)
	if !ok {
		return ""
	}
	known, err := strconv.Atoi(field(cur.Sentinel, inlineField))
	_, posted, _ := sentinel.Split(cur.Row.Body)
	edited := slices.ContainsFunc(earlier, func(e finding.Earlier) bool {
		return e.Status == finding.Open && slices.ContainsFunc(comments, func(c finding.Comment) bool { return c.ID == e.Comment && c.Edited })
	})
	switch {
	case cur.Row.CommentID == 0:
		return "the text of the last review was deleted"
	case cur.Edited:
		return "the text of the last review was edited"
	case err == nil && inline(earlier) < known:
		return "a finding's comment was deleted, or its marker was"
	case edited && !key.Verify(posted):
		return "the account's token was changed, and a finding's comment may have been edited: its severity counts as the worst"
	case edited:
		return "a finding's comment was edited"
	}
	return ""
}

// commentsField is the sentinel's field that holds how many inline comments the
// role's conversations have, its own included.
const commentsField = "comments"

// conversations are the reviews with inline comments in which the role's findings
// may be, and how many comments they have: the role's own; leftovers, which may
// hold findings of any role; and those of the time before sentinels.
func (r *run) conversations(log escalation.Log) (reviews []int64, comments int) {
	for _, row := range log.Rows {
		_, s, err := sentinel.Split(row.Body)
		if row.Comments > 0 && (r.owns(row) || errors.Is(err, sentinel.ErrNone) || err == nil && s.Kind == sentinel.KindOrphan) {
			reviews = append(reviews, row.ID)
			comments += row.Comments
		}
	}
	return reviews, comments
}

// owns tells whether a review of the account is the role's.
func (r *run) owns(row Row) bool {
	_, s, err := sentinel.Split(row.Body)
	return err == nil && s.Role == r.set.Role && s.Kind != sentinel.KindOrphan
}

// The sentinel's fields that hold finding.Round's Raised, Closed and Fixed.
const (
	raisedField = "raised"
	closedField = "closed"
	fixedField  = "fixed"
)

// closed lists the newest ids for which a sentinel's value has room. One that is
// left out counts as open, and is closed again.
func closed(ids []string) string {
	text := ""
	for _, id := range slices.Backward(ids) {
		if item := id + "," + text; len(item) <= sentinel.MaxValue {
			text = item
		}
	}
	return strings.TrimSuffix(text, ",")
}

// field is a field of a sentinel that only this package knows; "" if there is none.
func field(s sentinel.Sentinel, key string) string { return s.Field(key) }

// content is what a file held at the commits of some findings.
type content struct {
	head, blob string // blob may be missing
	changes    []*finding.Change
}

// trace finds out what became of the findings' files since. The diff tells which
// files hold the same as then; of the others both versions are read, each once.
func (r *run) trace(ctx context.Context, earlier []finding.Earlier, d diff.Diff, head string) error {
	changes, err := r.changes(ctx, earlier, d, head)
	for i, e := range earlier {
		if change := changes[finding.Version{Path: e.Place.Path, Head: e.Head}]; change != nil {
			earlier[i].Since = *change
		}
	}
	return err
}

// since is what became of files since the commits of findings.
func (r *run) since(ctx context.Context, versions []finding.Version, d diff.Diff, head string) (map[finding.Version]finding.Change, error) {
	var list []finding.Earlier
	for _, v := range versions {
		list = append(list, finding.Earlier{Finding: finding.Finding{Place: diff.Place{Path: v.Path}, Head: v.Head}})
	}
	found, err := r.changes(ctx, list, d, head)
	if err != nil {
		return nil, err
	}
	changes := map[finding.Version]finding.Change{}
	for v, change := range found {
		changes[v] = *change
	}
	return changes, nil
}

// changes reads what became of the files that findings were made in.
func (r *run) changes(ctx context.Context, earlier []finding.Earlier, d diff.Diff, head string) (map[finding.Version]*finding.Change, error) {
	since := map[finding.Version]*finding.Change{}
	changed := map[string][]*content{}
	for _, e := range earlier {
		v := finding.Version{Path: e.Place.Path, Head: e.Head}
		if v.Path == "" || v.Head == "" || since[v] != nil {
			continue
		}
		file, inDiff := d.File(v.Path)
		change := &finding.Change{Path: v.Path}
		if inDiff {
			change.Path = file.Path
		}
		since[v] = change
		if v.Head == head || inDiff && diff.SameBlob(e.Blob, finding.BlobOf(file)) {
			change.Known = true
			continue
		}
		contents, known := changed[v.Path]
		i := slices.IndexFunc(contents, func(c *content) bool { return diff.SameBlob(c.blob, e.Blob) })
		switch {
		case i >= 0:
			contents[i].changes = append(contents[i].changes, change)
		case known || len(changed) < maxTraced:
			changed[v.Path] = append(contents, &content{v.Head, e.Blob, []*finding.Change{change}})
		}
	}
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(atOnce)
	for path, contents := range changed {
		file, _ := d.File(path)
		stays := file.Path != "" && file.Status != diff.Deleted
		p.Go(func(ctx context.Context) error { return r.compare(ctx, path, contents, stays, head) })
	}
	return since, p.Wait()
}

// compare reads what a file holds at head, and what it held then. stays says that
// the head has the file, so that it isn't gone if it can't be found. Secrets are
// masked in both before they are compared, as in the diff of the pull request.
func (r *run) compare(ctx context.Context, path string, contents []*content, stays bool, head string) error {
	now := contents[0].changes[0].Path
	after, here, err := r.version(ctx, now, head)
	if errors.Is(err, ErrNoCommit) || err == nil && stays && !here {
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range contents {
		before, there, err := r.version(ctx, path, c.head)
		if errors.Is(err, ErrNoCommit) {
			continue // it is gone after a forced push
		}
		if err != nil {
			return err
		}
		found := finding.Change{Path: now, Known: here || there, Gone: there && !here, Added: here && !there, Text: after}
		found.Diff = diff.Between(now, before, after)
		for _, change := range c.changes {
			*change = found
		}
	}
	return nil
}

// version reads a file at a commit, with its secrets masked.
func (r *run) version(ctx context.Context, path, commit string) (data []byte, ok bool, err error) {
	files, err := r.env.Forge.Files(ctx, []string{path}, commit)
	data, ok = files[path]
	if text, _, readable := diff.Decode(data); readable {
		data = text
	}
	return []byte(r.env.Secrets.Redact(string(data))), ok, err
}
