package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// LoadScript reads a script file: a JSON list of rules, tried in their order
// as [ByMatch] does.
//
//	[{"when":  {"contains": ["text of the messages", …], "model": "name"},
//	  "times": 1,
//	  "reply": {"answer": {"summary": "…"}}}]
//
// "when" and "reply" are required; {"when": {}} holds always. "times" is how
// often the rule is used before it is passed over, without limit if left out.
// A reply has the fields of [Reply]:
//
//	content, empty_content, refusal, no_choices, finish_reason,
//	status, error, code, raw_body (a string), content_type, headers,
//	usage {prompt, cached, completion}, delay ("250ms"), drip ("1ms"),
//	cut ("headers", "body", "reset")
//
// and "answer", any JSON value, sent as the content in compact form.
//
// The file is read strictly: unknown and repeated fields, nulls, wrong types,
// contradictory replies, rules that can never be reached and an empty list are
// errors, each naming the rule, counted from 1, and the field.
func LoadScript(r io.Reader) (Script, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("model script: %w", err)
	}
	matches, err := parseRules(data)
	if err != nil {
		return nil, fmt.Errorf("model script: %w", err)
	}
	return ByMatch(matches...), nil
}

func parseRules(data []byte) ([]Match, error) {
	var rules []json.RawMessage
	if err := json.Unmarshal(data, &rules); err != nil {
		return nil, locate(data, err)
	}
	if len(rules) == 0 {
		return nil, errors.New("has no rules")
	}
	matches := make([]Match, len(rules))
	catchAll := 0 // number of the rule that holds always and without limit
	for i, rule := range rules {
		m, err := parseRule(rule)
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		if catchAll != 0 {
			return nil, fmt.Errorf("rule %d: is never reached, since rule %d holds always", i+1, catchAll)
		}
		if len(m.Contains) == 0 && m.Model == "" && m.Times == 0 {
			catchAll = i + 1
		}
		matches[i] = m
	}
	return matches, nil
}

func parseRule(raw json.RawMessage) (Match, error) {
	var m Match
	var when, reply json.RawMessage
	var times *int
	err := parseObject(raw, "", fields{"when": &when, "times": &times, "reply": &reply})
	switch {
	case err != nil:
		return m, err
	case when == nil:
		return m, errors.New("when: is missing")
	case reply == nil:
		return m, errors.New("reply: is missing")
	case times != nil && *times < 1:
		return m, fmt.Errorf("times: %d: want 1 or more", *times)
	case times != nil:
		m.Times = *times
	}
	if err := parseObject(when, "when", fields{"contains": &m.Contains, "model": &m.Model}); err != nil {
		return m, err
	}
	for i, s := range m.Contains {
		if s == "" {
			return m, fmt.Errorf("when.contains[%d]: is empty", i)
		}
	}
	m.Reply, err = parseReply(reply)
	return m, err
}

func parseReply(raw json.RawMessage) (Reply, error) {
	var (
		reply         Reply
		answer, usage json.RawMessage
		body          *string
		delay, drip   *string
	)
	err := parseObject(raw, "reply", fields{
		"answer": &answer, "content": &reply.Content, "empty_content": &reply.EmptyContent,
		"refusal": &reply.Refusal, "no_choices": &reply.NoChoices, "finish_reason": &reply.FinishReason,
		"status": &reply.Status, "error": &reply.Error, "code": &reply.Code,
		"raw_body": &body, "content_type": &reply.ContentType, "headers": &reply.Headers,
		"usage": &usage, "delay": &delay, "drip": &drip, "cut": &reply.Cut,
	})
	if err != nil {
		return reply, err
	}
	if answer != nil {
		if reply.Content != "" {
			return reply, errors.New("reply.answer: there is a content, too")
		}
		reply.Content = Answer(answer).Content
	}
	if usage != nil {
		u := &reply.Usage
		err := parseObject(usage, "reply.usage", fields{"prompt": &u.Prompt, "cached": &u.Cached, "completion": &u.Completion})
		if err != nil {
			return reply, err
		}
	}
	if body != nil {
		reply.RawBody = []byte(*body)
	}
	for _, d := range []struct {
		name string
		text *string
		into *time.Duration
	}{{"delay", delay, &reply.Delay}, {"drip", drip, &reply.Drip}} {
		if d.text == nil {
			continue
		}
		if *d.into, err = time.ParseDuration(*d.text); err != nil {
			return reply, fmt.Errorf("reply.%s: %q: want a duration such as 250ms", d.name, *d.text)
		}
	}
	if err := reply.check(); err != nil {
		if err.field != "" {
			return reply, fmt.Errorf("reply.%w", err)
		}
		return reply, fmt.Errorf("reply: %w", err)
	}
	return reply, nil
}
