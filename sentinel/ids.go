package sentinel

import (
	"fmt"
	"slices"
	"strings"
)

// The lists of findings' ids that a verdict's sentinel holds.
const (
	OpenIDs   = "open"   // of the findings that counted for the verdict
	WaivedIDs = "waived" // of those that people have waived
)

// noIDs is the value of a list without an id: a list that is missing isn't known.
const noIDs = "none"

// IDFields encodes a list of findings' ids: in the field key, what has no room
// there in key2, key3 and so on.
func IDFields(key string, ids []string) []Field {
	if len(ids) == 0 {
		return []Field{{key, noIDs}}
	}
	var fields []Field
	for part := range slices.Chunk(ids, (MaxValue+1)/(idLength+1)) {
		fields = append(fields, Field{numbered(key, len(fields)+1), strings.Join(part, ",")})
	}
	return fields
}

// IDs decodes a list of findings' ids. It isn't known where the field is missing,
// as in sentinels of earlier versions, or holds anything else.
func (s Sentinel) IDs(key string) (ids []string, known bool) {
	for n := 1; ; n++ {
		i := slices.IndexFunc(s.Extra, func(f Field) bool { return f.Key == numbered(key, n) })
		if i < 0 {
			return ids, n > 1
		}
		value := s.Extra[i].Value
		if n == 1 && value == noIDs {
			return nil, true
		}
		for id := range strings.SplitSeq(value, ",") {
			if !ValidID(id) {
				return nil, false
			}
			ids = append(ids, id)
		}
	}
}

// numbered is the key of a list's n-th field.
func numbered(key string, n int) string {
	if n == 1 {
		return key
	}
	return fmt.Sprintf("%s%d", key, n)
}
