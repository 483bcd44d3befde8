package shown

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"review-bot/reviewer/diff"
)

const lockFile = "lock file"

// manifests are the files, of the same folder, that lock files are made from. What has none here is shown whole.
var manifests = map[string][]string{
	"go.sum": {"go.mod"}, "go.work.sum": {"go.work"},
	"package-lock.json": {"package.json"}, "npm-shrinkwrap.json": {"package.json"}, "yarn.lock": {"package.json"},
	"pnpm-lock.yaml": {"package.json"}, "bun.lock": {"package.json"},
	"deno.lock":   {"deno.json", "deno.jsonc", "package.json"},
	"Cargo.lock":  {"Cargo.toml"},
	"poetry.lock": {"pyproject.toml"}, "uv.lock": {"pyproject.toml"}, "pdm.lock": {"pyproject.toml"},
	"pylock.toml": {"pyproject.toml"}, "Pipfile.lock": {"Pipfile"}, "pixi.lock": {"pixi.toml", "pyproject.toml"},
	"composer.lock": {"composer.json"}, "symfony.lock": {"composer.json"},
	"Gemfile.lock": {"Gemfile"}, "gems.locked": {"gems.rb"},
	"flake.lock": {"flake.nix"}, "devbox.lock": {"devbox.json"},
	"Podfile.lock": {"Podfile"}, "Package.resolved": {"Package.swift"}, "Cartfile.resolved": {"Cartfile"},
	"paket.lock": {"paket.dependencies"}, "gradle.lockfile": {"build.gradle", "build.gradle.kts"},
	"mix.lock": {"mix.exs"}, "rebar.lock": {"rebar.config"}, "pubspec.lock": {"pubspec.yaml"},
	"stack.yaml.lock": {"stack.yaml"}, "cabal.project.freeze": {"cabal.project"},
	"MODULE.bazel.lock": {"MODULE.bazel"}, "conan.lock": {"conanfile.py", "conanfile.txt"},
	"shard.lock": {"shard.yml"}, "spago.lock": {"spago.yaml"}, "Brewfile.lock.json": {"Brewfile"},
	"Chart.lock": {"Chart.yaml"}, "buf.lock": {"buf.yaml"},
	".terraform.lock.hcl": {"main.tf", "versions.tf", "terraform.tf", "providers.tf"},
}

// maybeLock reports whether an ordinary file has a lock file's name.
func (b Base) maybeLock(f diff.File) bool {
	return !f.Binary && f.NewMode == regular && !b.Rules.Asked(f.Path) && manifests[path.Base(f.Path)] != nil
}

// isLock reports whether only some lines of a file need be shown: it is a lock file, and the base branch has
// what it is made from.
func (b Base) isLock(f diff.File) bool {
	dir, name := path.Split(f.Path)
	return b.Has != nil && b.maybeLock(f) &&
		slices.ContainsFunc(manifests[name], func(m string) bool { return b.Has(dir + m) })
}

// lock shows what a lock file says of sources that its version in the base branch doesn't name.
func lock(f diff.File, v Versions) File {
	before, known := v.Old[f.OldPath]
	if !known && f.Status != diff.Added {
		return File{File: f}
	}
	had := sourcesOf(string(before))
	var kept []diff.Hunk
	added, all := 0, 0
	for _, h := range f.Hunks {
		for _, run := range additions(h) {
			all += len(run)
			for _, part := range news(run, had) {
				added += len(part)
				kept = append(kept, addition(h, part))
			}
		}
	}
	if added == 0 {
		return File{File: f, Fate: LeftOut, Why: lockFile}
	}
	f.Hunks, f.Added, f.Deleted = kept, added, 0
	f.Note = fmt.Sprintf("lock file, shown are the %d of %d added lines that name a source it didn't name before", added, all)
	return File{File: f}
}

// additions returns the runs of added lines.
func additions(h diff.Hunk) (runs [][]diff.Line) {
	for i := 0; i < len(h.Lines); i++ {
		from := i
		for i < len(h.Lines) && h.Lines[i].Op == diff.Add {
			i++
		}
		if i > from {
			runs = append(runs, h.Lines[from:i])
		}
	}
	return runs
}

// news returns the parts of a run of lines that name sources the base doesn't.
func news(run []diff.Line, had map[string]bool) (parts [][]diff.Line) {
	last := -2
	for i, l := range run {
		if !strange(l.Text, had) {
			continue
		}
		if i == last+1 {
			n := len(parts) - 1
			parts[n] = run[i-len(parts[n]) : i+1]
		} else {
			parts = append(parts, run[i:i+1])
		}
		last = i
	}
	return parts
}

// addition is a hunk of nothing but these added lines.
func addition(h diff.Hunk, lines []diff.Line) diff.Hunk {
	before := h.OldStart // the old line after which they are
	if h.OldLines > 0 {
		before--
	}
	for _, l := range h.Lines {
		if l.New == lines[0].New && l.Op == diff.Add {
			break
		}
		before = max(before, l.Old)
	}
	return diff.Hunk{OldStart: before, NewStart: lines[0].New, NewLines: len(lines), Lines: lines}
}

// delimiters end an address.
const delimiters = "\\s\"'<>,;(){}\\[\\]`|"

var (
	// source is what names where something is got from: an address or a shorthand with a scheme, a host
	// with a path, user@host, a path of the machine.
	source = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]{2,}:[^` + delimiters + `]+` +
		`|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^` + delimiters + `]+` +
		`|(?:[A-Za-z0-9_-]+\.)+[A-Za-z]{2,}(?::[0-9]+)?/[^` + delimiters + `]*` +
		`|(?:^|[` + delimiters + `=:@])(?:\.{1,2}|~)?/[^` + delimiters + `]*`)

	// keyed is a line whose key says that its value names a source.
	keyed = regexp.MustCompile(`(?i)^[\s"':-]*(owner|repo|repository|host|url|dir|directory|path|registry|remote|` +
		`source|git|from|location|index|link|channel|rev|revision|ref|reference|` +
		`resolved[_-]?ref(?:erence)?|commit)["']?\s*(?:=>|[:=])`)

	digest = regexp.MustCompile(`^(?i:sha1|sha256|sha384|sha512|md5|blake2b|narhash)[:-][A-Za-z0-9+/=]{16,}$`)

	version     = regexp.MustCompile(`^[\^~<>=]*v?[0-9]+(\.[0-9]+)*$`)
	versionTail = regexp.MustCompile(`[-_@]v?[0-9]+\..*$`)
	hashed      = regexp.MustCompile(`^([0-9a-f]{2}|[0-9a-f]{32,})$`)
	archive     = regexp.MustCompile(`\.(tgz|tar\.gz|tar\.bz2|zip|whl|gem|crate|conda|jar|nupkg)$`)
)

// strange reports whether a line names a source that isn't among those. A backslash may hide any.
func strange(line string, had map[string]bool) bool {
	if strings.Contains(line, `\`) {
		return true
	}
	return slices.ContainsFunc(sources(line), func(s string) bool { return !had[s] })
}

func sourcesOf(text string) map[string]bool {
	had := map[string]bool{}
	for line := range strings.Lines(text) {
		for _, s := range sources(strings.TrimRight(line, "\r\n")) {
			had[s] = true
		}
	}
	return had
}

// sources returns what a line names, less the versions in it.
func sources(line string) []string {
	var all []string
	for _, s := range source.FindAllString(line, -1) {
		if s = strings.TrimLeft(s, " \t\"'<>,;(){}[]`|=:@"); s != "" && !digest.MatchString(s) {
			all = append(all, unversioned(s))
		}
	}
	if keyed.MatchString(line) && len(all) == 0 {
		all = append(all, "line "+strings.TrimRight(strings.TrimSpace(line), ","))
	}
	return all
}

// unversioned drops version numbers, and the digests in an archive's address. A commit stays: the commits
// of a repository's forks can be had from the repository.
func unversioned(s string) string {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || strings.Contains(scheme, "/") {
		scheme, rest = "", s
	}
	git := strings.Contains(scheme, "git") || strings.Contains(scheme, "ssh") || strings.Contains(rest, ".git")
	rest, fragment, _ := strings.Cut(rest, "#")
	parts := strings.Split(rest, "/")
	file := archive.MatchString(parts[len(parts)-1])
	if !git && file && hashed.MatchString(fragment) {
		fragment = ""
	}
	kept := parts[:0]
	for i, p := range parts {
		switch {
		case strings.HasPrefix(rest, "//") && i < 3, scheme == "" && i == 0 && len(parts) > 1:
			// the host, in which digits are no version
		case version.MatchString(p), file && hashed.MatchString(p):
			continue
		case i == len(parts)-1:
			p = versionTail.ReplaceAllString(p, "")
		}
		kept = append(kept, p)
	}
	return scheme + ":" + strings.Join(kept, "/") + "#" + fragment
}
