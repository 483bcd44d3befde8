package reviewer

import (
	"slices"

	"review-bot/reviewer/diff"
	"review-bot/reviewer/untrusted"
)

// maskedFile masks the secrets in a file's lines, on each side by itself: a secret may
// take several lines, and those of the two sides are mixed in a diff. Names stay as they
// are, or files couldn't be found by them.
func maskedFile(f diff.File, secrets *untrusted.Masker) (diff.File, int) {
	total := 0
	f.Hunks = slices.Clone(f.Hunks)
	for i := range f.Hunks {
		h := &f.Hunks[i]
		var n int
		h.Section, n = secrets.Mask(h.Section)
		total += n
		h.Lines = slices.Clone(h.Lines)
		for _, side := range []diff.Side{diff.Old, diff.New} {
			total += maskSide(h.Lines, side, secrets)
		}
		for j := range h.Lines {
			h.Lines[j].Raw = ""
		}
	}
	return f, total
}

func maskSide(lines []diff.Line, side diff.Side, secrets *untrusted.Masker) int {
	var at []int
	var texts []string
	for i, l := range lines {
		if l.Number(side) > 0 {
			at, texts = append(at, i), append(texts, l.Text)
		}
	}
	masked, n := secrets.MaskLines(texts)
	for i, text := range masked {
		lines[at[i]].Text = text
	}
	return n
}
