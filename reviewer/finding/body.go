package finding

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"review-bot/prompts"
	"review-bot/reviewer/untrusted"
	"review-bot/sentinel"
)

// Bounds of what is published, in characters. Servers take much longer texts;
// people don't.
const (
	maxBody    = 60_000 // of Text, all in all
	maxTitle   = 120
	maxText    = 8_000 // of one finding
	maxSummary = 1_500
	maxRows    = 100    // of a table or list
	maxTable   = 30_000 // what of it is longer is counted, as are rows past maxRows
	maxClosed  = 4_000  // of each list of findings that don't count
	maxLeftOut = 6_000  // of the list of files that needn't be read
	minUnread  = 15_000 // that the list of files not read has, however long the findings of the body are
	signs      = 200    // room for what stands around the findings of the body
)

// Report is what a review's body tells.
type Report struct {
	Role      string
	Own       sentinel.Verdict // comment for advisory roles
	Head      string
	Findings  []Finding // that count, in order
	Resolved  []Finding // closed by this round
	Answered  []Finding // not counted, but a person spoke: left open
	Waived    []Finding // closed by a person who may do so, or dismissed
	Dismissed []Finding // those of Waived that a dismissal waived: they are still open
	Threshold prompts.Severity
	Summary   string // the model's words, not yet fit to be published
	Files     int    // reviewed
	Unread    []Unread
	Masked    int    // values that the model wasn't shown
	Partial   bool   // some of Unread had no room in what the model may be asked
	Since     string // commit that was reviewed before, if only what changed since was looked at
	Whole     string // why all was looked at again, for people; "" in a first round
	Round     int    // of MaxRounds; 0 to say nothing of it
	MaxRounds int
	FollowUp  FollowUp
	Repo      string // address of the repository's page; "" leaves code unlinked
	Pull      string // address of the pull request's page; "" leaves new findings unlinked
	Key       sentinel.Key
	Base      string // commit that old lines are linked at
}

// Text is the body of a review, without notice, usage line and sentinel.
func (r Report) Text() string {
	blocks := []string{r.Headline()}
	if table := r.table(); table != "" {
		blocks = append(blocks, table)
	}
	if doubts := r.doubts(); doubts != "" {
		blocks = append(blocks, doubts)
	}
	if summary := r.summary(); summary != "" && len(r.Findings) > 0 {
		blocks = append(blocks, summary)
	}
	if text := r.FollowUp.text(r.Role); text != "" {
		blocks = append(blocks, text)
	}
	if r.Whole != "" {
		blocks = append(blocks, "The whole diff was reviewed again: "+r.Whole+".")
	}
	if note := r.maskedNote(); note != "" {
		blocks = append(blocks, note)
	}
	tail := strings.Trim(r.closed()+"\n\n"+r.leftOut(), "\n")
	room := maxBody - length(blocks) - utf8.RuneCountInString(tail) - signs
	blocks = append(blocks, r.below(room-min(minUnread, utf8.RuneCountInString(r.unread(room))))...)
	unread := r.unread(maxBody - length(blocks) - utf8.RuneCountInString(tail) - signs)
	for _, text := range []string{unread, tail} {
		if text != "" {
			blocks = append(blocks, text)
		}
	}
	return strings.Join(blocks, "\n\n")
}

// summary is what the model says of the change. The first line that looks like the
// title of the findings below has to be that title: see Memory.inBody.
func (r Report) summary() string {
	text := untrusted.Markdown(bounded(r.Summary, maxSummary))
	return strings.Trim(belowTitle.ReplaceAllString(text, ""), "\n")
}

func length(blocks []string) int {
	n := 0
	for _, b := range blocks {
		n += utf8.RuneCountInString(b) + 2
	}
	return n
}

// Headline says verdict and why in one line.
func (r Report) Headline() string {
	verb := map[sentinel.Verdict]string{
		sentinel.Approved: "approves", sentinel.RequestChanges: "requests changes", sentinel.Comment: "comments",
	}[r.Own]
	if r.Partial {
		verb = "partly reviewed — " + r.Role + " " + verb
	} else {
		verb = r.Role + " " + verb
	}
	line := fmt.Sprintf("**%s** · ", verb)
	blocking := Blocking(r.Findings, r.Threshold)
	minor := len(r.Findings) - blocking
	switch {
	case len(r.Findings) == 0 && len(r.Resolved)+len(r.Answered)+len(r.Waived) > 0:
		line += "nothing open in " + Count(r.Files, "file", "files") + ": " + r.done()
	case len(r.Findings) == 0 && r.Files == 0 && NotRead(r.Unread) > 0:
		line += "nothing could be reviewed"
	case len(r.Findings) == 0 && r.Files == 0:
		line += "nothing to review"
	case len(r.Findings) == 0:
		line += "nothing found in " + Count(r.Files, "file", "files")
	case r.Own == sentinel.Comment: // nothing blocks
		line += Count(len(r.Findings), "finding", "findings")
	case blocking == 0:
		line += Count(minor, "minor finding", "minor findings")
	default:
		line += Count(blocking, "finding blocks", "findings block")
		if minor > 0 {
			line += ", " + Count(minor, "is minor", "are minor")
		}
	}
	if n := NotRead(r.Unread); n > 0 {
		line += " · " + Count(n, "file", "files") + " not read"
	}
	if r.Since != "" {
		line += fmt.Sprintf(" · changes since %.7s", r.Since)
	}
	switch {
	case r.FollowUp.N > 0 && r.Round > 0:
		line += fmt.Sprintf(" · round %d: %s", r.Round, r.FollowUp)
	case r.FollowUp.N > 0:
		line += " · " + r.FollowUp.String()
	case r.Round > r.MaxRounds: // approved in between, which gets a full review at any round
		line += fmt.Sprintf(" · round %d", r.Round)
	case r.Round > 0:
		line += fmt.Sprintf(" · round %d of %d", r.Round, r.MaxRounds)
	}
	return line
}

// done counts what doesn't count any more.
func (r Report) done() string {
	var parts []string
	for _, group := range []struct {
		list []Finding
		what string
	}{{r.Resolved, "closed"}, {r.Answered, "answered"}, {r.Waived, "waived"}} {
		if len(group.list) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", len(group.list), group.what))
		}
	}
	return strings.Join(parts, ", ")
}

// Count says in words how many there are.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// below are the findings that have no line in the diff, in full, as far as room
// characters go; the rest is counted, never cut in the middle.
func (r Report) below(room int) []string {
	var blocks []string
	left := 0
	for _, f := range slices.Concat(r.Findings, r.Dismissed) {
		if f.Where != InBody {
			continue
		}
		text := f.text()
		if place := untrusted.CodeSpan(location(f)); f.published == "" && place != "" {
			text += "\n\n" + place + ": " + f.Reason
		} else if f.published == "" {
			text += "\n\n" + f.Reason
		}
		text += "\n\n" + f.Marker(r.Role, r.Key).String()
		if room -= utf8.RuneCountInString(text) + 2; room < 0 || left > 0 {
			left++
			continue
		}
		blocks = append(blocks, text)
	}
	if len(blocks) > 0 {
		blocks[0] = fmt.Sprintf("**%d of %s without a line in the diff**\n\n", len(blocks)+left, Count(len(r.Findings)+len(r.Dismissed), "finding", "findings")) + blocks[0]
	}
	if left > 0 {
		blocks = append(blocks, fmt.Sprintf("%s more had no room here; the job's JSON output has them all.", Count(left, "finding", "findings")))
	}
	return blocks
}
