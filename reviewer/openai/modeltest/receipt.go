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
	if most := 3 * o.window; o.window > 0 && len(text) > most {
		text = text[len(text)-most:]
		reply.Usage.Prompt = estimate(text)
	}
	var object struct {
		Summary *string
		Receipt string
	}
	begin, end := strings.Index(reply.Content, "{"), strings.LastIndex(reply.Content, "}")+1
	if begin < 0 || begin >= end {
		return reply
	}
	answer := reply.Content[begin:end] // it may be in a fence
	if json.Unmarshal([]byte(answer), &object) != nil || object.Summary == nil || object.Receipt != "" {
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
	bare := strings.TrimSuffix(emptyReceipt.ReplaceAllString(answer, "}"), "}")
	reply.Content = reply.Content[:begin] + bare + `,"receipt":"` + strings.Join(codes, " ") + `"}` + reply.Content[end:]
	return reply
}

var emptyReceipt = regexp.MustCompile(`,\s*"receipt":\s*""\s*\}$`)
