package giteatest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// adminName is the name of every server's administrator.
const adminName = "site-admin"

// template returns the data directory of a server that has been set up and
// stopped: the migrated database with the administrator, and the keys. Copying it
// saves a start about 1.5 s of migrating and key making. It is made once, next
// to the binary, and again when the configuration changes.
func template(ctx context.Context, cache, binary, source string) (string, error) {
	text, err := config("", "", 0, "")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	final := filepath.Join(cache, "template-"+hex.EncodeToString(sum[:])[:16])
	if isDir(final) {
		return final, nil
	}
	unlock, err := lock(ctx, filepath.Join(cache, "template.lock"), func() {})
	if err != nil {
		return "", err
	}
	defer unlock()
	if isDir(final) {
		return final, nil
	}
	// One name only: the lock is held, and what a killed process left goes away.
	dir := final + ".unfinished"
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return "", fmt.Errorf("make the template of a Gitea server: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := setUp(ctx, binary, source, dir); err != nil {
		return "", fmt.Errorf("make the template of a Gitea server: %w", err)
	}
	if err := os.Rename(dir, final); err != nil {
		return "", fmt.Errorf("put the template of a Gitea server in place: %w", err)
	}
	return final, nil
}

var tokenPattern = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// setUp makes an empty server with its administrator in dir and leaves it
// stopped.
func setUp(ctx context.Context, binary, source, dir string) error {
	text, err := config(dir, source, 0, "")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "app.ini"), []byte(text), 0o600); err != nil {
		return err
	}
	if _, err := command(ctx, binary, dir, "migrate"); err != nil {
		return err
	}
	out, err := command(ctx, binary, dir, "admin", "user", "create", "--admin", "--username", adminName,
		"--password", password(adminName), "--email", adminName+"@example.org", "--must-change-password=false",
		"--access-token", "--access-token-scopes", "all")
	if err != nil {
		return err
	}
	token := tokenPattern.FindString(out)
	if token == "" {
		return fmt.Errorf("gitea admin user create printed no token: %s", lastLines(strings.Split(out, "\n"), 3))
	}
	if err := os.WriteFile(filepath.Join(dir, adminTokenFile), []byte(token), 0o600); err != nil {
		return err
	}
	// The first start makes an RSA key, which takes most of its time.
	s := &Server{dir: dir, binary: binary}
	if err := s.launch(ctx, source, 0, ""); err != nil {
		return err
	}
	if err := s.process.stop(stopGrace); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, "log"))
}

// command runs one of Gitea's own commands on the data directory.
func command(ctx context.Context, binary, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, binary, append([]string{"--config", filepath.Join(dir, "app.ini")}, args...)...)
	cmd.Env = cleanEnv()
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gitea %s: %w: %s", strings.Join(args[:min(3, len(args))], " "), err, lastLines(strings.Split(string(out), "\n"), 5))
	}
	return string(out), nil
}
