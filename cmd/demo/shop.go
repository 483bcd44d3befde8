package main

import (
	"review-bot/reviewer/gitea/giteatest"
)

// shop is the seeded repository with its people and an open pull request that
// has defects planted in it.
type shop struct {
	alice  *giteatest.User // owner, author of the pull request
	sonnet *giteatest.User // bot account of two roles
	gpt    *giteatest.User // bot account of one role
	repo   *giteatest.Repo
	pull   *giteatest.Pull
}

func seed(tb giteatest.TB, srv *giteatest.Server) shop {
	s := shop{alice: srv.NewUser(tb, "alice"), sonnet: srv.NewUser(tb, "sonnet-bot"), gpt: srv.NewUser(tb, "gpt-bot")}
	s.repo = srv.NewRepo(tb, s.alice, "shop", giteatest.RepoOptions{Files: before})
	for _, bot := range []*giteatest.User{s.sonnet, s.gpt} {
		s.repo.AddCollaborator(tb, bot, "write")
	}
	s.repo.Protect(tb, "main", giteatest.Protection{RequiredApprovals: 1, BlockOnRejectedReviews: true})
	s.repo.Commit(tb, "user-search", "main", giteatest.Files(after), "search users by name, log in with a session")
	s.pull = s.repo.OpenPull(tb, giteatest.PullOptions{
		Head: "user-search", Title: "Search users by name", Body: "Adds a search by name, and keeps people logged in.",
	})
	return s
}

var before = map[string]string{
	"go.mod":    "module shop\n\ngo 1.26\n",
	"README.md": "# shop\n\nA very small shop.\n",
	"store/user.go": `package store

import (
	"database/sql"
	"errors"
)

// User is a customer.
type User struct {
	ID   int64
	Name string
}

// ErrNoUser says that there is no such user.
var ErrNoUser = errors.New("no such user")

// Get reads a user by id.
func Get(db *sql.DB, id int64) (User, error) {
	var u User
	err := db.QueryRow("SELECT id, name FROM users WHERE id = ?", id).Scan(&u.ID, &u.Name)
	if errors.Is(err, sql.ErrNoRows) {
		return u, ErrNoUser
	}
	return u, err
}

// Delete removes a user. Only an admin may.
func Delete(db *sql.DB, actor User, id int64) error {
	if !isAdmin(actor) {
		return errors.New("admins only")
	}
	_, err := db.Exec("DELETE FROM users WHERE id = ?", id)
	return err
}

func isAdmin(u User) bool { return u.ID == 1 }
`,
}

var after = map[string]string{
	"store/user.go": `package store

import (
	"database/sql"
	"errors"
)

// User is a customer.
type User struct {
	ID   int64
	Name string
}

// ErrNoUser says that there is no such user.
var ErrNoUser = errors.New("no such user")

// Get reads a user by id.
func Get(db *sql.DB, id int64) (User, error) {
	var u User
	err := db.QueryRow("SELECT id, name FROM users WHERE id = ?", id).Scan(&u.ID, &u.Name)
	if errors.Is(err, sql.ErrNoRows) {
		return u, ErrNoUser
	}
	return u, err
}

// Search finds users by a part of their name.
func Search(db *sql.DB, name string) ([]User, error) {
	rows, err := db.Query("SELECT id, name FROM users WHERE name LIKE '%" + name + "%'")
	if err != nil {
		return nil, err
	}
	var users []User
	for rows.Next() {
		var u User
		if err := rows.Scan(&u.ID, &u.Name); err != nil {
			return nil, err
		}
		users = append(users, u)
	}
	return users, nil
}

// Delete removes a user. Only an admin may.
func Delete(db *sql.DB, actor User, id int64) error {
	_, err := db.Exec("DELETE FROM users WHERE id = ?", id)
	return err
}

func isAdmin(u User) bool { return u.ID == 1 }
`,
	"auth/session.go": `package auth

import (
	"fmt"
	"math/rand"
)

// NewSession makes the id of a session.
func NewSession() string {
	return fmt.Sprintf("%x", rand.Int63())
}
`,
	"docs/search.md": "# Search\n\n`GET /users?name=ann` lists the users whose name contains “ann”.\n",
}
