package shown

import (
	"cmp"
	"slices"

	"review-bot/reviewer/diff"
	"review-bot/reviewer/ignore"
)

// Entry is a path of a tree.
type Entry struct {
	Path string
	Mode diff.Mode
}

// Kind is a kind of files whose changes couldn't be read.
type Kind struct {
	What    string // for people, like "*.jar: binary"
	Files   int
	Example string // path of one
	Allow   string // the glob that leaves them out
}

// opaque ends the names of files whose content can't be read as text.
var opaque = set(
	".jar", ".war", ".class", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar",
	".exe", ".dll", ".so", ".dylib", ".a", ".lib", ".o", ".wasm", ".pyc",
	".pdf", ".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".psd", ".sketch", ".eot", ".heic", ".tiff", ".tif", ".icns",
	".mp3", ".mp4", ".mov", ".avi", ".ogg", ".wav",
	".sqlite", ".db", ".bin", ".dat", ".keystore", ".jks", ".p12", ".lockb", ".onnx", ".parquet", ".npy", ".pb",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// Ahead returns what of a tree would be unread if a pull request changed it, as far as names and modes tell,
// the most frequent first.
func Ahead(rules ignore.Rules, tree []Entry) []Kind {
	kinds := map[string]Kind{}
	for _, e := range tree {
		if rules.Why(e.Path) != "" {
			continue
		}
		what, allow := "", ""
		switch usual, end := ignore.Usual(e.Path), extension(e.Path); {
		case e.Mode == diff.ModeSubmodule:
			what, allow = "submodule", ignore.Line(e.Path)
		case opaque[end]:
			what, allow = "*"+end+": binary", "*"+end
		case (usual == "minified" || usual == "source map" || usual == "generated") && !rules.Asked(e.Path):
			what, allow = usual, ignore.Line(e.Path)
		}
		if what == "" {
			continue
		}
		k, known := kinds[what]
		if !known {
			k = Kind{What: what, Example: e.Path, Allow: allow}
		}
		k.Files++
		kinds[what] = k
	}
	list := make([]Kind, 0, len(kinds))
	for _, k := range kinds {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Kind) int { return cmp.Or(b.Files-a.Files, cmp.Compare(a.What, b.What)) })
	return list
}
