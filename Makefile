# Everything a person needs is one of these targets; each sets up what it needs.
.PHONY: demo setup test check requirements bench load fuzz torture fmt vet staticcheck tidy generated benchbuild toolstest mutants api help

# The race detector needs a C compiler; without one the tests run without it.
RACE := $(shell command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 && echo -race)
GO ?= go

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: ## agents at work from files to a document, with no key and no server
	@GO=$(GO) ./scripts/demo

setup: ## installs the programs that tests talk to
	@./scripts/setup

test: setup ## runs all tests
	@$(GO) test -json $(RACE) -shuffle=on -timeout 30m ./... | $(GO) -C tools run ./testreport

check: fmt vet staticcheck tidy generated api benchbuild toolstest test ## what must be green at every commit

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

# What mutation testing looks at, and how many mutants of each package it tries.
MUTATED := . ./flow ./internal/answer ./internal/journal=. ./pipeline ./store/sqlite
mutants: ## breaks the code in small ways and lists what no test notices: make mutants PACKAGES=./flow SAMPLE=0 (all) SEED=2
	@$(GO) -C tools run ./mutants -root .. -sample $(or $(SAMPLE),60) -seed $(or $(SEED),1) $(MUTANTS) $(or $(PACKAGES),$(MUTATED))

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

# Generated files must be what their generators make of the tree as it is.
generated:
	@./scripts/generated

# What a release promised to Go programs stays, or is said.
api:
	@./scripts/api

toolstest:
	@$(GO) -C tools vet ./...
	@$(GO) -C tools test ./...

benchbuild:
	@$(GO) -C bench vet ./...
