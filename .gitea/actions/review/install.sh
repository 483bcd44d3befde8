#!/bin/sh
# Puts a review-bot program in place for the action and writes `program=PATH` to
# the step's outputs. Nothing is run that wasn't verified against what came with
# this checkout or with the workflow, but what is built from the checkout's own
# source. In this order:
#
#   1. INSTALL_BINARY_URL, which must match INSTALL_BINARY_SHA256
#   2. the release that this checkout is: the file RELEASE next to this one names its
#      version and the checksum of each program, and is only believed as long as the
#      source is the one that it was made for. Where to download it is asked of the
#      runner's variables and of the checkout's origin; they decide nothing else.
#      INSTALL_VERSION may name another release, with INSTALL_BINARY_SHA256.
#   3. a Go toolchain on the PATH, from the checkout's source
#
# else it fails with one line. It wants POSIX sh, and curl or wget to download.
#
# `install.sh --source` prints the digest of the checkout's source.
set -euf

say() { printf 'review-bot: %s\n' "$*" >&2; }
die() {
	say "$*"
	exit 1
}

# The download and the build need no secrets, so they see none of the job's.
without_secrets() {
	env -u ACTIONS_RUNTIME_TOKEN -u ACTIONS_ID_TOKEN_REQUEST_TOKEN -u GITHUB_TOKEN -u GITEA_TOKEN -u OPENAI_API_KEY \
		-u REVIEW_BOT_TOKEN -u REVIEW_BOT_API_KEY -u REVIEW_BOT_NOTICE_TOKEN -u INPUT_TOKEN -u INPUT_API-KEY -u INPUT_API_KEY "$@"
}

# fetch URL FILE; its own words are dropped, the caller says what they mean.
fetch() {
	if command -v curl >/dev/null 2>&1; then
		without_secrets curl -fsSL --retry 2 --connect-timeout 15 --max-time 300 -o "$2" "$1" 2>/dev/null
	elif command -v wget >/dev/null 2>&1; then
		without_secrets wget -q -T 60 -O "$2" "$1" 2>/dev/null
	else
		return 127
	fi
}

sha256() {
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum <"$1"
	elif command -v shasum >/dev/null 2>&1; then
		shasum -a 256 <"$1"
	else
		openssl dgst -sha256 -r <"$1"
	fi | cut -c 1-64
}

# An address may carry a token: its user part and query aren't shown.
shown() { printf '%s' "$1" | sed -e 's|//[^/@]*@|//…@|' -e 's|?.*|?…|'; }

installed() {
	chmod 755 "$program"
	if [ -n "${GITHUB_OUTPUT:-}" ]; then
		printf 'program=%s\n' "$program" >>"$GITHUB_OUTPUT"
	fi
	say "installed $1"
	exit 0
}

source=$(cd "$(dirname "$0")/../../.." && pwd)

# digest prints the SHA-256 of all that the program is built from.
digest() {
	if command -v sha256sum >/dev/null 2>&1; then
		set -- sha256sum
	else
		set -- shasum -a 256
	fi
	(cd "$source" && find cmd escalation prompts reviewer sentinel go.mod go.sum -type f -exec "$@" {} + | sed 's/ \*/  /' | LC_ALL=C sort) >"$folder/source" || return
	sha256 "$folder/source"
}

# release prints what a sed script finds in RELEASE, at most one line.
release() { sed -n "$1" "$source/.gitea/actions/review/RELEASE" 2>/dev/null | sed 1q; }

# homes prints the addresses at which the action's repository may be: as the runner
# names it, and as this checkout was cloned from. Another server's repository of that
# name may be among them, and the checkout's file may say anything: the checksum decides.
homes() {
	case ${GITHUB_ACTION_REPOSITORY:-} in
	'') ;;
	http://* | https://*) printf '%s\n' "$GITHUB_ACTION_REPOSITORY" ;;
	*) printf '%s\n' "${GITHUB_SERVER_URL:-}/$GITHUB_ACTION_REPOSITORY" ;;
	esac | place
	sed -n 's|^[[:space:]]*url = \(.*\)$|\1|p' "$source/.git/config" 2>/dev/null | place
}

# place keeps the addresses that can be asked, without logins.
place() { grep '^https\{0,1\}://[^[:space:]*?]*$' | sed -e 's|//[^/@]*@|//|' -e 's|\.git$||' || :; }

# asked says where a release was looked for.
asked() {
	set -- $(homes)
	printf '%s' "${*:-nowhere: the action has no address}"
}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
MINGW* | MSYS* | CYGWIN*) os=windows ;;
*) os=$(uname -s | tr '[:upper:]' '[:lower:]') ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) arch=$(uname -m) ;;
esac
suffix=
if [ "$os" = windows ]; then
	suffix=.exe
fi

folder=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/review-bot.XXXXXX")
trap 'rm -f "$folder/source"' EXIT
program=$folder/review-bot$suffix
asset=review-bot-${os}-${arch}$suffix

if [ "${1:-}" = --source ]; then
	digest
	rm -rf "$folder"
	exit 0
fi

# 1. The address given.
url=${INSTALL_BINARY_URL:-}
want=$(printf '%s' "${INSTALL_BINARY_SHA256:-}" | tr '[:upper:]' '[:lower:]')
if [ -n "$url" ]; then
	if [ "${#want}" -ne 64 ]; then
		die "binary-url is given without a binary-sha256 of 64 hex digits — give the checksum of what is at $(shown "$url"): the program gets your tokens"
	fi
	fetch "$url" "$program" || die "$(shown "$url") can't be downloaded (status $? of the download) — check binary-url, and that the runner has curl or wget"
	got=$(sha256 "$program")
	if [ "$got" != "$want" ]; then
		rm -f "$program"
		die "what is at $(shown "$url") has the sha256 $got, not $want — check binary-url and binary-sha256"
	fi
	installed "from $(shown "$url"), checksum verified"
fi
# 2. The release that this checkout is, or the version that is asked for.
released=$(release 's/^version \(v[A-Za-z0-9._+-]*\)$/\1/p')
version=$released
if [ -n "${INSTALL_VERSION:-}" ] && [ "$INSTALL_VERSION" != "$released" ]; then
	case $INSTALL_VERSION in
	*[!A-Za-z0-9._+-]*) die "version is the name of a release, such as v1.2.3 — check it" ;;
	esac
	if [ "${#want}" -ne 64 ]; then
		die "version $INSTALL_VERSION isn't the release of this checkout (${released:-none}) — call the action as @$INSTALL_VERSION, or give the program's binary-sha256 too"
	fi
	version=$INSTALL_VERSION
elif [ -n "$want" ]; then
	die "binary-sha256 is given without binary-url or another version — give both, or none"
elif [ -n "$released" ]; then
	is=$(digest)
	if [ "${#is}" -eq 64 ] && [ "$is" = "$(release 's/^source \([0-9a-f]\{64\}\)$/\1/p')" ]; then
		want=$(release "s/^\([0-9a-f]\{64\}\)  $asset\$/\1/p")
		[ -n "$want" ] || say "the release $released has no $asset"
	else
		version=
	fi
fi
if [ -n "$version" ] && [ -n "$want" ]; then
	wrong=
	for home in $(homes); do
		from=$home/releases/download/$version/$asset
		fetch "$from" "$program" || continue
		got=$(sha256 "$program")
		if [ "$got" = "$want" ]; then
			installed "release $version from $(shown "$home"), checksum verified"
		fi
		rm -f "$program"
		wrong="$(shown "$from") has the sha256 $got, not $want as the release $version has it — ask who published it"
	done
	if [ -n "$wrong" ]; then
		die "$wrong"
	fi
	if [ "$version" != "$released" ]; then
		die "$asset of the release $version can't be downloaded from $(asked) — check version, or give binary-url"
	fi
fi

# 3. The checkout's own source.
why="it is no release"
if [ -n "$released" ]; then
	why="its source isn't that of $released"
	[ -z "$version" ] || why="$asset of the release $released can't be downloaded from $(asked)"
fi
if command -v go >/dev/null 2>&1 && [ -f "$source/go.mod" ]; then
	say "building the program from this checkout ($why) with $(go env GOVERSION 2>/dev/null || echo go)"
	if [ -z "${HOME:-}" ]; then
		HOME=$folder
		export HOME
	fi
	ref=$(printf '%s' "${GITHUB_ACTION_REF:-source}" | tr -cd 'A-Za-z0-9._/+-')
	without_secrets env CGO_ENABLED=0 GOFLAGS=-buildvcs=false go -C "$source" build -trimpath \
		-ldflags "-s -w -X main.stamped=$ref" -o "$program" ./cmd/review-bot >&2 ||
		die "building $source with Go failed, see above — install the Go of its go.mod on the runner, or give binary-url and binary-sha256"
	installed "built from the action's source with Go"
fi

die "no program to run: this checkout of the action can't be installed as a release ($why), and the runner has no Go — call the action at a release's tag, or give binary-url and binary-sha256"
