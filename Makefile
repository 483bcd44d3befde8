# `make` prints the targets. Needs Go, git, gcc and make; everything else is
# installed through Go into the user's cache, at the versions that stand here.

GOLANGCI_LINT_VERSION := v2.15.0
GOTESTSUM_VERSION     := v1.13.0
GOVULNCHECK_VERSION   := v1.8.0

# Flags for go test, e.g. TESTFLAGS='-run Publish -v'.
TESTFLAGS ?=
# How long `make fuzz` fuzzes each target; `make check` has 5s.
FUZZTIME ?= 60s

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

ifeq ($(XDG_CACHE_HOME)$(HOME),)
$(error set HOME or XDG_CACHE_HOME: the tools are installed into the user's cache)
endif

# The Go version is part of a tool's name: golangci-lint refuses code for a newer
# Go than it was built with.
TOOLS         := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/review-bot/bin
GO_VERSION    := $(shell go env GOVERSION)
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)-$(GO_VERSION)
GOTESTSUM     := $(TOOLS)/gotestsum-$(GOTESTSUM_VERSION)-$(GO_VERSION)
GOVULNCHECK   := $(TOOLS)/govulncheck-$(GOVULNCHECK_VERSION)-$(GO_VERSION)
export GOTESTSUM

# Tests of how long something takes, and of very many states, by name: under the race detector it takes ten
# times as long, so they run in `make test` only.
TIMED := '^Test(Speed|LinearTime|Enumeration$$)'

# `./...` doesn't see folders that begin with a dot.
MODULES := . .gitea/instance .gitea/instance/runner

.PHONY: help
help: ## print the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## build the bot: ./review-bot
	go build -o review-bot ./cmd/review-bot

.PHONY: test
test: test-quick test-real ## all tests, the quick ones first (TESTFLAGS=…)

.PHONY: test-quick
test-quick: $(GOTESTSUM) ## the tests that need no Gitea
	@packages=$$(.ci/packages quick); .ci/gotest $(TESTFLAGS) $$packages

# Another server for `make test-real`, such as a Forgejo: its program, and the folder with
# its templates, options and public unless they are built in. See docs/servers.md.
FORGE        ?=
FORGE_STATIC ?=

.PHONY: test-real
ifneq ($(FORGE),)
test-real: $(GOTESTSUM) ## the tests on a real Gitea (the first time it is built: about 3 minutes); FORGE=… FORGE_STATIC=… for another server
	REVIEW_BOT_FORGE='$(abspath $(FORGE))' REVIEW_BOT_FORGE_STATIC='$(if $(FORGE_STATIC),$(abspath $(FORGE_STATIC)))' \
		.ci/gotest -count=1 -timeout 40m -run '^TestServer(Conforms|AndMemoryStayAlike)$$' $(TESTFLAGS) ./reviewer/gitea
else
test-real: $(GOTESTSUM)
	go run ./cmd/demo build
	@# More at a time than there are processors: half of a test is waiting for the server.
	@packages=$$(.ci/packages real); .ci/gotest -timeout 40m -parallel 4 $(TESTFLAGS) $$packages
endif

.PHONY: e2e
e2e: ## the workflow and the action on a real Gitea with a real runner (part of make test)
	go run ./cmd/demo build
	go test -count=1 -timeout 15m $(TESTFLAGS) ./cmd/e2e

.PHONY: attack
attack: ## every attack of cmd/review-bot/testdata/attacks and every fault on a real Gitea (make test has one of each kind; ATTACKS=… chooses)
	go run ./cmd/demo build
	REVIEW_BOT_ATTACKS='$(or $(ATTACKS),.)' go test -count=1 -timeout 40m -parallel 4 $(TESTFLAGS) -run '^Test(Attack|FaultsOf)' ./cmd/review-bot

.PHONY: check
check: format tidy vet lint race fuzz-short ## format, modules, lint, vet, race detector, short fuzzing

.PHONY: format
format: ## fail on files that gofmt would change
	@files=$$(find . \( -name .git -o -name testdata \) -prune -o -name '*.go' -print0 | xargs -0 gofmt -s -l); \
	if [ -n "$$files" ]; then \
		printf 'not formatted, run gofmt -s -w on:\n%s\n' "$$files" >&2; exit 1; \
	fi

.PHONY: tidy
tidy: ## fail if a go.mod or go.sum isn't tidy
	@for module in $(MODULES); do \
		echo "go mod tidy -diff in $$module"; \
		go -C "$$module" mod tidy -diff || { echo "not tidy, run: go -C $$module mod tidy" >&2; exit 1; }; \
	done

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## golangci-lint, its configuration verified first
	$(GOLANGCI_LINT) config verify
	$(GOLANGCI_LINT) run ./...

.PHONY: race
race: $(GOTESTSUM) ## the quick tests with the race detector
	@packages=$$(.ci/packages quick); CGO_ENABLED=1 .ci/gotest -race -skip $(TIMED) $(TESTFLAGS) $$packages

.PHONY: fuzz-short
fuzz-short: ## every fuzz target for 5 seconds
	@FUZZTIME=5s .ci/fuzz

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (60s), the wide enumeration, 200 random histories
	@FUZZTIME=$(FUZZTIME) .ci/fuzz
	ENUMERATION=wide go test -count=1 -timeout 6h -run 'TestEnumeration$$' -v ./escalation
	go run ./cmd/demo build
	REVIEW_BOT_HISTORIES=200 go test -count=1 -timeout 2h -run Alike -v ./reviewer/gitea

# What a release has: .gitea/actions/review asks for these names.
PLATFORMS := linux/amd64 linux/arm64 darwin/arm64 windows/amd64

.PHONY: dist
dist: ## release binaries with checksums in dist/ (VERSION=…, else from git describe)
	rm -rf dist
	@VERSION='$(VERSION)' .ci/dist dist $(PLATFORMS)
	@cat dist/SHA256SUMS

.PHONY: reproducible
reproducible: ## fail unless two release builds in two folders are the same bytes
	@.ci/reproducible

.PHONY: release
release: ## build dist/, and commit and tag the release that names its checksums (VERSION=v1.2.3)
	@PLATFORMS='$(PLATFORMS)' .ci/release '$(VERSION)'

.PHONY: release-check
release-check: ## fail unless the programs that this release names are built from its source
	@PLATFORMS='$(PLATFORMS)' .ci/release --check

.PHONY: vuln
vuln: $(GOVULNCHECK) ## known vulnerabilities in what the bot calls (needs govulncheck's database)
	@status=0; $(GOVULNCHECK) ./... || status=$$?; \
	case $$status in \
	0) ;; \
	3) echo 'make vuln: govulncheck found vulnerabilities, see above' >&2 ;; \
	*) echo 'make vuln: NOTHING WAS CHECKED: govulncheck could not run, see above. If its database is out of reach from here, run it where the database is reachable, or set GOVULNDB to a copy of it' >&2 ;; \
	esac; \
	exit $$status

.PHONY: demo
demo: ## the bot on a real Gitea with a scripted model, from start to end
	go run ./cmd/demo run

.PHONY: instance
instance: ## a Gitea to click through, until Ctrl-C
	go run ./cmd/demo instance

.PHONY: clean
clean: ## remove what was built here (the tools and the Gitea stay in the user's cache)
	rm -rf review-bot dist

# $(call install,package@version): go install, then into place under the name with
# the version in one step, so that a broken-off install leaves nothing usable.
define install
	@echo 'installing $(1) into $(TOOLS)'
	@mkdir -p $(TOOLS); \
	new=$$(mktemp -d $(TOOLS)/new.XXXXXX); \
	trap 'rm -rf "$$new"' EXIT; \
	GOBIN="$$new" GOFLAGS= GOOS= GOARCH= go install $(1); \
	mv -f "$$new"/* $@
endef

$(GOLANGCI_LINT):
	@echo 'golangci-lint takes about 2 minutes to build, once'
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION))

$(GOTESTSUM):
	$(call install,gotest.tools/gotestsum@$(GOTESTSUM_VERSION))

$(GOVULNCHECK):
	$(call install,golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION))
