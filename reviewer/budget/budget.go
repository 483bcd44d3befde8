// Package budget keeps what a model is sent within bounds: it counts tokens offline, and
// plans which files of a diff go into which call, in as few calls as fit, and which are
// left out if there would be too many.
//
// Everything here is pure. The vocabularies are compiled in; one is unpacked when the first
// text is counted with it, and stays: some 30 ms and 6 MB.
package budget

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"review-bot/reviewer/diff"
)

// Part is what one call is about.
type Part struct {
	// Files are in the diff's order. One that was split has only some of its hunks here, and
	// Added and Deleted count those; all else is as in the diff. To be sent as their Render says.
	Files []diff.File
	// Tokens is what Files take, each with a blank line behind it. The rest of the prompt isn't in it.
	Tokens int
}

// Left is what of a file isn't in any part.
type Left struct {
	Path string
	// Why is for people: "over the budget of 8 calls", "one hunk is too large: 120k tokens".
	Why string
	// Hunks is how many of the file's hunks that are; 0 only if the file has none.
	Hunks int
}

// Plan divides files among at most maxCalls parts of at most budget tokens each. Each hunk
// is in exactly one part or counted in exactly one Left, and so is each file without hunks.
//
//   - No hunk is cut. One that is too large for a part of its own is left.
//   - A file goes into one part as a whole if it fits into one at all, else by hunks.
//   - If the diff's order takes no more parts than another would, neighbours stay together:
//     first files to the first part and so on. So if all fits into one part, that is the diff.
//   - If it takes more than maxCalls, the most relevant files are chosen: first those
//     without hunks (they cost a line or two), then by class, and within a class those of
//     fewer tokens. What room is left goes to whatever fits into it, in that order.
//
// Parts are in the order of their first files, left in the diff's; both are the same for
// the same input. Tokens of a text are taken for the sum of its pieces', as they are with a
// Counter. A budget or a maxCalls below 1 leaves everything. The time is that of counting
// each file's Render once, and of sorting; besides, files times maxCalls.
func Plan(files []diff.File, class func(diff.File) Class, count func(string) int, budget, maxCalls int) (parts []Part, left []Left) {
	p := plan{files: files, budget: budget, calls: max(maxCalls, 0)}
	for i := range files {
		p.measure(i, class(files[i]), count)
	}
	bins, rest := p.pack()
	for _, b := range bins {
		parts = append(parts, p.part(b))
	}
	over := map[int]int{} // hunks by file
	for _, u := range rest {
		over[u.file] += len(u.hunks)
	}
	for file, hunks := range over {
		p.leave(file, hunks, p.overCalls())
	}
	slices.SortFunc(p.left, func(a, b leftFile) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.Why, b.Why)) })
	for _, l := range p.left {
		left = append(left, l.Left)
	}
	return parts, left
}

type plan struct {
	files         []diff.File
	header        []int   // tokens of each file's header and the blank line
	hunks         [][]int // tokens of each file's hunks
	units         []unit  // what is to be placed, in the diff's order
	left          []leftFile
	budget, calls int
}

// A unit is what goes into one part undivided: a file, or some hunks of a file that is too large.
type unit struct {
	file   int
	hunks  []int // by index; empty: a file without any
	tokens int   // with the header
	class  Class
	total  int // tokens of the whole file
}

type leftFile struct {
	file int
	Left
}

func (p *plan) leave(file, hunks int, why string) {
	p.left = append(p.left, leftFile{file, Left{Path: p.files[file].Path, Why: why, Hunks: hunks}})
}

func (p *plan) overCalls() string {
	if p.calls == 1 {
		return "over the budget of 1 call"
	}
	return fmt.Sprintf("over the budget of %d calls", p.calls)
}

// measure counts a file and makes units of it.
func (p *plan) measure(file int, class Class, count func(string) int) {
	f := p.files[file]
	// The header of a part of the file may say less about line ends and has smaller
	// numbers: it isn't longer.
	header := count(f.Header()) + 1
	hunks := make([]int, len(f.Hunks))
	total := header
	for i, h := range f.Hunks {
		hunks[i] = count(h.Render())
		total += hunks[i]
	}
	p.header = append(p.header, header)
	p.hunks = append(p.hunks, hunks)

	next := unit{file: file, tokens: header, class: class, total: total}
	large, largeTokens := 0, 0
	for i, n := range hunks {
		if header+n > p.budget {
			large++
			largeTokens += n
			continue
		}
		if next.tokens+n > p.budget {
			p.units = append(p.units, next)
			next.hunks, next.tokens = nil, header
		}
		next.hunks = append(next.hunks, i)
		next.tokens += n
	}
	switch {
	case len(next.hunks) > 0 || len(hunks) == 0 && header <= p.budget:
		p.units = append(p.units, next)
	case len(hunks) == 0:
		p.leave(file, 0, fmt.Sprintf("its name is too large: %s", inTokens(header)))
	}
	switch {
	case large == 1:
		p.leave(file, large, fmt.Sprintf("one hunk is too large: %s", inTokens(largeTokens)))
	case large > 1:
		p.leave(file, large, fmt.Sprintf("%d hunks are too large: %s", large, inTokens(largeTokens)))
	}
}

// inTokens is a number of tokens for people.
func inTokens(n int) string {
	switch {
	case n == 1:
		return "1 token"
	case n < 1000:
		return fmt.Sprintf("%d tokens", n)
	case n < 99_950:
		return fmt.Sprintf("%.1fk tokens", float64(n)/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk tokens", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1fM tokens", float64(n)/1e6)
	}
}

// A bin is a part in the making: its units and their tokens.
type bin struct {
	units  []unit
	tokens int
}

func (b *bin) add(u unit) {
	b.units = append(b.units, u)
	b.tokens += u.tokens
}

// pack places the units, and gives those for which there is no room.
func (p *plan) pack() (bins []bin, rest []unit) {
	bins = p.inOrder()
	if other, rest := p.decreasing(p.units); len(rest) == 0 && len(other) < len(bins) {
		bins = other
	}
	if len(bins) > p.calls {
		bins, rest = p.relevant()
	}
	for _, b := range bins {
		slices.SortFunc(b.units, unit.compare)
	}
	slices.SortFunc(bins, func(a, b bin) int { return a.units[0].compare(b.units[0]) })
	return bins, rest
}

// compare is the diff's order.
func (u unit) compare(v unit) int {
	return cmp.Or(cmp.Compare(u.file, v.file), slices.Compare(u.hunks, v.hunks))
}

// inOrder fills one part after the other.
func (p *plan) inOrder() (bins []bin) {
	for _, u := range p.units {
		if len(bins) == 0 || bins[len(bins)-1].tokens+u.tokens > p.budget {
			bins = append(bins, bin{})
		}
		bins[len(bins)-1].add(u)
	}
	return bins
}

// decreasing places the largest units first, each into the first part with room for it.
func (p *plan) decreasing(units []unit) (bins []bin, rest []unit) {
	units = slices.Clone(units)
	slices.SortStableFunc(units, func(a, b unit) int { return cmp.Compare(b.tokens, a.tokens) })
	return p.firstFit(nil, units)
}

func (p *plan) firstFit(bins []bin, units []unit) (_ []bin, rest []unit) {
	for _, u := range units {
		i := slices.IndexFunc(bins, func(b bin) bool { return b.tokens+u.tokens <= p.budget })
		switch {
		case i >= 0:
			bins[i].add(u)
		case len(bins) < p.calls:
			bins = append(bins, bin{units: []unit{u}, tokens: u.tokens})
		default:
			rest = append(rest, u)
		}
	}
	return bins, rest
}

// relevant places as many of the most relevant units as fit, the largest of these first, and
// then what else fits.
func (p *plan) relevant() (bins []bin, rest []unit) {
	units := slices.Clone(p.units)
	slices.SortStableFunc(units, func(a, b unit) int {
		return cmp.Or(
			cmp.Compare(min(len(a.hunks), 1), min(len(b.hunks), 1)),
			cmp.Compare(a.class, b.class),
			cmp.Compare(a.total, b.total),
		)
	})
	n := sort.Search(len(units), func(n int) bool { // the first that doesn't fit any more
		_, rest := p.decreasing(units[:n+1])
		return len(rest) > 0
	})
	bins, _ = p.decreasing(units[:n])
	return p.firstFit(bins, units[n:])
}

// part makes a part of units in the diff's order.
func (p *plan) part(b bin) Part {
	var part Part
	for i := 0; i < len(b.units); {
		file := b.units[i].file
		part.Tokens += p.header[file]
		var hunks []int
		for ; i < len(b.units) && b.units[i].file == file; i++ {
			hunks = append(hunks, b.units[i].hunks...)
		}
		for _, h := range hunks {
			part.Tokens += p.hunks[file][h]
		}
		part.Files = append(part.Files, only(p.files[file], hunks))
	}
	return part
}

// Pieces divides files into at most n runs of about the same length, in their order:
// between files, and between hunks of a file that isn't in one run. Each hunk is in
// one run, and each run has something. The files are as in a [Part].
func Pieces(files []diff.File, n int) [][]diff.File {
	const longest = 200 // bytes of a header that may be repeated
	var sizes [][]int   // of the files' hunks; of the header where there are none
	total := 0
	for _, f := range files {
		hunks := []int{len(f.Render())}
		if len(f.Header()) <= longest && len(f.Hunks) > 0 {
			hunks = nil
			for _, h := range f.Hunks {
				hunks = append(hunks, len(h.Render()))
			}
		}
		for _, size := range hunks {
			total += size
		}
		sizes = append(sizes, hunks)
	}
	var list [][]diff.File
	began, last := 0, -1
	for i, f := range files {
		var hunks []int
		for h, size := range sizes[i] {
			if piece := (began + size/2) * n / max(total, 1); piece > last || len(list) == 0 {
				if len(hunks) > 0 {
					list[len(list)-1], hunks = append(list[len(list)-1], only(f, hunks)), nil
				}
				list, last = append(list, nil), piece
			}
			began, hunks = began+size, append(hunks, h)
		}
		if len(sizes[i]) < len(f.Hunks) || len(f.Hunks) == 0 {
			list[len(list)-1] = append(list[len(list)-1], f)
			continue
		}
		list[len(list)-1] = append(list[len(list)-1], only(f, hunks))
	}
	return list
}

// only is the file with some of its hunks.
func only(f diff.File, hunks []int) diff.File {
	if len(hunks) == len(f.Hunks) {
		return f
	}
	all := f.Hunks
	f.Hunks, f.Added, f.Deleted = nil, 0, 0
	for _, i := range hunks {
		f.Hunks = append(f.Hunks, all[i])
		for _, l := range all[i].Lines {
			switch l.Op {
			case diff.Add:
				f.Added++
			case diff.Delete:
				f.Deleted++
			default:
			}
		}
	}
	return f
}
