package untrusted

import (
	"regexp"
	"strings"
)

var delimiterCell = regexp.MustCompile(`^:?-+:?$`)

// splitRow splits a table row at its pipes, but for escaped ones and those in a
// code span: GFM would split there too, and yet whoever writes `a|b` in a table
// means code.
func splitRow(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	runs := newBackticks(row)
	var cells []string
	start := 0
	for i := 0; i < len(row); {
		switch row[i] {
		case '\\':
			i += 2
			continue
		case '`':
			n := runLength(row[i:], '`')
			if end := runs.closer(i+n, n); end >= 0 {
				i = end
			}
			i += n
			continue
		case '|':
			cells = append(cells, row[start:i])
			start = i + 1
		}
		i++
	}
	if last := row[start:]; strings.TrimSpace(last) != "" {
		cells = append(cells, last)
	}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(c), `\|`, "|")
	}
	return cells
}

// delimiterRow returns the canonical cells of a delimiter row, or nil.
func delimiterRow(row string) []string {
	if !strings.Contains(row, "|") || strings.Trim(row, "-|: ") != "" {
		return nil
	}
	cells := splitRow(row)
	for i, c := range cells {
		if !delimiterCell.MatchString(c) {
			return nil
		}
		left, right := "", ""
		if c[0] == ':' {
			left = ":"
		}
		if c[len(c)-1] == ':' {
			right = ":"
		}
		cells[i] = left + "---" + right
	}
	return cells
}

// tableRow writes a row with exactly n cells; what is too much joins the last,
// for a parser would drop it.
func tableRow(cells []string, n int) string {
	out := make([]string, n)
	for i := range out {
		if i < len(cells) {
			c := cells[i]
			if i == n-1 {
				c = strings.Join(cells[i:], " | ")
			}
			out[i] = inline(c, style{cell: true})
		}
	}
	return "| " + strings.Join(out, " | ") + " |"
}
