package forgetest

import "time"

var lockFacts = []fact{
	{"a reaction is added once and can be added again once removed", Setup{}, func(l *lab) {
		ctx, bot := l.Context(), l.As("bot")
		for i, want := range []bool{true, false, false} {
			if added, _, err := bot.React(ctx, "rocket"); added != want || err != nil {
				l.Errorf("attempt %d: added %t, error %v; want %t", i+1, added, err, want)
			}
		}
		l.must(bot.Unreact(ctx, "rocket"))
		l.must(bot.Unreact(ctx, "rocket")) // there is none
		if added, _, err := bot.React(ctx, "rocket"); !added || err != nil {
			l.Errorf("after removing it: added %t, error %v", added, err)
		}
	}},
	{"reactions of several accounts and kinds don't meet", Setup{}, func(l *lab) {
		ctx := l.Context()
		for _, c := range []struct{ who, content string }{{"bot", "rocket"}, {"bot", "eyes"}, {"bot2", "rocket"}, {"outsider", "rocket"}} {
			if added, _, err := l.As(c.who).React(ctx, c.content); !added || err != nil {
				l.Errorf("%s %s: added %t, error %v", c.who, c.content, added, err)
			}
		}
		l.must(l.As("bot").Unreact(ctx, "rocket"))
		list, _, err := l.As("bot2").Reactions(ctx)
		l.must(err)
		if len(list) != 3 || list[0].Content != "eyes" || list[0].User != l.id("bot") || list[1].User != l.id("bot2") || list[2].User != l.id("outsider") {
			l.Errorf("reactions %+v", list)
		}
	}},
	{"a reaction's time is the server's", Setup{}, func(l *lab) {
		ctx := l.Context()
		list, before, err := l.As("bot").Reactions(ctx)
		l.must(err)
		if len(list) != 0 {
			l.Errorf("reactions %+v, want none", list)
		}
		l.Tick()
		_, created, err := l.As("bot").React(ctx, "rocket")
		l.must(err)
		if _, again, err := l.As("bot").React(ctx, "rocket"); err != nil || !again.IsZero() {
			l.Errorf("a reaction that wasn't added has the time %v, error %v", again, err)
		}
		l.Tick()
		list, after, err := l.As("bot2").Reactions(ctx)
		l.must(err)
		if len(list) != 1 || !list[0].Created.Equal(created) || !before.Before(created) || !created.Before(after) || created.Nanosecond() != 0 {
			l.Errorf("created %v, listed %+v, want that between %v and %v", created, list, before, after)
		}
		if age := after.Sub(created); age > time.Minute {
			l.Errorf("the reaction is %v old", age)
		}
	}},
	{"only some reactions are allowed", Setup{}, func(l *lab) {
		_, _, err := l.As("bot").React(l.Context(), "no-such")
		l.refused(err, "forbids it: 'no-such' is not an allowed reaction")
	}},
}
