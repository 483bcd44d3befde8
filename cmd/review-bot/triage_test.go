package main

import (
	"encoding/json"
	"os"
	"testing"

	"review-bot/reviewer/thread"
)

// triageOf is a triage that says the same of every conversation.
func triageOf(threads []thread.Thread, class thread.Classification) thread.Triage {
	t := thread.Triage{Threads: []thread.Judgement{}}
	for _, c := range threads {
		t.Threads = append(t.Threads, thread.Judgement{
			ThreadID: c.ID, Classification: class, Confidence: 0.9, Reason: "It says so.", RecommendedAction: "See to it.",
			FilesToInspect: []string{c.Path}, FilesToChange: []string{}, ChecksToRun: []string{}, ReplyBody: "",
			CanResolveAfterChecks: class != thread.NeedsHuman, RequiresHumanDecision: class == thread.NeedsHuman,
		})
	}
	return t
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
