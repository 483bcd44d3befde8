package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// Script answers one chat request that passed the server's own checks. It is
// called by several requests at once and may keep or change what it is given.
type Script func(Request) Reply

// broken is the status that says that the script is wrong. No model server
// answers it, and no client asks again.
const broken = http.StatusTeapot

// Sequence gives one reply after the other, in the order in which requests
// reach the script. After the last one every further request gets a 418 that
// says that the script is used up, so that an unexpected call shows. Refused
// requests use up nothing. The place is kept in the script: a server each.
func Sequence(replies ...Reply) Script {
	replies = slices.Clone(replies)
	var asked atomic.Int64
	return func(req Request) Reply {
		n := int(asked.Add(1))
		if n > len(replies) {
			return Fail(broken,
				fmt.Sprintf("modeltest: the script is used up: it has %d replies; %s", len(replies), req.describe()))
		}
		return replies[n-1]
	}
}

// Match is a reply with the conditions under which it is given; all that are
// set must hold, and with none set it is given to every request.
type Match struct {
	// Contains lists strings that must all occur in the text of the messages.
	Contains []string
	// Model is the name of the model asked.
	Model string
	// When is any other condition; it may be called by several requests at
	// once.
	When func(Request) bool
	// Times is how often the reply is given before the match is passed over;
	// 0 or less is without limit.
	Times int

	Reply Reply
}

func (m Match) holds(req Request) bool {
	for _, s := range m.Contains {
		if !req.Contains(s) {
			return false
		}
	}
	return (m.Model == "" || m.Model == req.Model) && (m.When == nil || m.When(req))
}

// ByMatch gives the reply of the first match that holds. If none does, the
// answer is a 418 that names what was asked. How often a match was used is
// kept in the script: a server each.
func ByMatch(matches ...Match) Script {
	matches = slices.Clone(matches)
	var mu sync.Mutex
	used := make([]int, len(matches))
	take := func(i int) bool {
		mu.Lock()
		defer mu.Unlock()
		if matches[i].Times > 0 && used[i] >= matches[i].Times {
			return false
		}
		used[i]++
		return true
	}
	return func(req Request) Reply {
		for i, m := range matches {
			if m.holds(req) && take(i) {
				return m.Reply
			}
		}
		return Fail(broken,
			fmt.Sprintf("modeltest: none of the script's %d matches holds for %s", len(matches), req.describe()))
	}
}

// Answer is the reply whose content is v as JSON. It panics if v can't be
// marshalled.
func Answer(v any) Reply {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false) // models don't escape <, > and &
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("modeltest: the answer can't be marshalled: %v", err))
	}
	return Reply{Content: string(bytes.TrimSpace(content.Bytes()))}
}

// Fail is the reply with that HTTP status, from 400 to 599, and error message.
func Fail(status int, message string) Reply {
	return Reply{Status: status, Error: message}
}
