package giteatest

import (
	"net/http"
	"net/url"
)

// A User is an account on the server.
type User struct {
	Name, Password string
	ID             int64
	Token          string // of scope all
}

// Email is the address that the account and its commits have.
func (u *User) Email() string { return u.Name + "@example.org" }

// into is where the server's JSON for the user is decoded to.
func (u *User) into() any {
	return &struct {
		ID *int64 `json:"id"`
	}{&u.ID}
}

func password(name string) string { return "password of " + name }

// NewUser makes an account with a token of all scopes. The name must be new on
// the server, see [Unique].
func (s *Server) NewUser(tb TB, name string) *User {
	tb.Helper()
	u := &User{Name: name, Password: password(name)}
	s.Call(tb, s.Admin.Token, http.MethodPost, "/admin/users", map[string]any{
		"username": u.Name, "email": u.Email(), "password": u.Password, "must_change_password": false,
	}, u.into())
	u.Token = s.NewToken(tb, u, "all")
	return u
}

// NewToken makes a further token for u with just these scopes, such as
// write:repository, write:issue or read:user.
func (s *Server) NewToken(tb TB, u *User, scopes ...string) string {
	tb.Helper()
	var made struct{ SHA1 string }
	// The server gives out tokens for a password only.
	_, err := s.do(tb.Context(), func(r *http.Request) { r.SetBasicAuth(u.Name, u.Password) },
		http.MethodPost, "/users/"+url.PathEscape(u.Name)+"/tokens",
		map[string]any{"name": Unique("token"), "scopes": scopes}, &made)
	check(tb, err)
	return made.SHA1
}
