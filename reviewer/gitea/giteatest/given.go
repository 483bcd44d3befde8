package giteatest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Variables that name another server to start than the one that is built here: its
// program, and the folder with its templates, options and public, which a program that
// has them built in doesn't need. They must be absolute, as tests run in folders of their own.
const (
	forgeEnv  = "REVIEW_BOT_FORGE"
	staticEnv = "REVIEW_BOT_FORGE_STATIC"
)

// program finds the server's program, the folder of what it needs beside, and a folder to
// keep what is made for it.
func program(ctx context.Context, root string, progress io.Writer) (binary, static, cache string, err error) {
	if binary = os.Getenv(forgeEnv); binary != "" {
		return given(binary, os.Getenv(staticEnv))
	}
	if binary, err = Build(ctx, root, progress); err != nil {
		return "", "", "", err
	}
	cache = filepath.Dir(binary)
	static, err = server.sourceDir(ctx, root, cache)
	return binary, static, cache, err
}

// given is program for one that the environment names.
func given(binary, static string) (_, _, cache string, err error) {
	info, err := os.Stat(binary)
	switch {
	case err != nil:
		return "", "", "", fmt.Errorf("%s: %w: name the server's program", forgeEnv, err)
	case !filepath.IsAbs(binary) || !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return "", "", "", fmt.Errorf("%s: %s isn't the absolute path of a program", forgeEnv, binary)
	case static == "":
		static = filepath.Dir(binary)
	case !filepath.IsAbs(static) || !isDir(filepath.Join(static, "templates")):
		return "", "", "", fmt.Errorf("%s: %s isn't the absolute path of a folder with templates", staticEnv, static)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", "", "", fmt.Errorf("find a place for what is made for %s: %w: set HOME or XDG_CACHE_HOME", binary, err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %s", binary, info.Size(), info.ModTime().UnixNano(), static))
	cache = filepath.Join(base, "review-bot", "forge-"+hex.EncodeToString(sum[:])[:16])
	return binary, static, cache, os.MkdirAll(cache, 0o755)
}
