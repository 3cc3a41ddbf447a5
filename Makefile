# `make help` lists the targets.
export GOTOOLCHAIN := auto
# Without the path of its folder in what is built, every checkout finds what another one compiled in Go's cache.
export GOFLAGS += -trimpath
GO ?= go
# The version of the next release: that of the conformance reports, and of the image that deploy/install.yaml names.
RELEASE := v0.1.0
# Everything can be built and tested on two cores; more packages at a time would only slow each other down.
PARALLEL := -p 2
# Packages in which several goroutines share state are tested under the race detector: some of them by `make test`, and
# all by `make test-long`, since a database and a Kubernetes take minutes there.
RACE_LONG := $(addprefix ./internal/,ledger/apply ledger/store deliver/kube/proxies deliver/kube/status)
RACE := $(addprefix ./internal/,core/flow core/kubeclient core/tokenreview source/files source/kube source/lastgood \
  source/machine deliver/... epp/... app/controller app/eppchild app/ledgerlive ops/admin)

.DEFAULT_GOAL := all
.PHONY: agents all build lint test test-long fuzz demo inference ledger cluster conformance suite bench calls golden generate image release envoy postgres prometheus h2load mcp kubernetes clean help

all: build lint test ## build, lint and test

build: ## build bin/cardea
	$(GO) build $(PARALLEL) -ldflags "-s -w" -o bin/ ./cmd/cardea

lint: ## run go vet and gofmt
	$(GO) vet $(PARALLEL) ./...
	$(GO) vet -C internal/test/cluster $(PARALLEL) ./...
	@bad=$$($$($(GO) env GOROOT)/bin/gofmt -l .); [ -z "$$bad" ] || { echo "not formatted (gofmt -w would):"; echo "$$bad"; exit 1; }

# These start no program, so most mistakes are told within the first minutes.
FIRST := $(addprefix ./internal/,core/... translate/... dataplane/... features/... ops/explain ops/cli)

# The linter has vetted the tests already. -short leaves out what `make test-long` runs.
SHORT := $(PARALLEL) -vet=off -short -timeout 40m

test: envoy kubernetes postgres prometheus h2load mcp lint ## run the tests, but for the few that only test-long runs
	@if command -v "$$($(GO) env CC)" >/dev/null; then set -e; all=$$($(GO) list $(FIRST) ./...); \
	    race=$$($(GO) list $(RACE) | grep -vxF "$$($(GO) list $(RACE_LONG))"); set -x; \
	    $(GO) test $(SHORT) $$(echo "$$all" | grep -vxF "$$race"); $(GO) test $(SHORT) -race $$race; \
	  elif [ -n "$$CI" ]; then echo "the race detector needs a C compiler"; exit 1; \
	  else $(GO) test $(SHORT) $(FIRST) ./... && echo "no C compiler: the tests were not run under the race detector"; fi
	$(GO) test -C extend/schemagen $(SHORT) ./...
	$(GO) test -C internal/test/cluster $(SHORT) ./...
	@if [ "$$(uname -s) $$(id -u)" = "Linux 0" ]; then $(MAKE) --no-print-directory suite && bin/conform -quiet; \
	  elif [ -n "$$CI" ]; then echo "the conformance suite needs Linux and root"; exit 1; \
	  else echo "not Linux, or not root: tests that need a cluster were skipped, and so was the Gateway API's conformance suite"; fi

# They call testing.Short().
test-long: envoy kubernetes postgres ## run the packages that have tests which `make test` leaves out or shortens: many seeds, long streams, the ledger's contract once more; and the ledger and its Kubernetes under the race detector
	$(GO) test $(PARALLEL) -vet=off -short -race -timeout 60m $(RACE_LONG)
	$(GO) test $(PARALLEL) -vet=off -timeout 60m $$(grep -rl --include='*_test.go' 'testing.Short()' internal | xargs -n1 dirname | sort -u | sed 's|^|./|')

# By default each run has another seed, which is printed.
SEED ?= $(shell date +%s)
CASES ?= 1000000
BODIES ?= 100000

fuzz: envoy ## decide a million random calls of agents by what is stated and by what is rendered, and send 100,000 mutated bodies through a real Envoy; SEED=, CASES= and BODIES= repeat less of it
	@echo "SEED=$(SEED)"
	CARDEA_FUZZ_SEED=$(SEED) CARDEA_FUZZ_CASES=$(CASES) $(GO) test -count=1 -v -timeout 60m -run '^TestRenderedAsStated$$' ./internal/features/access
	@out=$$(CARDEA_FUZZ_SEED=$(SEED) CARDEA_FUZZ_BODIES=$(BODIES) $(GO) test -count=1 -v -timeout 60m -run '^TestMutatedBodies$$' ./internal/test/e2e/live) || { echo "$$out"; exit 1; }; \
	  echo "$$out" | sed -n 's/.*: \([0-9]* bodies from .*\|[0-9]* requests arrived .*\)/\1/p'

agents: build envoy ## run examples/agents: a server of tools, and two agents that may call some
	@examples/agents/run.sh

inference: build envoy ## run examples/inference: three model servers, and conversations that stay where their beginning is cached
	@examples/inference/run.sh

ledger: build envoy ## run examples/ledger: the quickstart from a ledger, a change with a preview, the history, and the way back
	@$(GO) build $(PARALLEL) -o bin/ ./examples/backend
	@examples/ledger/run.sh

demo: build envoy ## run the quickstart with two backends, in the foreground; CHECK=1 makes the calls itself and ends; EXAMPLE=api runs another example
	@$(GO) build $(PARALLEL) -o bin/ ./examples/backend ./examples/demo
	@exec bin/demo $(if $(CHECK),-check) $(if $(EXAMPLE),-example examples/$(EXAMPLE)) \
	  $(if $(wildcard examples/$(EXAMPLE)/prometheus.conf),-prometheus "$$(hack/get-prometheus.sh)/prometheus")

cluster: build envoy kubernetes ## start a real Kubernetes with Cardea, in the foreground: Linux, root (docs/testcluster.md)
	@$(GO) build -C examples/agents/mcp -o ../../../bin/agents .
	@$(GO) build $(PARALLEL) -o bin/ ./examples/inference/modelserver
	@exec bin/testcluster up -apply deploy/third-party-crds.yaml -apply deploy/install.yaml -image cardea=bin/cardea -image agents=bin/agents -image modelserver=bin/modelserver -image envoyproxy/envoy=$$(hack/get-envoy.sh)

conformance: suite ## run the Gateway API's own suite against Cardea in the test cluster, on both data planes; the reports go to docs/conformance
	bin/conform -version $(RELEASE) -report docs/conformance/report.yaml
	bin/conform -version $(RELEASE) -dataplane EnvoyConfigMap -report docs/conformance/report-configmap.yaml

suite: build envoy kubernetes
	@cd hack/conformance && $(GO) test -c $(PARALLEL) -o ../../bin/conformance.test .
	@$(GO) build $(PARALLEL) -o bin/ ./hack/conform

bench: build envoy ## measure what Cardea costs: the tables of docs/bench.md; PART=folder, policies, agents, inference, ledger or kubernetes runs one part
	@for part in $(or $(PART),folder policies agents inference ledger kubernetes); do \
	  $(GO) build $(PARALLEL) -o bin/bench-$$part ./hack/bench/$$part && bin/bench-$$part || exit 1; done

calls: envoy ## make the calls of all behaviour files, through a real Envoy and through the simulation; DATAPLANE=EnvoyConfigMap on that data plane
	@out=$$(CARDEA_DATAPLANE=$(DATAPLANE) $(GO) test -v -count=1 -timeout 30m -run '^TestBehaviour$$' ./internal/test/e2e) || { echo "$$out"; exit 1; }; \
	  echo "$$out" | sed -n 's/.*: \([0-9]* calls of .*\)/\1/p'

golden: envoy ## rewrite the expected results of the tests; then read the diff
	$(GO) test $(PARALLEL) -timeout 30m $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update

generate: ## rewrite generated files
	$(GO) generate ./...

# The version of `make image` is that of the commit, which is none that deploy/install.yaml names (hack/manifest.sh).
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
IMAGE ?= cardea
PLATFORMS = linux/amd64 linux/arm64

image: ## build bin/image.tar, an OCI archive, without a container engine; VERSION=, IMAGE= and PLATFORMS= change what it is
	@IMAGE=$(IMAGE) hack/image.sh $(VERSION) bin/image.tar $(PLATFORMS)
	@echo "it is $(IMAGE):$(VERSION); hack/manifest.sh $(IMAGE):$(VERSION) prints the manifest that names it"

release: ## make a release in dist/: programs, checksums, image, manifest; VERSION=v1.2.3, IMAGE=registry.example/cardea
	@IMAGE=$(IMAGE) hack/release.sh $(VERSION)

envoy: ## download Envoy into the cache folder
	@hack/get-envoy.sh >/dev/null

postgres: ## find PostgreSQL 15 or newer, or get it into the cache folder
	@hack/get-postgres.sh >/dev/null

prometheus: ## get Prometheus into the cache folder, where it comes from a Debian package
	@hack/get-prometheus.sh >/dev/null || true

h2load: ## get h2load into the cache folder, where it comes from a Debian package
	@hack/get-h2load.sh >/dev/null || true

mcp: ## get a server of tools and clients of other languages into the cache folder; needs node, npm and python3
	@hack/get-mcp.sh >/dev/null || true

kubernetes: ## build the test cluster: its programs into the cache folder (once, 7 minutes), and bin/testcluster
	@[ "$$(uname -s) $$(id -u)" != "Linux 0" ] || { hack/get-cluster.sh && hack/get-testcluster.sh && \
	  $(GO) mod download -C examples/agents/mcp; } >/dev/null # tests in the cluster build this module, without a network

clean: ## remove bin/ and dist/
	rm -rf bin dist

help: ## print this list
	@sed -n 's/^\([a-z0-9]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 12
