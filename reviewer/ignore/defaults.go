package ignore

import (
	"slices"
	"strings"
)

// The names are in lower case, as they are compared.

// vendorFolders hold others' code, at any depth.
var vendorFolders = set(
	"vendor", "vendors", "node_modules", "bower_components", "jspm_packages", "third_party", "third-party", "thirdparty",
	"site-packages", "__pypackages__", ".venv", "godeps", "pods",
)

// vendorPlaces are folders of two names.
var vendorPlaces = [][2]string{
	{"carthage", "checkouts"}, {"carthage", "build"}, {".yarn", "cache"}, {".yarn", "plugins"}, {".yarn", "releases"}, {".yarn", "sdks"},
}

// vendorFiles are others' code in single files that a tool puts there.
var vendorFiles = set(".pnp.cjs", ".pnp.loader.mjs", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd")

// lockFiles are written by package managers.
var lockFiles = set(
	"go.sum", "go.work.sum", // Go
	"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock", // JavaScript
	"cargo.lock",                                                                                                          // Rust
	"poetry.lock", "pipfile.lock", "uv.lock", "pdm.lock", "pylock.toml", "pixi.lock", "conda-lock.yml", "conda-lock.yaml", // Python
	"composer.lock", "symfony.lock", // PHP
	"gemfile.lock", "gems.locked", // Ruby
	"flake.lock", "devbox.lock", // Nix
	"podfile.lock", "package.resolved", "cartfile.resolved", // Swift
	"packages.lock.json", "paket.lock", // .NET
	"gradle.lockfile", "buildscript-gradle.lockfile", // JVM
	"mix.lock", "rebar.lock", // Erlang
	"pubspec.lock",                            // Dart
	"stack.yaml.lock", "cabal.project.freeze", // Haskell
	"module.bazel.lock", "conan.lock", // C++
	"shard.lock", "spago.lock", "brewfile.lock.json", // Crystal, PureScript, Homebrew
	"chart.lock", ".terraform.lock.hcl", "buf.lock", // Helm, Terraform, Buf
)

// generatedFolders hold nothing but generated code.
var generatedFolders = set("__generated__")

// generatedFiles are names as a whole.
var generatedFiles = set("wire_gen.go", "bindata.go")

// generatedEnds are what names of generated code end in.
var generatedEnds = []string{
	".pb.go", ".pb.gw.go", ".pb.validate.go", ".pb.micro.go", ".pb.cc", ".pb.h", ".pb.swift", ".grpc.swift", // protobuf
	".pb.dart", ".pbenum.dart", ".pbjson.dart", ".pbgrpc.dart", ".pbserver.dart",
	"_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi", "_pb.js", "_pb.d.ts", "_pb.ts", "_pb.rb",
	".gen.go", ".sql.go", ".gen.ts", ".gen.tsx", ".gen.js",
	".designer.cs", ".designer.vb", ".g.cs", ".g.i.cs",
	".g.dart", ".freezed.dart", ".gr.dart", ".mocks.dart",
	".tsbuildinfo",
}

var (
	minifiedEnds  = []string{".min.js", ".min.mjs", ".min.cjs", ".min.css", "-min.js", "-min.css"}
	sourceMapEnds = []string{".js.map", ".mjs.map", ".cjs.map", ".css.map", ".ts.map"}
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// Usual says what files of that name usually are: "vendored", "lock file", "minified",
// "source map", "generated", or nothing in particular. It follows github-linguist where
// projects agree about a name. Snapshots of tests (*.snap) are nothing in particular: they
// say what a change does. A folder says more than a name.
func Usual(path string) string {
	path = strings.ToLower(path)
	name := path[strings.LastIndexByte(path, '/')+1:]
	before := ""
	generated := generatedFiles[name] || ends(name, generatedEnds) || strings.HasPrefix(name, "zz_generated") ||
		strings.Contains(name, "_generated.") || strings.Contains(name, ".generated.")
	for folder := range strings.SplitSeq(strings.TrimSuffix(path[:len(path)-len(name)], "/"), "/") {
		if vendorFolders[folder] || slices.Contains(vendorPlaces, [2]string{before, folder}) {
			return "vendored"
		}
		generated = generated || generatedFolders[folder]
		before = folder
	}
	switch {
	case vendorFiles[name]:
		return "vendored"
	case lockFiles[name]:
		return "lock file"
	case ends(name, minifiedEnds):
		return "minified"
	case ends(name, sourceMapEnds):
		return "source map"
	case generated:
		return "generated"
	default:
		return ""
	}
}

// ends reports whether a name has one of the ends, and something before it.
func ends(name string, all []string) bool {
	return slices.ContainsFunc(all, func(end string) bool { return len(name) > len(end) && strings.HasSuffix(name, end) })
}
