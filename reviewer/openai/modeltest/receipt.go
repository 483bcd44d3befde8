package modeltest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Window gives the server a context of so many tokens, as [Usage] counts them. What is
// longer loses its beginning, and nothing is said about it, as servers do that people
// run at home: what is counted is what was left, and the receipts before it are lost.
func Window(tokens int) Option {
	return func(o *options) { o.window = tokens }
}

var receiptLine = regexp.MustCompile(`(?m)^Receipt [A-Z]: ([0-9a-f]{8})$`)

// read fills in what every model does that was given the whole request: it repeats the
// receipts of what it has read. A script's answer that has a receipt keeps it.
func (o options) read(req Request, reply Reply) Reply {
	text := req.Text()
	if most := 4 * o.window; o.window > 0 && len(text) > most {
		text = text[len(text)-most:]
		reply.Usage.Prompt = estimate(text)
	}
	var object struct {
		Summary *string
		Receipt string
	}
	if json.Unmarshal([]byte(reply.Content), &object) != nil || object.Summary == nil || object.Receipt != "" {
		return reply
	}
	var codes []string
	for _, m := range receiptLine.FindAllStringSubmatch(text, -1) {
		codes = append(codes, m[1])
	}
	if len(codes) == 0 {
		return reply
	}
	reply.Usage = reply.Usage.fill(text, reply.Content) // the receipt itself isn't counted
	bare := emptyReceipt.ReplaceAllString(strings.TrimSpace(reply.Content), "}")
	reply.Content = strings.TrimSuffix(bare, "}") + `,"receipt":"` + strings.Join(codes, " ") + `"}`
	return reply
}

var emptyReceipt = regexp.MustCompile(`,\s*"receipt":\s*""\s*\}$`)
