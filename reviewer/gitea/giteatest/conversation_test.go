package giteatest

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// talkative is a repository with a pull request of author's, and an inline comment of
// reviewer's on each side of a.go.
func talkative(t *testing.T, private bool, author string) (pull *Pull, users map[string]*User, onNew, onOld Comment) {
	t.Helper()
	srv := Get(t)
	users = map[string]*User{}
	for _, name := range []string{"owner", "writer", "reader", "outsider"} {
		users[name] = srv.NewUser(t, Unique(name))
	}
	repo := srv.NewRepo(t, users["owner"], "app", RepoOptions{Private: private, Files: map[string]string{"dir/a b.go": "1\n2\n3\n"}})
	repo.AddCollaborator(t, users["writer"], "write")
	repo.AddCollaborator(t, users["reader"], "read")
	repo.Commit(t, "topic", "main", Files(map[string]string{"dir/a b.go": "1\nzwei\n3\n"}), "german")
	pull = repo.As(users[author]).OpenPull(t, PullOptions{Head: "topic"})
	review := pull.Review(t, users["writer"], ReviewInput{Event: "COMMENT", Body: "hm", Comments: []CommentInput{
		{Path: "dir/a b.go", Body: "why?", NewPosition: 2}, {Path: "dir/a b.go", Body: "and this?", OldPosition: 2},
	}})
	comments := pull.Comments(t, review.ID)
	slices.SortFunc(comments, func(a, b Comment) int { return int(a.ID - b.ID) })
	if len(comments) != 2 || comments[0].Position != 2 || comments[1].Original != 2 || comments[0].ReviewID != review.ID {
		t.Fatalf("comments %+v", comments)
	}
	return pull, users, comments[0], comments[1]
}

func TestReply(t *testing.T) {
	t.Parallel()
	pull, users, onNew, onOld := talkative(t, false, "writer")
	for _, to := range []Comment{onNew, onOld} {
		for _, name := range []string{"outsider", "writer", "outsider"} {
			const text = "because of <this> & that=\"+%\nline two"
			id := pull.Reply(t, users[name], to.ID, text)
			all := pull.Comments(t, to.ReviewID)
			i := slices.IndexFunc(all, func(c Comment) bool { return c.ID == id })
			if i < 0 {
				t.Fatalf("no comment %d among %+v", id, all)
			}
			got := all[i]
			if got.Body != text || got.User.Login != users[name].Name || got.Path != to.Path || got.Position != to.Position || got.Original != to.Original ||
				!strings.HasSuffix(got.HTMLURL, "#issuecomment-"+strconv.FormatInt(id, 10)) || got.Created.Before(to.Created) {
				t.Errorf("reply %+v to %+v", got, to)
			}
		}
	}
	if all := pull.Reviews(t); len(all) != 1 || all[0].CommentsCount != 8 {
		t.Errorf("reviews %+v, want one with 8 comments", all)
	}
	// A reply to a reply, and one to a comment whose line is gone.
	again := pull.Comments(t, onNew.ReviewID)
	pull.Repo.Commit(t, "topic", "", Files(map[string]string{"dir/a b.go": "1\n"}), "less")
	pull.Reply(t, users["reader"], again[len(again)-1].ID, "I see")
	if all := pull.Reviews(t); len(all) != 1 || all[0].CommentsCount != 9 {
		t.Errorf("reviews %+v, want one with 9 comments", all)
	}
}

func TestReplyThatIsRefused(t *testing.T) {
	t.Parallel()
	pull, users, onNew, _ := talkative(t, true, "writer")
	if _, err := pull.reply(t.Context(), users["writer"], onNew.ID+1_000_000, "x"); err == nil || !strings.Contains(err.Error(), "has no inline comment") {
		t.Errorf("to a comment that isn't there: %v", err)
	}
	var refused *APIError
	if _, err := pull.reply(t.Context(), users["outsider"], onNew.ID, "x"); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("by somebody who can't see the repository: %v, want a 404", err)
	}
	if _, err := pull.reply(t.Context(), users["writer"], onNew.ID, ""); !errors.As(err, &refused) || refused.Status != http.StatusSeeOther {
		t.Errorf("an empty one: %v, want a redirect", err)
	}
	stranger := &User{Name: users["reader"].Name, Password: "wrong"}
	if _, err := pull.reply(t.Context(), stranger, onNew.ID, "x"); err == nil || !strings.Contains(err.Error(), "/user/login as "+stranger.Name+": 200") {
		t.Errorf("with a wrong password: %v", err)
	}
	if all := pull.Comments(t, onNew.ReviewID); len(all) != 2 {
		t.Errorf("comments %+v, want the first two", all)
	}
}

// Who may resolve: writers, the pull request's author whatever else it may do, and
// official reviewers. A reader is one only if a protection names it, which a
// public repository's doesn't: the server drops names without access of their own.
func TestWhoMayResolve(t *testing.T) {
	t.Parallel()
	t.Run("a reader's pull request", func(t *testing.T) {
		t.Parallel()
		pull, users, onNew, _ := talkative(t, false, "reader")
		for name, want := range map[string]int{"owner": 204, "writer": 204, "reader": 204, "outsider": 403} {
			for _, resolved := range []bool{true, true, false, false} {
				if status, message := pull.TryResolve(t, users[name], onNew.ID, resolved); status != want {
					t.Errorf("%s, resolved %t: %d %q, want %d", name, resolved, status, message, want)
				}
			}
		}
	})
	t.Run("an official reviewer", func(t *testing.T) {
		t.Parallel()
		for _, private := range []bool{true, false} {
			pull, users, onNew, _ := talkative(t, private, "writer")
			reader, want := users["reader"], map[bool]int{true: 204, false: 403}[private]
			if status, _ := pull.TryResolve(t, reader, onNew.ID, true); status != 403 {
				t.Errorf("private %t: a reader is answered %d, want 403", private, status)
			}
			pull.Repo.As(users["owner"]).Protect(t, "main", Protection{ApprovalsWhitelist: []string{reader.Name}})
			if status, message := pull.TryResolve(t, reader, onNew.ID, true); status != want {
				t.Errorf("private %t: a listed reader is answered %d %q, want %d", private, status, message, want)
			}
		}
	})
	t.Run("what shows", func(t *testing.T) {
		t.Parallel()
		pull, users, onNew, onOld := talkative(t, false, "writer")
		pull.Resolve(t, users["owner"], onNew.ID)
		pull.Resolve(t, users["writer"], onOld.ID)
		pull.Unresolve(t, users["owner"], onOld.ID)
		for _, c := range pull.Comments(t, onNew.ReviewID) {
			if (c.Resolver != nil) != (c.ID == onNew.ID) || c.Resolver != nil && c.Resolver.Login != users["owner"].Name {
				t.Errorf("comment %d: resolver %+v", c.ID, c.Resolver)
			}
		}
	})
}
