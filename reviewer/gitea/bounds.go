package gitea

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// Bounds of what is read of one answer, in bytes after decompression: a megabyte of
// gzip can hold a gigabyte. The server in use may be anybody's, and on a public one
// anybody can write a comment of 20 MiB.
const (
	mostData  = 64 << 20  // of a diff, or of files
	mostJSON  = 32 << 20  // of any other answer, its texts shortened
	mostTexts = 256 << 20 // of a list of texts that people wrote, before they are shortened
	mostText  = 512 << 10 // of one such text; the bot's own have 60,000 characters at most
	mostWords = 1 << 20   // of an answer that is an error, whose end isn't missed
)

// tooMuchError says that an answer is longer than is read of it.
type tooMuchError struct {
	most int64
	next string
}

func (e *tooMuchError) Error() string {
	return fmt.Sprintf("the answer is longer than %d MiB", e.most>>20)
}

// errBroken says that an answer had no end.
var errBroken = errors.New("the answer broke off")

// prosePath matches the addresses of what people wrote: reviews, timeline, inline
// comments, and pull requests with their descriptions.
var prosePath = regexp.MustCompile(`/(reviews|timeline|comments|pulls|pulls/\d+)$`)

const (
	nextOfData = "open smaller pull requests: this one is too large to be read"
	nextOfJSON = "check --server (GITHUB_SERVER_URL); if that is the forge, open another pull request: this one has grown too long to be read"
)

// bounded bounds what is read of an answer from the path.
func bounded(path string, resp *http.Response) {
	body := resp.Body
	var from io.Reader
	switch {
	case resp.StatusCode/100 != 2:
		from = io.LimitReader(body, mostWords)
	case strings.HasSuffix(path, ".diff"), strings.Contains(path, "/raw/"), strings.Contains(path, "/git/"),
		strings.HasSuffix(path, "/file-contents"):
		from = &capped{body, mostData, &tooMuchError{mostData, nextOfData}}
	case prosePath.MatchString(path):
		from = &capped{body, mostTexts, &tooMuchError{mostTexts, nextOfJSON}}
		from = &capped{&shortener{from: from}, mostJSON, &tooMuchError{mostJSON, nextOfJSON}}
	default:
		from = &capped{body, mostJSON, &tooMuchError{mostJSON, nextOfJSON}}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{from, body}
}

// capped is a reader that fails where it would give more than so many bytes.
type capped struct {
	from io.Reader
	left int64
	err  *tooMuchError
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, c.err
	}
	return n, err
}

// shortener passes JSON on and shortens its strings to mostText bytes.
type shortener struct {
	from     io.Reader
	inside   bool // a string
	dropping bool // what the string goes on with
	length   int  // of what was kept of the string
	escape   int  // how many bytes of an escape sequence are to come; -1: at least one
}

func (s *shortener) Read(p []byte) (int, error) {
	for {
		n, err := s.from.Read(p)
		kept := 0
		for _, b := range p[:n] {
			if s.keep(b) {
				p[kept] = b
				kept++
			}
		}
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// keep reports whether the next byte is passed on. An escape sequence is as a whole,
// or not at all.
func (s *shortener) keep(b byte) bool {
	switch {
	case !s.inside:
		s.inside, s.dropping, s.length = b == '"', false, 0
		return true
	case s.escape < 0:
		s.escape = 0
		if b == 'u' {
			s.escape = 4
		}
	case s.escape > 0:
		s.escape--
	case b == '"':
		s.inside = false
		return true
	default:
		if s.dropping = s.length >= mostText; b == '\\' {
			s.escape = -1
		}
	}
	if !s.dropping {
		s.length++
	}
	return !s.dropping
}
