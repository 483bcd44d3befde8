package giteatest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServersThatTheEnvironmentNames(t *testing.T) {
	dir := t.TempDir()
	program, text, static := filepath.Join(dir, "forge"), filepath.Join(dir, "text"), filepath.Join(dir, "static")
	for path, mode := range map[string]os.FileMode{program: 0o755, text: 0o644} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(static, "templates"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	for promise, tt := range map[string]struct{ binary, static, want, err string }{
		"both":                       {program, static, static, ""},
		"a program by itself":        {program, "", dir, ""},
		"no such program":            {filepath.Join(dir, "none"), "", "", "name the server's program"},
		"a text":                     {text, "", "", "isn't the absolute path of a program"},
		"a folder":                   {dir, "", "", "isn't the absolute path of a program"},
		"a folder without templates": {program, dir, "", "isn't the absolute path of a folder with templates"},
		"a relative folder":          {program, "static", "", "isn't the absolute path of a folder with templates"},
	} {
		binary, folder, cache, err := given(tt.binary, tt.static)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", promise, err, tt.err)
			}
			continue
		}
		if err != nil || binary != tt.binary || folder != tt.want || !isDir(cache) || filepath.Dir(cache) != filepath.Join(dir, "cache", "review-bot") {
			t.Errorf("%s: %s, %s, %s, %v", promise, binary, folder, cache, err)
		}
	}
}
