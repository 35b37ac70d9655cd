# Everything a person needs is one of these targets; each sets up what it needs.
.PHONY: demo setup test check requirements bench load fuzz torture scale fmt vet staticcheck tidy generated benchbuild toolstest peers temporal mutants takeaway api cross image release help

# The race detector needs a C compiler; without one the tests run without it. It does not
# look into SQLite, which is C in the form of Go: that made it four times as slow.
RACE := $(shell command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 && echo -race -gcflags=modernc.org/...=-race=false)
GO ?= go

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: ## agents at work from files to a document, with no key and no server
	@GO=$(GO) ./scripts/demo

setup: ## installs the programs that tests talk to
	@./scripts/setup

test: setup ## runs all tests
	@$(GO) test -json $(RACE) -shuffle=on -timeout 30m ./... | $(GO) -C tools run ./testreport -again test/browser,cmd/troupe -- $(RACE)

check: fmt vet staticcheck tidy generated api benchbuild toolstest peers test ## what must be green at every commit

requirements: ## prints which tests show which requirement
	@$(GO) test -count=1 -run TestEveryRequirementIsShownByATest -v . | sed -n 's/^ *requirements_test.go:[0-9]*: //p; s/^             */         /p'

bench: ## measures Troupe against its peers, in one run
	@$(GO) -C bench run .

load: ## talks to the server as a thousand pages would, and reports how it bears that
	@$(GO) run ./test/load

fuzz: ## fuzzes every parser for a while: make fuzz FUZZTIME=1m
	@GO=$(GO) FUZZTIME=$(or $(FUZZTIME),30s) ./scripts/fuzz

torture: ## kills the program a thousand times and looks for what is lost: make torture KILLS=5000
	@$(GO) run ./test/torture -kills $(or $(KILLS),1000)

scale: ## three workers on PostgreSQL and Temporal through hundreds of kills, ten thousand inputs, a million sessions, and what a turn costs: make scale RUNS=300 KILLS=150
	@TROUPE_RUNS=$(or $(RUNS),300) TROUPE_KILLS=$(or $(KILLS),150) $(GO) test -count=1 -v -timeout 60m -run TestWorkers ./store/postgres
	@TROUPE_RUNS=$(or $(RUNS),300) TROUPE_KILLS=$(or $(KILLS),150) $(GO) -C engine/temporal/test test -count=1 -v -timeout 60m -run TestWorkers .
	@TROUPE_INPUTS=$(or $(INPUTS),10000) $(GO) -C engine/temporal/test test -count=1 -v -timeout 90m -run TestManyInputs .
	@TROUPE_SESSIONS=$(or $(SESSIONS),1000000) $(GO) test -count=1 -v -timeout 60m -run TestTheCostOfAStart ./project
	@TROUPE_ROUNDS=20 $(GO) test -count=1 -v -timeout 10m -run TestHowSoon ./project
	@TROUPE_TURNS=$(or $(TURNS),400) $(GO) -C engine/temporal/test test -count=1 -v -timeout 30m -run TestWhatATurnCosts .
	@$(GO) test -run '^$$' -bench Append -benchtime 5s ./store/postgres

# What mutation testing looks at, and how many mutants of each package it tries.
MUTATED := . ./flow=. ./internal/answer ./internal/journal=. ./pipeline ./store/sqlite
mutants: ## breaks the code in small ways and lists what no test notices: make mutants PACKAGES=./flow SAMPLE=0 (all) SEED=2
	@$(GO) -C tools run ./mutants -root .. -sample $(or $(SAMPLE),60) -seed $(or $(SEED),1) $(MUTANTS) $(or $(PACKAGES),$(MUTATED))

takeaway: ## takes features away, one at a time, and says which no test misses: make takeaway FEATURES="FR-004 M16"
	@$(GO) -C tools run ./takeaway -root .. $(FEATURES)

fmt:
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }

vet:
	@$(GO) vet ./...

staticcheck:
	@$(GO) tool -modfile=tools/go.mod staticcheck ./...

tidy:
	@$(GO) mod tidy -diff
	@$(GO) -C bench mod tidy -diff
	@$(GO) -C tools mod tidy -diff
	@$(GO) -C engine/temporal mod tidy -diff
	@$(GO) -C engine/temporal/test mod tidy -diff
	@$(GO) -C test/sdks mod tidy -diff

# Generated files must be what their generators make of the tree as it is.
generated:
	@./scripts/generated

# What a release promised to Go programs stays, or is said.
api:
	@./scripts/api

# The program compiles for the systems that no test runs on here.
cross: ## compiles the program for Windows and macOS
	@for os in windows darwin; do GOOS=$$os CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/troupe || exit 1; done

# A container image of the program alone, where there is buildah.
image: ## builds an image, starts it, has it serve and stops it
	@./scripts/image

release: ## a dry run of a release by goreleaser, and what came of it tried: make release TARGETS=host
	@TARGETS=$(TARGETS) BUILD_SECONDS=$(BUILD_SECONDS) ./scripts/release

toolstest:
	@$(GO) -C tools vet ./...
	@$(GO) -C tools test ./...

# Temporal is linked by modules of their own; building a whole server of it takes minutes
# where nothing is cached.
temporal: setup ## runs the tests of engine/temporal, against a Temporal server in memory
	@$(GO) -C engine/temporal vet ./...
	@$(GO) -C engine/temporal run go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0 ./...
	@$(GO) -C engine/temporal test ./...
	@$(GO) -C engine/temporal/test vet .
	@$(GO) -C engine/temporal/test test -timeout 30m .

# Building the SDKs takes a minute or two the first time; the tests themselves take seconds.
peers: ## has the providers' own SDKs read recorded answers and decode our requests
	@$(GO) -C test/sdks test ./...

benchbuild:
	@$(GO) -C bench vet ./...
