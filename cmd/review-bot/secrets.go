package main

import "os"

// secretVariables are those that hold a secret.
var secretVariables = []string{
	"REVIEW_BOT_TOKEN", "GITEA_TOKEN", "REVIEW_BOT_NOTICE_TOKEN", "GITHUB_TOKEN", "REVIEW_BOT_API_KEY", "OPENAI_API_KEY", "REVIEW_BOT_HEADER",
	"ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
}

// forget takes the secrets from the process's own environment, once they are
// read, so that no child of it would get them. (It starts none.) On Linux the
// environment that it was started with still shows in /proc, to its own user.
func forget() {
	for _, name := range secretVariables {
		_ = os.Unsetenv(name) // fails for names with a = only
	}
}
