package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// No secret stays in the environment that a child would get.
func TestSecretsAreForgotten(t *testing.T) {
	for _, name := range secretVariables {
		t.Setenv(name, "a-secret")
	}
	t.Setenv("GITHUB_REPOSITORY", "alice/shop")
	forget()
	env := strings.Join(os.Environ(), "\n")
	if strings.Contains(env, "a-secret") || !strings.Contains(env, "GITHUB_REPOSITORY=alice/shop") {
		t.Errorf("the environment is now\n%s", env)
	}
	// What is forgotten has been read before.
	for _, name := range []string{"ACTIONS_RUNTIME_TOKEN", "GITHUB_TOKEN", "GITEA_TOKEN", "OPENAI_API_KEY", "REVIEW_BOT_NOTICE_TOKEN"} {
		if !slices.Contains(secretVariables, name) {
			t.Errorf("%s isn't known as a secret", name)
		}
	}
}

// Every flag that takes a secret is known to do so by all its variables.
func TestSecretFlagsAreKnown(t *testing.T) {
	parser, err := kong.New(new(cli), kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, command := range parser.Model.Leaves(false) {
		for _, flag := range command.Flags {
			if flag.Name != "token" && flag.Name != "api-key" {
				continue
			}
			seen++
			for _, name := range names(flag) {
				if !slices.Contains(secretVariables, name) {
					t.Errorf("%s of --%s isn't known as a secret", name, flag.Name)
				}
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d flags take a secret", seen)
	}
}

// The program starts no other: nothing could inherit its tokens. Only the
// fixture that starts servers, and what uses it, does.
func TestTheProgramStartsNoOther(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}} {{.Dir}} {{join .GoFiles \",\"}}|{{join .Imports \" \"}}", ".")
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		ours := 0
		for line := range strings.Lines(string(out)) {
			place, imports, _ := strings.Cut(line, "|")
			words := strings.Fields(place)
			if words[0] == "os/exec" {
				t.Errorf("%s: os/exec is part of the program", system)
			}
			if !strings.HasPrefix(words[0], "review-bot") || len(words) < 3 {
				continue
			}
			ours++
			if slices.Contains(strings.Fields(imports), "os/exec") {
				t.Errorf("%s: %s imports os/exec", system, words[0])
			}
			for _, name := range strings.Split(words[2], ",") {
				text := content(t, words[1]+"/"+name)
				for _, call := range []string{"os.StartProcess(", "syscall.ForkExec(", "syscall.StartProcess(", "syscall.Exec("} {
					if strings.Contains(text, call) {
						t.Errorf("%s: %s/%s calls %s…)", system, words[0], name, call)
					}
				}
			}
		}
		if ours < 8 {
			t.Errorf("%s: %d packages of the module looked at", system, ours)
		}
	}
}
