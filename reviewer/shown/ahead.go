package shown

import (
	"cmp"
	"slices"

	"review-bot/reviewer/ignore"
)

// Kind is a kind of files whose changes couldn't be read: those that a glob leaves out.
type Kind struct {
	Glob  string
	Files int
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

// Ahead returns what of some files would be unread if a pull request changed it, as far as their names say,
// the most frequent first.
func Ahead(rules ignore.Rules, names []string) []Kind {
	files := map[string]int{}
	for _, name := range names {
		if glob := opaqueKind(name); glob != "" && rules.Why(name) == "" && !rules.Asked(name) {
			files[glob]++
		}
	}
	kinds := make([]Kind, 0, len(files))
	for glob, n := range files {
		kinds = append(kinds, Kind{glob, n})
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Or(b.Files-a.Files, cmp.Compare(a.Glob, b.Glob)) })
	return kinds
}

// opaqueKind is the glob of the files of that kind; empty if its name says nothing.
func opaqueKind(name string) string {
	end := extension(name)
	switch ignore.Usual(name) {
	case "minified":
		end = ".min" + end
	case "source map":
	default:
		if !opaque[end] {
			return ""
		}
	}
	return "*" + end
}
