package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkedOut reads which branch is checked out in a folder, and the commit that it
// is at: "" if it can't be told, or if there is none yet. The program starts no
// other, so git isn't asked: what it would say stands in its files, see gitrepository-layout(5).
func checkedOut(dir string) (branch, commit string, err error) {
	repository, err := repositoryOf(dir)
	if err != nil {
		return "", "", err
	}
	head, err := os.ReadFile(filepath.Join(repository, "HEAD"))
	if err != nil {
		return "", "", fmt.Errorf("the repository here can't be read: %w", err)
	}
	ref, named := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if !named || !isBranch || branch == ".invalid" { // so it says where references are kept in another format
		return "", "", errors.New("no branch is checked out here")
	}
	return branch, commitOf(repository, ref), nil
}

// repositoryOf is the folder in which git keeps what belongs to a working tree.
func repositoryOf(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		place := filepath.Join(dir, ".git")
		info, err := os.Stat(place)
		switch {
		case err == nil && info.IsDir():
			return place, nil
		case err == nil: // a further working tree, or a submodule
			text, err := os.ReadFile(place)
			path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
			if err != nil || !ok {
				return "", fmt.Errorf("%s names no repository", place)
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			return path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case filepath.Dir(dir) == dir:
			return "", errors.New("this is no clone of a repository")
		}
		dir = filepath.Dir(dir)
	}
}

// commitOf is the commit that a reference stands for, "" if that can't be told.
func commitOf(repository, ref string) string {
	shared := repository
	if text, err := os.ReadFile(filepath.Join(repository, "commondir")); err == nil {
		if shared = strings.TrimSpace(string(text)); !filepath.IsAbs(shared) {
			shared = filepath.Join(repository, shared)
		}
	}
	if text, err := os.ReadFile(filepath.Join(shared, filepath.FromSlash(ref))); err == nil {
		return strings.TrimSpace(string(text))
	}
	packed, err := os.ReadFile(filepath.Join(shared, "packed-refs"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(packed)) {
		if commit, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
			return commit
		}
	}
	return ""
}
