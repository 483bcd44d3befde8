package untrusted

import "strings"

// pairs are the letters that most often follow each other in words and in names in code: of 120 pairs come three
// quarters of those, and a ninth of what random bytes make in base64.
var pairs = func() map[[2]byte]bool {
	set := map[[2]byte]bool{}
	for pair := range strings.FieldsSeq(`
		ab ac ad ag al am an ap ar as at be bl ca ce ch ck co ct de di ea ec ed ef el em en ep er es et ex ff fi fo
		ge go ha he hi ho ic id ig il im in io is it ke la ld le li ll lo ly ma me mo mp na nc nd ne ng ni no ns nt
		oc od ol om on op or os ot ou ov pa pe pl po pr ra re ri rn ro rr rs rt se sh si so ss st su ta te th ti to
		tr ts tu ty ue ul un ur us ut va ve`) {
		set[[2]byte([]byte(pair))] = true
	}
	return set
}()

// minWords is from which score on a stretch is words: "authentication" has more, and of 100,000 lines of a key
// two do.
const minWords = 22

// legible reports whether a part of s reads as words or as an expression, as names in code do and secrets don't: a
// secret is random, and such a part may be what an interpreter runs. It is no proof of either.
//
// Each pair of neighbours counts for or against words, by whether it is a frequent one and keeps its case, and the
// stretch with the highest sum decides. Of something short less is enough.
func legible(s string) bool {
	best, sum, operators := 0, 0, 0
	for i := range len(s) {
		if s[i] == '/' || s[i] == '+' {
			operators++
		}
		if i == 0 {
			continue
		}
		switch a, b := s[i-1], s[i]; {
		case isLetter(rune(a)) && isLetter(rune(b)):
			sum += -2
			if pairs[[2]byte{a | 0x20, b | 0x20}] {
				sum += 4
			}
			if a&0x20 == b&0x20 {
				sum++
			} else {
				sum--
			}
		case b >= '0' && b <= '9':
			sum -= 2
		}
		sum = max(sum, 0)
		best = max(best, sum)
	}
	return best >= min(len(s), minWords) || operators*6 > len(s)
}
