package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"

	"review-bot/reviewer/gitea/giteatest"
	"review-bot/reviewer/openai/modeltest"
)

// settles runs the command settle as a person's or an agent's.
func (p *play) settles(s attackSettle) {
	p.Helper()
	by := p.arena.person(p.T, s.By)
	j := p.job(model(p.T, modeltest.Sequence()), "")
	j = j.with("GITEA_TOKEN", by.Token).with("GITHUB_SERVER_URL", p.srv.URL)
	args := []string{"settle", "--payload", p.written(map[string]any{"items": p.named(s.Items)})}
	if s.Triage == nil {
		args = append(args, "--detached")
	} else {
		triage := map[string]any{"threads": p.named(s.Triage)}
		if scan := p.scan(j, s.Part); scan != nil { // older programs have none
			triage["scan"] = scan
		}
		args = append(args, "--triage", p.written(triage))
	}
	if s.Apply {
		args = append(args, "--apply")
	}
	args = append(args, s.Flags...)
	e, _ := p.invoke(j, attackRun{}, args)
	p.judgeRun(attackRun{Role: "settle", Exit: s.Exit, Prints: s.Prints}, e, &witness{}, nil, args)
}

// scan is what the list of all conversations, or of the first, says a triage of it has to name.
func (p *play) scan(j job, part bool) (scan any) {
	p.Helper()
	args := []string{"threads", "--json", "--all", "--include-outdated"}
	if part {
		args = append(args, "--max-threads", "1")
	}
	e, _ := p.invoke(j, attackRun{}, args)
	var list map[string]any
	if err := json.Unmarshal([]byte(e.stdout), &list); err != nil {
		p.Fatalf("threads: exit status %d: %v\n%s%s", e.status, err, e.stdout, e.stderr)
	}
	return list["scan"]
}

// written is the path of a file with that in JSON.
func (p *play) written(v any) string {
	p.Helper()
	path := filepath.Join(p.dir, giteatest.Unique("file"))
	writeJSON(p.T, path, v)
	return path
}

// named gives conversations their ids, and heads theirs.
func (p *play) named(items []map[string]any) []map[string]any {
	p.Helper()
	st := p.look(p.T)
	var list []map[string]any
	for _, item := range items {
		item = maps.Clone(item)
		words, _ := item["of"].(string)
		delete(item, "of")
		c, ok := st.conversation(words)
		if !ok {
			p.fault("there is no conversation about %q\n%s", words, st)
			panic(over{})
		}
		item["thread_id"] = fmt.Sprintf("%d:%d", c.ReviewID, c.ID)
		if label, ok := item["commit_sha"].(string); ok {
			item["commit_sha"] = p.head(label)
		}
		list = append(list, item)
	}
	return list
}
