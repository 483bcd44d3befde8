package main

import (
	"errors"
	"fmt"

	"review-bot/reviewer/gitea/giteatest"
)

type instanceCmd struct{}

// Run starts a server and keeps it until the process is interrupted.
func (instanceCmd) Run(w *world) (err error) {
	srv, err := giteatest.Start(w.ctx, giteatest.Options{Progress: w.stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	err = giteatest.Try(w.ctx, func(tb giteatest.TB) {
		s := seed(tb, srv)
		fmt.Fprintf(w.stdout, "Gitea    %s   (its pages have no styles: the front end isn't part of the module)\n", srv.URL)
		for _, u := range []*giteatest.User{srv.Admin, s.alice, s.sonnet, s.gpt} {
			fmt.Fprintf(w.stdout, "user     %-11s password “%s”   token %s\n", u.Name, u.Password, u.Token)
		}
		fmt.Fprintf(w.stdout, "pull     %s/%s/pulls/%d\n\n", srv.URL, s.repo.FullName(), s.pull.Index)
		fmt.Fprintf(w.stdout, "Try:     GITEA_TOKEN=%s review-bot --role security --server %s --repo %s --pr %d --model NAME --base-url URL\n",
			s.sonnet.Token, srv.URL, s.repo.FullName(), s.pull.Index)
		fmt.Fprintln(w.stdout, "Ctrl-C stops it and removes its data.")
	})
	if err != nil {
		return err
	}
	<-w.ctx.Done()
	return nil
}
