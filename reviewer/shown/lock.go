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

// manifests are the files, of the same folder, that lock files are made from. What has none here is shown whole. So is
// what isn't only data: mix.lock is evaluated, cabal.project.freeze may set a compiler's options, and
// MODULE.bazel.lock has commands for repositories.
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
	"rebar.lock": {"rebar.config"}, "pubspec.lock": {"pubspec.yaml"},
	"stack.yaml.lock": {"stack.yaml"}, "conan.lock": {"conanfile.py", "conanfile.txt"},
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

// lock shows what a lock file says of sources that its version in the base branch doesn't name, and where it
// no longer pins the content of what it has.
func lock(f diff.File, v Versions) File {
	base, known := v.Old[f.OldPath]
	after, read := v.New[f.Path]
	if !known && f.Status != diff.Added || !read {
		return File{File: f}
	}
	before, err := f.Undo(after) // what the base has, or an earlier head
	if err != nil {
		return File{File: f}
	}
	had := sourcesOf(string(base))
	loose := compare(string(before), string(after))
	var kept []diff.Hunk
	added, deleted, all := 0, 0, 0
	for _, h := range f.Hunks {
		at := diff.Hunk{OldStart: h.OldStart, NewStart: h.NewStart} // the lines before
		if h.OldLines > 0 {
			at.OldStart--
		}
		if h.NewLines > 0 {
			at.NewStart--
		}
		open := false
		for _, l := range h.Lines {
			var section string
			var news bool
			switch l.Op {
			case diff.Add:
				all++
				section, news = loose.new[l.New]
				news = news || strange(l.Text, had)
			case diff.Delete:
				section, news = loose.old[l.Old]
			case diff.Context:
			}
			if news && !open {
				at.Section = section
				kept = append(kept, at)
			}
			if open = news; open {
				part := &kept[len(kept)-1]
				part.Lines = append(part.Lines, l)
				added, deleted = added+min(l.New, 1), deleted+min(l.Old, 1)
			}
			at.OldStart, at.NewStart = max(at.OldStart, l.Old), max(at.NewStart, l.New)
		}
	}
	for i := range kept {
		count(&kept[i])
	}
	if added+deleted == 0 {
		return File{File: f, Fate: LeftOut, Why: lockFile}
	}
	f.Hunks, f.Added, f.Deleted = kept, added, deleted
	f.Note = fmt.Sprintf("lock file, shown are the %d of %d added lines that name a source it didn't name before",
		added, all)
	if len(loose.old)+len(loose.new) > 0 {
		f.Note += ", and where a digest went of what it still names"
	}
	return File{File: f, Part: true}
}

// count counts the lines of a hunk that begins after its start.
func count(h *diff.Hunk) {
	for _, l := range h.Lines {
		h.OldLines, h.NewLines = h.OldLines+min(l.Old, 1), h.NewLines+min(l.New, 1)
	}
	h.OldStart, h.NewStart = h.OldStart+min(h.OldLines, 1), h.NewStart+min(h.NewLines, 1)
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
	dotted      = regexp.MustCompile(`/\.{1,2}/|[^:]//|node_modules/[^"]*/"`)
	archive     = regexp.MustCompile(`\.(tgz|tar\.gz|tar\.bz2|zip|whl|gem|crate|conda|jar|nupkg)$`)
)

// strange reports whether a line names a source that isn't among those. A backslash may hide any, and a
// path may be written in another way.
func strange(line string, had map[string]bool) bool {
	if strings.Contains(line, `\`) || dotted.MatchString(line) && dotted.MatchString(unpin(line)) {
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

// commitDigits is the length of a commit's id. An archive's digest of that length would be taken for one, and shown.
const commitDigits = 40

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
		case version.MatchString(p), file && len(p) != commitDigits && hashed.MatchString(p):
			continue
		case i == len(parts)-1:
			p = versionTail.ReplaceAllString(p, "")
		}
		kept = append(kept, p)
	}
	return scheme + ":" + strings.Join(kept, "/") + "#" + fragment
}
