package finding

import (
	"regexp"
	"strconv"
	"strings"

	"review-bot/prompts"
	"review-bot/sentinel"
)

// What is read off the rows that Report.table writes.
var (
	tableRow  = regexp.MustCompile(`^\| ([a-z]+)[^|]* \| (.+) \| (.*) \|$`)
	linkedRow = regexp.MustCompile(`^\[(.*)\]\((\S+)\)$`)
)

// Listed reads the findings that count off the text of a review, as the account
// wrote it: ids are those findings, in the text's order. What the text has no row
// for is known by its id alone.
func Listed(text string, ids []string) []Finding {
	var rows []Finding
	_, table, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n|---|---|---|\n")
	for line := range strings.SplitSeq(table, "\n") {
		m := tableRow.FindStringSubmatch(line)
		if m == nil {
			break
		}
		rows = append(rows, listed(m[1], m[2], m[3]))
	}
	var list []Finding
	for i, id := range ids {
		f := Finding{}
		if i < len(rows) && len(rows) <= len(ids) {
			f = rows[i]
		}
		f.ID, f.State = id, Retained
		list = append(list, f)
	}
	return list
}

// listed is the finding of one row.
func listed(severity, title, where string) Finding {
	f := Finding{Severity: prompts.Severity(severity), Title: title, Where: Inline}
	if f.severity() == "unknown" {
		f.Severity = ""
	}
	if m := linkedRow.FindStringSubmatch(title); m != nil {
		f.Title, f.URL = m[1], m[2]
	}
	where, below := strings.CutSuffix(where, "(below)")
	if below {
		f.Where = InBody
	}
	where = strings.TrimPrefix(where, "[")
	place, _, ok := codeSpan(where)
	if !ok {
		return f
	}
	f.Place.Path = strings.ReplaceAll(place, `\|`, "|")
	if m := placeLines.FindStringSubmatch(f.Place.Path); m != nil {
		f.Place.Path = m[1]
		f.Place.Line, _ = strconv.Atoi(m[2])
		f.Place.EndLine, _ = strconv.Atoi(m[3])
	}
	return f
}

// Remembered are the findings that count by a sentinel, as far as its text shows them, in
// order; nil if the sentinel doesn't say. waived reports which people have waived
// since.
func Remembered(text string, s sentinel.Sentinel, waived func(id string) bool) []Finding {
	open, known := s.IDs(sentinel.OpenIDs)
	if !known {
		return nil
	}
	then := map[string]bool{}
	ids, _ := s.IDs(sentinel.WaivedIDs)
	for _, id := range ids {
		then[id] = true
	}
	var counted []string
	for _, id := range open {
		if !then[id] {
			counted = append(counted, id)
		}
	}
	list := Listed(text, counted)
	for i, f := range list {
		if waived(f.ID) {
			list[i].State = Waived
		}
	}
	return list
}
