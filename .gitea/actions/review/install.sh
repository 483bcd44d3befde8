#!/bin/sh
# Puts a review-bot program in place for the action and writes `program=PATH` to
# the step's outputs. Nothing is run that wasn't verified, but what is built from
# the action's own source. In this order:
#
#   1. INSTALL_BINARY_URL, which must match INSTALL_BINARY_SHA256
#   2. the releases of the action's own repository, by their SHA256SUMS:
#      INSTALL_VERSION, or the tag that the action was called with, or the latest
#   3. a Go toolchain on the PATH, from the action's own source
#
# else it fails with one line. It wants POSIX sh, and curl or wget to download.
set -eu

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
program=$folder/review-bot$suffix

# 1. The address given.
url=${INSTALL_BINARY_URL:-}
want=$(printf '%s' "${INSTALL_BINARY_SHA256:-}" | tr '[:upper:]' '[:lower:]')
if [ -n "$url" ]; then
	if [ "${#want}" -ne 64 ]; then
		die "binary-url is given without a binary-sha256 of 64 hex digits — give the checksum of what stands at $(shown "$url"): the program gets your tokens"
	fi
	fetch "$url" "$program" || die "$(shown "$url") can't be downloaded (status $? of the download) — check binary-url, and that the runner has curl or wget"
	got=$(sha256 "$program")
	if [ "$got" != "$want" ]; then
		rm -f "$program"
		die "what stands at $(shown "$url") has the sha256 $got, not $want — check binary-url and binary-sha256"
	fi
	installed "from $(shown "$url"), checksum verified"
fi
if [ -n "$want" ]; then
	die "binary-sha256 is given without binary-url — give both, or none"
fi

# 2. The releases of the action's own repository: it stands at the address the
# runner cloned it from, which its copy may still know.
source=$(cd "${GITHUB_ACTION_PATH:?is set by the runner}/../../.." && pwd)
home=$(sed -n 's|^[[:space:]]*url = \(https\{0,1\}://.*\)$|\1|p' "$source/.git/config" 2>/dev/null | sed -e 1q -e 's|//[^/@]*@|//|' -e 's|\.git$||' || :)
if [ -z "$home" ] && [ -n "${GITHUB_ACTION_REPOSITORY:-}" ]; then
	home=${GITHUB_SERVER_URL:-}/$GITHUB_ACTION_REPOSITORY
fi
home=${home:-"the action's repository"}
asset=review-bot-${os}-${arch}$suffix
tags=${INSTALL_VERSION:-${GITHUB_ACTION_REF:-} latest}
for tag in $tags; do
	release=$home/releases/download/$tag
	case $home in
	http://* | https://*) ;;
	*) continue ;;
	esac
	if ! fetch "$release/SHA256SUMS" "$folder/SHA256SUMS"; then
		continue
	fi
	want=$(sed -n "s|^\([0-9a-f]\{64\}\) [ *]$asset\$|\1|p" "$folder/SHA256SUMS" | sed 1q)
	if [ -z "$want" ]; then
		say "$release/SHA256SUMS has no $asset"
		continue
	fi
	fetch "$release/$asset" "$program" || die "$release/$asset can't be downloaded — run the job again, or give binary-url"
	got=$(sha256 "$program")
	if [ "$got" != "$want" ]; then
		rm -f "$program"
		die "$release/$asset has the sha256 $got, not $want as its SHA256SUMS says — ask who published the release"
	fi
	installed "release $tag of $home, checksum verified"
done
if [ -n "${INSTALL_VERSION:-}" ]; then
	die "no release $INSTALL_VERSION with $asset and SHA256SUMS can be downloaded from $home/releases — check version, or leave it out"
fi

# 3. The action's own source.
if command -v go >/dev/null 2>&1 && [ -f "$source/go.mod" ]; then
	say "no release with $asset at $home/releases; building it with $(go env GOVERSION 2>/dev/null || echo go)"
	if [ -z "${HOME:-}" ]; then
		HOME=$folder
		export HOME
	fi
	without_secrets env CGO_ENABLED=0 GOFLAGS=-buildvcs=false go -C "$source" build -trimpath \
		-ldflags "-s -w -X main.stamped=${GITHUB_ACTION_REF:-source}" -o "$program" ./cmd/review-bot >&2 ||
		die "building $source with Go failed, see above — install the Go of its go.mod on the runner, or give binary-url and binary-sha256"
	installed "built from the action's source with Go"
fi

die "no program to run: give binary-url and binary-sha256, or publish a release with $asset and SHA256SUMS at $home, or install Go on the runner"
