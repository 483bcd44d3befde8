package sentinel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Owed is a conversation that is to be closed, or opened again, once the verdict
// of the sentinel stands. It is written down with the verdict, so that another
// run can do what a job that died had left.
type Owed struct {
	Review  int64 // that the comment belongs to
	Comment int64 // first of the conversation
	Reopen  bool
}

// A field's value is of limited length, so a long list goes on in owed2, owed3 …
const (
	owedKey    = "owed"
	owedInOne  = 12
	reopenSign = "-"
)

func owedField(n int) string {
	if n == 0 {
		return owedKey
	}
	return owedKey + strconv.Itoa(n+1)
}

func owedFields(list []Owed) []Field {
	var fields []Field
	for chunk := range slices.Chunk(list, owedInOne) {
		var items []string
		for _, o := range chunk {
			sign := ""
			if o.Reopen {
				sign = reopenSign
			}
			items = append(items, fmt.Sprintf("%d/%s%d", o.Review, sign, o.Comment))
		}
		fields = append(fields, Field{owedField(len(fields)), strings.Join(items, ",")})
	}
	return fields
}

// appendOwed reads one field. The fields are to come in order and full but for
// the last, so that what is decoded encodes to the same bytes again.
func appendOwed(list []Owed, key, value string) ([]Owed, error) {
	if len(list)%owedInOne != 0 || key != owedField(len(list)/owedInOne) {
		return nil, fmt.Errorf("field %q is out of order", key)
	}
	items := strings.Split(value, ",")
	if len(items) > owedInOne {
		return nil, fmt.Errorf("field %q is too long", key)
	}
	for _, item := range items {
		review, comment, _ := strings.Cut(item, "/")
		comment, reopen := strings.CutPrefix(comment, reopenSign)
		r, err := number(key, review)
		if err != nil {
			return nil, err
		}
		c, err := number(key, comment)
		if err != nil {
			return nil, err
		}
		list = append(list, Owed{int64(r), int64(c), reopen})
	}
	return list, nil
}
