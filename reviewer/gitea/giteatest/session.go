package giteatest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
)

// submit sends a form of the web pages as a user, who is signed in first. It is
// for what the API doesn't have.
//
// Gitea 1.26 has no CSRF token: it goes by Sec-Fetch-Site and Origin (Go's
// http.CrossOriginProtection), and takes a request without either for one that
// comes from no browser.
func (s *Server) submit(ctx context.Context, as *User, path string, form url.Values) error {
	client, err := s.session(ctx, as)
	if err != nil {
		return err
	}
	status, text, err := s.postForm(ctx, client, path, form)
	if err != nil {
		return err
	}
	// A form that isn't valid is answered with a redirect.
	if status != http.StatusOK {
		return &APIError{Method: http.MethodPost, Path: path, Status: status, Message: shorten(text)}
	}
	return nil
}

// session is a client that is signed in as the user.
func (s *Server) session(ctx context.Context, as *User) (*http.Client, error) {
	if known, ok := s.sessions.Load(as.Name); ok {
		return known.(*http.Client), nil
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport: s.client.Transport, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	const path = "/user/login"
	status, text, err := s.postForm(ctx, client, path, url.Values{"user_name": {as.Name}, "password": {as.Password}})
	if err != nil {
		return nil, err
	}
	// What was refused is answered 200, with the form again.
	if status != http.StatusSeeOther {
		return nil, fmt.Errorf("POST %s as %s: %d %s", path, as.Name, status, shorten(text))
	}
	s.sessions.Store(as.Name, client)
	return client, nil
}

func (s *Server) postForm(ctx context.Context, client *http.Client, path string, form url.Values) (status int, text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}

// shorten is the begin of a page, in one line.
func shorten(page []byte) string {
	text := strings.Join(strings.Fields(string(page)), " ")
	return text[:min(len(text), 300)]
}
