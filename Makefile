# `make help` lists the targets.
export GOTOOLCHAIN := auto
GO ?= go
# Two cores are enough to build and test everything; more packages at once only fight for them.
PARALLEL := -p 2
# What runs several goroutines over shared state is tested under the race detector, too.
RACE := $(addprefix ./internal/,flow/... xds/... files/... process/... admin/... kube/... status/... deploy/... certs/... server/...)

.DEFAULT_GOAL := all
.PHONY: all build lint test demo cluster conformance suite bench calls golden generate envoy kubernetes clean help

all: build lint test ## build, lint and test

build: ## bin/cardea
	$(GO) build $(PARALLEL) -o bin/ ./cmd/cardea

lint: ## go vet and gofmt
	$(GO) vet $(PARALLEL) ./...
	@bad=$$($$($(GO) env GOROOT)/bin/gofmt -l .); [ -z "$$bad" ] || { echo "not formatted (gofmt -w would):"; echo "$$bad"; exit 1; }

test: envoy kubernetes lint ## everything that must hold
	$(GO) test $(PARALLEL) -timeout 30m ./...
	@if command -v "$$($(GO) env CC)" >/dev/null; then set -x; $(GO) test $(PARALLEL) -race -timeout 30m $(RACE); \
	  elif [ -n "$$CI" ]; then echo "the race detector needs a C compiler"; exit 1; \
	  else echo "no C compiler: the tests were not run under the race detector"; fi
	@if [ "$$(uname -s) $$(id -u)" = "Linux 0" ]; then $(MAKE) --no-print-directory suite && bin/conform -quiet; \
	  elif [ -n "$$CI" ]; then echo "the conformance suite needs Linux and root"; exit 1; \
	  else echo "not Linux, or not root: what needs a cluster was left out, the Gateway API's conformance suite among it"; fi

demo: build envoy ## the quickstart with two backends, in the foreground; CHECK=1 makes the calls itself and ends
	@$(GO) build $(PARALLEL) -o bin/ ./examples/backend ./examples/demo
	@exec bin/demo $(if $(CHECK),-check)

cluster: build envoy kubernetes ## a real Kubernetes with Cardea to play with, in the foreground: Linux, root (docs/testcluster.md)
	@$(GO) build $(PARALLEL) -o bin/ ./hack/cluster/testcluster
	@exec bin/testcluster up -apply deploy/install.yaml -image cardea=bin/cardea -image envoyproxy/envoy=$$(hack/get-envoy.sh)

conformance: suite ## the Gateway API's own suite against Cardea in the test cluster; the report goes to docs/conformance
	bin/conform -report docs/conformance/report.yaml

suite: build envoy kubernetes
	@cd hack/conformance && $(GO) test -c $(PARALLEL) -o ../../bin/conformance.test .
	@$(GO) build $(PARALLEL) -o bin/ ./hack/conform

bench: build envoy ## what Cardea costs, as the tables of docs/bench.md: counts, CPU times, ratios; PART=folder or PART=kubernetes runs one
	@for part in $(or $(PART),folder kubernetes); do \
	  $(GO) build $(PARALLEL) -o bin/bench-$$part ./hack/bench/$$part && bin/bench-$$part || exit 1; done

calls: envoy ## the calls of all files of behaviour, through a real Envoy and through the simulation, and how many they are
	@out=$$($(GO) test -v -count=1 -timeout 30m -run '^TestBehaviour$$' ./internal/e2e) || { echo "$$out"; exit 1; }; \
	  echo "$$out" | sed -n 's/.*: \([0-9]* calls of .*\)/\1/p'

golden: envoy ## rewrite the expectations of the tests; then read the diff
	$(GO) test $(PARALLEL) -timeout 30m $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update

generate: ## rewrite generated files
	$(GO) generate ./...

envoy: ## Envoy, into the cache folder
	@hack/get-envoy.sh >/dev/null

kubernetes: ## the programs of the test cluster, into the cache folder: built once, 7 minutes
	@[ "$$(uname -s) $$(id -u)" != "Linux 0" ] || hack/get-cluster.sh >/dev/null

clean: ## remove what was built here
	rm -rf bin

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 12
