package thread

import (
	"fmt"
	"slices"
	"testing"

	"review-bot/sentinel"
)

// good is a case of the class in which nothing is missing: the reply and the
// resolution are due.
func good(class Classification) Case {
	yes := true
	return Case{
		Item: Item{
			ThreadID: ID{1, 2}, Classification: class, Verification: []string{"ran it"}, ChecksRun: []string{"go test"}, ResolveRequested: true,
			FixSummary: "done", CommitSHA: "0123456", ReplyBody: "because",
		},
		Thread: Thread{ID: ID{1, 2}, Outdated: true, CanReply: &yes, CanResolve: &yes, Comments: []Comment{{ID: 2}}},
		Checks: Passed, Commit: Reachable, Text: "words",
		Rules: Rules{ApplyReplies: true, ApplyResolutions: true, AutoResolve: []Classification{Stale, AlreadyFixed}, AllowInvalid: true},
	}
}

var (
	due     = Step{Status: Due}
	planned = Step{Status: Planned}
)

// replied is a reply before that says so.
func replied(text string, covers int64, closed bool) Said {
	return Said{Comment: 3, Covers: covers, Closed: closed, Body: signed(text, sentinel.Reply{Thread: "1:2", Covers: covers, Closed: closed})}
}

func withheld(r Reason) Step { return Step{Withheld, r} }

// Each row changes one thing in the case in which nothing is missing.
func TestDecide(t *testing.T) {
	no := false
	fixers := []Classification{Valid, Stale, AlreadyFixed}
	answered := []Classification{Valid, Invalid, Stale, AlreadyFixed}
	for name, row := range map[string]struct {
		classes []Classification
		change  func(*Case)
		reply   Step
		resolve Step
	}{
		"nothing is missing": {answered, func(*Case) {}, due, due},
		"a person has to decide": {
			[]Classification{NeedsHuman}, func(*Case) {}, Step{NotAsked, NeedsAHuman}, Step{NotAsked, NeedsAHuman},
		},
		"a person has to decide, resolved": {
			[]Classification{NeedsHuman}, func(c *Case) { c.Thread.Resolved = true }, Step{NotAsked, NeedsAHuman}, Step{NotAsked, NeedsAHuman},
		},
		"resolved": {
			answered, func(c *Case) { c.Thread.Resolved = true }, Step{Already, AlreadyResolved}, Step{Already, AlreadyResolved},
		},
		"resolved, and nothing is given": {
			answered, func(c *Case) { c.Thread.Resolved, c.Item = true, Item{Classification: c.Item.Classification} },
			Step{Already, AlreadyResolved}, Step{Already, AlreadyResolved},
		},
		"answered":                  {answered, func(c *Case) { c.Said = replied("words", 2, false) }, Step{Already, AlreadyReplied}, due},
		"answered in other words":   {answered, func(c *Case) { c.Said = replied("other words", 2, false) }, due, due},
		"answered, newer said":      {answered, func(c *Case) { c.Said = replied("words", 1, false) }, due, withheld(Disputed)},
		"answered, newer answered":  {answered, func(c *Case) { c.Said = replied("other words", 1, false) }, due, due},
		"reopened":                  {answered, func(c *Case) { c.Said = replied("words", 2, true) }, due, withheld(Disputed)},
		"reopened, and more is new": {answered, func(c *Case) { c.Said = replied("other words", 2, true) }, due, due},
		"not requested":             {answered, func(c *Case) { c.Item.ResolveRequested = false }, due, Step{NotAsked, NotRequested}},
		"preview":                   {answered, func(c *Case) { c.Rules.ApplyReplies, c.Rules.ApplyResolutions = false, false }, planned, planned},
		"replies only":              {answered, func(c *Case) { c.Rules.ApplyResolutions = false }, due, planned},
		"resolutions only":          {answered, func(c *Case) { c.Rules.ApplyReplies = false }, planned, withheld(NoClaim)},
		"resolutions only, replied before": {
			answered, func(c *Case) { c.Rules.ApplyReplies, c.Said = false, replied("other words", 2, false) }, planned, due,
		},

		// Evidence.
		"no fix summary":                 {[]Classification{Valid}, func(c *Case) { c.Item.FixSummary = " \n" }, withheld(NoFixSummary), withheld(NoClaim)},
		"no fix summary, other evidence": {[]Classification{Stale, AlreadyFixed}, func(c *Case) { c.Item.FixSummary = "" }, due, due},
		"no evidence, outdated": {
			[]Classification{Stale}, func(c *Case) { c.Item.FixSummary, c.Item.CommitSHA, c.Item.ReplyBody, c.Commit = "", "", "", NotNamed },
			withheld(NoEvidence), withheld(NoClaim),
		},
		"no evidence": {
			[]Classification{AlreadyFixed}, func(c *Case) { c.Item.FixSummary, c.Item.CommitSHA, c.Item.ReplyBody, c.Commit = "", "", "", NotNamed },
			withheld(NoEvidence), withheld(NoClaim),
		},
		"no verification":                  {fixers, func(c *Case) { c.Item.Verification = nil }, withheld(NoVerification), withheld(NoVerification)},
		"no verification of what is wrong": {[]Classification{Invalid}, func(c *Case) { c.Item.Verification = nil }, due, due},
		"an empty reply":                   {answered, func(c *Case) { c.Text = "\n" }, withheld(NoText), withheld(NoClaim)},
		"no rationale":                     {[]Classification{Invalid}, func(c *Case) { c.Item.ReplyBody = "" }, withheld(NoRationale), withheld(NoRationale)},
		"a person's rationale":             {[]Classification{Invalid}, func(c *Case) { c.Item.ReplyBody, c.Item.HumanDecision = "", "keep it" }, due, due},
		"no commit":                        {[]Classification{Valid}, func(c *Case) { c.Item.CommitSHA, c.Commit = "", NotNamed }, due, withheld(NoCommit)},
		"no commit needed":                 {[]Classification{Stale, AlreadyFixed, Invalid}, func(c *Case) { c.Item.CommitSHA, c.Commit = "", NotNamed }, due, due},
		"another commit":                   {fixers, func(c *Case) { c.Commit = Beyond }, withheld(CommitNotInHead), withheld(CommitNotInHead)},
		"another commit of what is wrong":  {[]Classification{Invalid}, func(c *Case) { c.Commit = Beyond }, due, withheld(CommitNotInHead)},
		"the line stands, explained":       {[]Classification{Stale}, func(c *Case) { c.Thread.Outdated = false }, due, due},
		"the line stands, a commit explains nothing": {
			[]Classification{Stale}, func(c *Case) { c.Thread.Outdated, c.Item.FixSummary, c.Item.ReplyBody = false, "", "" }, due, withheld(NoExplanation),
		},
		"the line stands of what is fixed": {[]Classification{AlreadyFixed, Valid, Invalid}, func(c *Case) { c.Thread.Outdated = false }, due, due},

		// Configuration.
		"stale may not be closed":         {[]Classification{Stale}, func(c *Case) { c.Rules.AutoResolve = []Classification{AlreadyFixed} }, due, withheld(NotConfigured)},
		"already fixed may not be closed": {[]Classification{AlreadyFixed}, func(c *Case) { c.Rules.AutoResolve = nil }, due, withheld(NotConfigured)},
		"only named classes are":          {[]Classification{Valid, Invalid}, func(c *Case) { c.Rules.AutoResolve = nil }, due, due},
		"invalid may not be closed":       {[]Classification{Invalid}, func(c *Case) { c.Rules.AllowInvalid = false }, due, withheld(InvalidNotAllowed)},
		"invalid has its own switch":      {fixers, func(c *Case) { c.Rules.AllowInvalid = false }, due, due},

		// Checks.
		"checks pending":     {answered, func(c *Case) { c.Checks = Pending }, due, withheld(ChecksPending)},
		"checks fail":        {answered, func(c *Case) { c.Checks = Failing }, due, withheld(ChecksFailing)},
		"checks skipped":     {answered, func(c *Case) { c.Checks = Skipped }, due, withheld(ChecksSkipped)},
		"no checks":          {answered, func(c *Case) { c.Checks = NoChecks }, due, withheld(ChecksNone)},
		"checks unreadable":  {answered, func(c *Case) { c.Checks = ChecksUnread }, due, withheld(ChecksUnreadable)},
		"a check is missing": {answered, func(c *Case) { c.Checks = ChecksMissing }, due, withheld(ChecksIncomplete)},
		"no check is named":  {answered, func(c *Case) { c.Checks = ChecksUnnamed }, due, withheld(ChecksUnknown)},
		"without checks":     {answered, func(c *Case) { c.Checks, c.Rules.WithoutChecks = Failing, true }, due, due},
		"checks not read":    {answered, func(c *Case) { c.Checks = "" }, due, withheld(ChecksUnreadable)},

		// The triage.
		"the triage agrees":  {answered, func(c *Case) { c.Judgement = &Judgement{CanResolveAfterChecks: true, ChecksToRun: []string{"go test"}} }, due, due},
		"the triage forbids": {answered, func(c *Case) { c.Judgement = &Judgement{} }, due, withheld(TriageForbids)},
		"a check wasn't run": {
			answered, func(c *Case) {
				c.Judgement = &Judgement{CanResolveAfterChecks: true, ChecksToRun: []string{"go test", "go vet"}}
			}, due, withheld(ChecksNotRun),
		},
		"a decision is open": {
			answered, func(c *Case) { c.Judgement = &Judgement{RequiresHumanDecision: true} }, withheld(HumanDecisionOpen), withheld(NeedsAHuman),
		},
		"a decision was made": {
			answered, func(c *Case) { c.Judgement, c.Item.HumanDecision = &Judgement{RequiresHumanDecision: true}, "fix it" },
			due, withheld(NeedsAHuman),
		},
		"a decision was made, a person's": {
			answered, func(c *Case) {
				c.Judgement = &Judgement{Classification: NeedsHuman, RequiresHumanDecision: true, CanResolveAfterChecks: true}
				c.Item.HumanDecision = "fix it"
			}, due, withheld(NeedsAHuman),
		},

		// Server and account.
		"the server can't reply": {answered, func(c *Case) { c.Thread.CanReply = &no }, Step{Unsupported, ReplyUnsupported}, Step{Unsupported, NoClaim}},
		"the server can't reply, replied before": {
			answered, func(c *Case) { c.Thread.CanReply, c.Said = &no, replied("other words", 2, false) },
			Step{Unsupported, ReplyUnsupported}, due,
		},
		"the server can't, quoted":               {answered, func(c *Case) { c.Thread.CanReply, c.Rules.ReplyAsComment = &no, true }, Step{Due, AsComment}, due},
		"the server can, and quoting is allowed": {answered, func(c *Case) { c.Rules.ReplyAsComment = true }, due, due},
		"the server can't resolve": {
			answered, func(c *Case) { c.NoResolve, c.Thread.CanResolve = true, &no }, due, Step{Unsupported, ResolveUnsupported},
		},
		"the account may not":    {answered, func(c *Case) { c.Thread.CanResolve = &no }, due, withheld(NoRight)},
		"nothing is known of it": {answered, func(c *Case) { c.Thread.CanReply, c.Thread.CanResolve = nil, nil }, due, due},
		"can't reply, no evidence": {
			[]Classification{Valid}, func(c *Case) { c.Thread.CanReply, c.Item.Verification = &no, nil }, withheld(NoVerification), withheld(NoVerification),
		},
	} {
		for _, class := range row.classes {
			t.Run(name+"/"+string(class), func(t *testing.T) {
				c := good(class)
				row.change(&c)
				if got, want := Decide(c), (Decision{row.reply, row.resolve}); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
		}
	}
}

// Everything at once: in no combination may more happen than the table allows.
func TestDecideEveryCombination(t *testing.T) {
	yes, no := true, false
	n, resolved, replied := 0, 0, 0
	evidence := []Item{}
	for bits := range 1 << 6 {
		i := Item{ResolveRequested: bits&1 != 0}
		if bits&2 != 0 {
			i.Verification = []string{"x"}
		}
		if bits&4 != 0 {
			i.FixSummary = "x"
		}
		if bits&8 != 0 {
			i.ReplyBody = "x"
		}
		if bits&16 != 0 {
			i.HumanDecision = "x"
		}
		if bits&32 != 0 {
			i.CommitSHA = "0123456"
		}
		evidence = append(evidence, i)
	}
	for _, class := range append(Classifications, "other") {
		for _, item := range evidence {
			item.Classification = class
			commits := []Reach{NotNamed}
			if item.CommitSHA != "" {
				commits = []Reach{Reachable, Beyond}
			}
			for _, commit := range commits {
				for _, checks := range []Checks{Passed, Skipped, ""} {
					for _, auto := range [][]Classification{nil, {Stale}, {Stale, AlreadyFixed}} {
						for bits := range 1 << 5 {
							for _, reply := range []*bool{&yes, &no} {
								for _, resolve := range []*bool{&no, nil} {
									for _, judgement := range []*Judgement{nil, {}, {CanResolveAfterChecks: true}, {RequiresHumanDecision: true}, {RequiresHumanDecision: true, CanResolveAfterChecks: true}} {
										c := Case{
											Text: "words", Item: item, Checks: checks, Commit: commit, Judgement: judgement,
											Thread: Thread{Resolved: bits&1 != 0, Outdated: bits&2 != 0, CanReply: reply, CanResolve: resolve, Comments: []Comment{{ID: 2}}},
											Rules:  Rules{AllowInvalid: bits&4 != 0, ApplyReplies: bits&8 != 0, ApplyResolutions: bits&8 != 0, AutoResolve: auto, ReplyAsComment: bits&16 != 0},
										}
										n++
										d := Decide(c)
										if problem := forbidden(c, d); problem != "" {
											t.Fatalf("%s: %+v decides %+v", problem, c, d)
										}
										if d.Resolve.Status == Due {
											resolved++
										}
										if d.Reply.Status == Due {
											replied++
										}
									}
								}
							}
						}
					}
				}
			}
		}
	}
	if n < 1_000_000 || resolved == 0 || replied == 0 {
		t.Errorf("%d combinations, %d resolutions, %d replies", n, resolved, replied)
	}
	t.Logf("%d combinations, %d resolutions, %d replies", n, resolved, replied)
}

// forbidden says which promise a decision breaks; "" if none.
func forbidden(c Case, d Decision) string {
	i := c.Item
	acts := func(s Step) bool { return s.Status == Due || s.Status == Planned }
	never := func(what string, broken ...bool) string {
		if slices.Contains(broken, true) {
			return what
		}
		return ""
	}
	if acts(d.Resolve) {
		if p := never("resolves what it must not",
			c.Checks != Passed, !i.ResolveRequested, c.Thread.Resolved, c.Commit == Beyond,
			c.Thread.CanResolve != nil && !*c.Thread.CanResolve,
			i.Classification == NeedsHuman, i.Classification == "other",
			i.Classification == Valid && (c.Commit != Reachable || len(i.Verification) == 0),
			i.Classification == Invalid && (!c.Rules.AllowInvalid || i.ReplyBody+i.HumanDecision == ""),
			(i.Classification == Stale || i.Classification == AlreadyFixed) && (!slices.Contains(c.Rules.AutoResolve, i.Classification) || len(i.Verification) == 0),
			i.Classification == Stale && !c.Thread.Outdated && i.FixSummary+i.ReplyBody+i.HumanDecision == "",
			c.Judgement != nil && (!c.Judgement.CanResolveAfterChecks || c.Judgement.RequiresHumanDecision),
			!acts(d.Reply), // and nothing was said before
		); p != "" {
			return p
		}
	}
	if acts(d.Reply) {
		if p := never("replies what it must not",
			i.Classification == NeedsHuman, c.Thread.Resolved,
			i.Classification == Valid && i.FixSummary == "", i.Classification == Invalid && i.ReplyBody+i.HumanDecision == "",
			i.Classification != Invalid && (len(i.Verification) == 0 || c.Commit == Beyond || i.FixSummary+i.CommitSHA+i.ReplyBody == ""),
			c.Thread.CanReply != nil && !*c.Thread.CanReply && (!c.Rules.ReplyAsComment || d.Reply.Reason != AsComment),
		); p != "" {
			return p
		}
	}
	for _, s := range []Step{d.Reply, d.Resolve} {
		if s.Status == Due && !c.Rules.ApplyReplies {
			return "acts without being told"
		}
		if needs := s.Status != Due && s.Status != Planned; needs && s.Reason.Text() == "" {
			return fmt.Sprintf("doesn't say why (%q)", s.Reason)
		}
	}
	return ""
}
