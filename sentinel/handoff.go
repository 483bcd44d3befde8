package sentinel

import (
	"fmt"
	"strconv"
	"strings"
)

// Handoff is the hidden line of the comment by which a role hands the pull
// request over to people, once per count of rounds:
//
//	<!-- review-bot-handoff:security epoch=4711 -->
type Handoff struct {
	Role  string
	Epoch int64 // timeline id of what started the count; 0: the pull request's beginning
}

const handoffOpen = "<!-- review-bot-handoff:"

// String encodes the line.
func (h Handoff) String() string {
	return fmt.Sprintf("%s%s epoch=%d%s", handoffOpen, h.Role, h.Epoch, close)
}

// FindHandoff decodes the last line of a comment that the account itself wrote.
func FindHandoff(text string) (Handoff, bool) {
	text = strings.TrimRight(text, " \t\r\n")
	role, fields, err := split(text[strings.LastIndexByte(text, '\n')+1:], handoffOpen)
	if err != nil || !ValidRole(role) || len(fields) != 1 || fields[0].Key != "epoch" {
		return Handoff{}, false
	}
	epoch, err := strconv.ParseInt(fields[0].Value, 10, 64)
	h := Handoff{role, epoch}
	return h, err == nil && epoch >= 0
}
