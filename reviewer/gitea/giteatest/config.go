package giteatest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
)

// secret makes a value of the form that Gitea wants for its secrets. They are no
// secrets here: the server listens on loopback only and holds made-up data.
func secret(name string) string {
	sum := sha256.Sum256([]byte("giteatest " + name))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// config is the server's app.ini. What isn't needed for the API, git over http
// and Actions is off, for a quick start.
func config(dir, source string, port int, extra string) (string, error) {
	name, err := currentUser()
	if err != nil {
		return "", err
	}
	root := ""
	if os.Geteuid() == 0 {
		root = "I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true\n"
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/", port)
	return fmt.Sprintf(`APP_NAME = giteatest
RUN_MODE = prod
RUN_USER = %[1]s
WORK_PATH = %[2]s
%[3]s
[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[4]d
DOMAIN = 127.0.0.1
ROOT_URL = %[5]s
LOCAL_ROOT_URL = %[5]s
STATIC_ROOT_PATH = %[6]s
APP_DATA_PATH = %[7]s
OFFLINE_MODE = true
DISABLE_SSH = true
LFS_START_SERVER = false
LANDING_PAGE = explore

[database]
DB_TYPE = sqlite3
PATH = %[8]s
SQLITE_JOURNAL_MODE = WAL
; the default of half a second is too short for a loaded machine
SQLITE_TIMEOUT = 20000

[repository]
ROOT = %[9]s
DEFAULT_BRANCH = main

[repository.signing]
SIGNING_KEY = none

[security]
INSTALL_LOCK = true
SECRET_KEY = %[10]s
INTERNAL_TOKEN = %[11]s
; the cheapest rounds: every test user's password and token is hashed
PASSWORD_HASH_ALGO = pbkdf2$100$50
MIN_PASSWORD_LENGTH = 6
PASSWORD_COMPLEXITY = off

[oauth2]
JWT_SECRET = %[12]s

[log]
MODE = file
LEVEL = Info
ROOT_PATH = %[13]s

[log.file]
FILE_NAME = gitea.log

[actions]
ENABLED = true
DEFAULT_ACTIONS_URL = self

[queue]
; in memory: nothing has to survive the server
TYPE = channel

[session]
PROVIDER = memory

[mailer]
ENABLED = false

[picture]
DISABLE_GRAVATAR = true

[indexer]
ISSUE_INDEXER_TYPE = db
REPO_INDEXER_ENABLED = false

[cron.update_checker]
ENABLED = false

%[14]s
`, name, dir, root, port, url, source, filepath.Join(dir, "data"), filepath.Join(dir, "gitea.db"),
		filepath.Join(dir, "repositories"), secret("SECRET_KEY"), secret("INTERNAL_TOKEN"), secret("JWT_SECRET"),
		filepath.Join(dir, "log"), extra), nil
}

// currentUser is the name that Gitea compares its RUN_USER with.
func currentUser() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find the current user for Gitea's RUN_USER: %w", err)
	}
	return u.Username, nil
}
