package sentinel

import (
	"fmt"
	"strconv"
	"strings"
)

// Reply is the hidden line of a reply that `settle` wrote into a conversation:
//
//	<!-- review-bot-reply:12:345 covers=350 -->
//
// By it the next run knows what has been answered. It decides about no verdict,
// so it carries no code: whoever may edit the reply can at worst have it said
// again, or not said again.
type Reply struct {
	Thread string // the conversation: its review's id, a colon, the id of its oldest comment
	Covers int64  // the newest comment that the reply answers
	Closed bool   // the conversation was closed after the reply; that it is open says that somebody reopened it
}

const replyOpen = "<!-- review-bot-reply:"

// String encodes the line.
func (r Reply) String() string {
	closed := ""
	if r.Closed {
		closed = " state=" + stateClosed
	}
	return fmt.Sprintf("%s%s covers=%d%s%s", replyOpen, r.Thread, r.Covers, closed, close)
}

// FindReply decodes the last line of a comment that the account itself wrote. rest
// is the text before it.
func FindReply(text string) (r Reply, rest string, ok bool) {
	text = strings.TrimRight(text, " \t\r\n")
	last := strings.LastIndexByte(text, '\n') + 1
	thread, fields, err := split(text[last:], replyOpen)
	review, root, two := strings.Cut(thread, ":")
	if err != nil || !two || !validNumber(review) || !validNumber(root) || len(fields) == 0 || len(fields) > 2 || fields[0].Key != "covers" || !validNumber(fields[0].Value) {
		return Reply{}, text, false
	}
	r.Thread = thread
	if r.Covers, err = strconv.ParseInt(fields[0].Value, 10, 64); err != nil {
		return Reply{}, text, false
	}
	if len(fields) == 2 {
		if fields[1] != (Field{"state", stateClosed}) {
			return Reply{}, text, false
		}
		r.Closed = true
	}
	return r, strings.TrimRight(text[:last], " \t\r\n"), true
}

func validNumber(s string) bool { return s != "" && len(s) < 20 && every(s, digit) && s[0] != '0' }
