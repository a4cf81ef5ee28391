# weft: everything that is done with the repository, by name. Needs Go only
# (and a C compiler for the race detector, which is left out without one).

GO      ?= go
BIN     := bin/weft
# The commit, for weft version, manifests and reports; empty outside of git.
VERSION := $(shell git describe --always --dirty --tags 2>/dev/null)
RESULTS := results

# How long the parts of make soak run that run as long as one likes, and the first random
# fabric.
SOAK_TIME ?= 10m
SOAK_SEED ?= 1

# How long the tests of one package may take: one of them needs minutes of two idle cores,
# and a busy machine is several times slower.
TEST_TIMEOUT ?= 60m

# Packages in which goroutines share work, and the tests of that: some of them in make check,
# all of them in make race-all.
THREADED := ./experiments ./experiments/engine ./fabric/core ./experiments/kinds/...
THREADS := ^Test(Cached|Interrupt|Interruptible|InterruptDeafPoint|Shares|Threads|ThreadsHostModel|MPIThreads)$$

# The simulator itself, whose checks are left out of all but the checked build. Its tests run
# in that, the most costly first; those of others, and those of memory, in the usual one.
CHECKED := ./fabric/core ./routing/... ./fabric/... ./sim/...
UNCHECKED = $(shell $(GO) list ./... | grep -vE '/weft/(sim|fabric|routing)(/|$$)')
CHOSEN  := Threads|^Test(Golden|CreditsAtSpeedupOne|Blame|MulticastMixed|LanesShareALink|UnitRuns|ProbeUnits|ProbeFaults|VerdictErrors|RunsGoOn|KernelsOnThreads|SnapshotsWithFaults|RandomFaults|Conformance|Units|ServiceLevels|RandomNetworks|RandomFabrics|AroundFaults)$$
MEMORY  := Allocates|RegisteredAllocators|^TestArray$$

# All of vet is a check of its own, so that tests leave out their part of it.
TEST := test -vet=off -timeout $(TEST_TIMEOUT)

# Garbage of tests is collected late: they make many small networks, and took half as long again.
test-checked test-unchecked test-short race: export GOGC ?= 400

# The number by which tests choose cases, of those that differ little: the day's.
WEFT_TEST_CHOICE ?= $(shell expr $$(date -u +%s) / 86400)
export WEFT_TEST_CHOICE

# The binary is compiled by a profile of itself, cmd/weft/default.pgo; all else without, so that
# nothing is compiled twice.
export GOFLAGS := $(GOFLAGS) -pgo=off

.PHONY: all build profile man test test-short test-checked test-unchecked test-slurm test-report race-all soak soak-choices soak-plain soak-fabrics soak-files soak-snapshots soak-kills soak-traces soak-pairs fuzz check format vet lint tidy arrows race bench bench-check demo gallery reproduce verdicts atlas golden clean help

all: build

build: ## build bin/weft
	$(GO) build -pgo=auto $(if $(VERSION),-ldflags "-X github.com/weft-sim/weft/experiments.version=$(VERSION)") -o $(BIN) ./cmd/weft

profile: ## measure where time goes, for the compiler: cmd/weft/default.pgo, without paths of this machine (a minute)
	@mkdir -p $(RESULTS)/profile
	$(GO) build -trimpath -o $(RESULTS)/profile/weft ./cmd/weft
	WEFT_CPU_PROFILE=$(RESULTS)/profile/cpu $(RESULTS)/profile/weft run experiments/examples/*.toml papers/connections/table2-ft papers/connections/table2-lu \
		--quick --quiet --jobs 1 --no-cache --force --out $(RESULTS)/profile/runs
	@path=$(abspath $(RESULTS)/profile/weft); gunzip <$(RESULTS)/profile/cpu | LC_ALL=C sed "s#$$path#$$(printf %s "$$path" | sed 's/./-/g')#g" | gzip -9n >cmd/weft/default.pgo

man: build ## write the manual pages to bin/man
	$(BIN) man -o bin/man

test: test-unchecked test-checked ## run all tests (some three minutes on two cores, once they are built)

test-unchecked: ## run the tests of all but the simulator itself, and those of its memory
	@echo "WEFT_TEST_CHOICE=$(WEFT_TEST_CHOICE)"
	$(GO) $(TEST) -run '$(MEMORY)' ./fabric/core ./sim/check
	$(GO) $(TEST) $(UNCHECKED)

test-short: ## run tests of every package, with fewer random cases and without the longest suites (some two minutes once they are built)
	$(GO) test -short -timeout $(TEST_TIMEOUT) ./...

test-checked: ## run the tests of the simulator itself with bounds and invariants checked
	@echo "WEFT_TEST_CHOICE=$(WEFT_TEST_CHOICE)"
	$(GO) $(TEST) -tags weftcheck $(CHECKED)

test-slurm: ## run the tests of --executor slurm against a Slurm of this machine (Debian)
	@status=0; .ci/slurm install && WEFT_TEST_SLURM=1 .ci/slurm run $(GO) test -vet=off -count 1 -run Slurm ./cmd/weft || status=$$?; \
	if [ $$status = 77 ]; then echo "not run"; elif [ $$status != 0 ]; then exit $$status; fi

test-report: ## use reports in a headless Chromium and run the notebook in pandas (Debian); pictures of the pages go to WEFT_PICTURES
	@status=0; .ci/packages chromium && WEFT_TEST_REPORT=1 $(GO) test -vet=off -count 1 -run Browser ./experiments/report || status=$$?; \
	if [ $$status = 77 ]; then echo "not run"; elif [ $$status != 0 ]; then exit $$status; fi
	@status=0; .ci/packages pandas && WEFT_TEST_REPORT=1 $(GO) test -vet=off -count 1 -run Notebook ./cmd/weft || status=$$?; \
	if [ $$status = 77 ]; then echo "not run"; elif [ $$status != 0 ]; then exit $$status; fi

race-all: ## run all tests with the race detector and 4 threads (over an hour)
	CGO_ENABLED=1 $(GO) test -race -cpu 4 -timeout 0 ./...

soak: soak-choices soak-plain soak-fabrics soak-files soak-snapshots soak-kills soak-traces soak-pairs ## run all that is too long for make test, part after part: each is a target of its own

soak-choices: ## run the tests that make test takes a share of, with all numbers of threads, random networks
	SOAK_TIME=$(SOAK_TIME) $(GO) test -tags weftcheck ./fabric/core ./routing -run '$(CHOSEN)' -count 1 -timeout 0
	SOAK_TIME=$(SOAK_TIME) $(GO) test ./experiments/kinds/... -run '(Threads|GoesOn|^TestJobsBlame)$$' -skip '^TestFilesOnThreads$$' -count 1 -timeout 0
	SOAK_TIME=$(SOAK_TIME) $(GO) test ./cmd/weft -run '^(TestDocumentedCommands|TestExamples|TestExtending|TestJobsNumbers)$$' -count 1 -timeout 0

soak-plain: ## run the tests of the simulator itself in the usual build, too
	$(GO) test -timeout 0 $(CHECKED)

soak-fabrics: ## run random fabrics for SOAK_TIME (10m), from seed SOAK_SEED (1) on
	SOAK_TIME=$(SOAK_TIME) SOAK_SEED=$(SOAK_SEED) $(GO) test ./routing -run '^TestSoak$$' -count 1 -timeout 0 -v

soak-files: ## run every example and paper, with its [quick] table, on 1, 2, 3 and 5 threads: the same bytes
	SOAK_TIME=$(SOAK_TIME) $(GO) test ./experiments/kinds -run '^TestFilesOnThreads$$' -count 1 -timeout 0 -v

soak-snapshots: ## restore the states of 1,800 random networks, and of programs on fabrics at 640 moments, on 1, 2 and 3 threads
	SOAK_TIME=$(SOAK_TIME) $(GO) test ./fabric/core ./experiments/kinds/mpi -run '^(TestSnapshots|TestFabricProgramsGoOn)$$' -count 1 -timeout 0 -v

soak-kills: ## kill long points of every kind that is kept, 30 times each, and go on
	SOAK_TIME=$(SOAK_TIME) $(GO) test ./experiments/kinds -run '^TestKilled$$' -count 1 -timeout 0 -v

soak-traces: ## read 100,000 Chakra traces and as many OTF2 traces with counts, lengths and nesting that no writer writes
	SOAK_TIME=$(SOAK_TIME) $(GO) test ./mpi/chakra ./mpi/otf2 -run '^TestHostile' -count 1 -timeout 0 -v

soak-pairs: ## every registered topology with every registered routing: certificates, and runs of random networks from seed SOAK_SEED (1) on (some minutes)
	SOAK_TIME=1m SOAK_SEED=$(SOAK_SEED) $(GO) test ./experiments/atlas -run '^(TestSoakPairs|TestPairs)$$' -count 1 -timeout 0 -v
	SOAK_TIME=1m $(GO) test ./cmd/weft -run '^TestAtlasPage$$' -count 1 -timeout 0

fuzz: ## fuzz the seeds of random fabrics, and of those with either unit, each for SOAK_TIME (10m), in the checked build
	$(GO) test -tags weftcheck ./routing -run '^$$' -fuzz '^FuzzFabrics$$' -fuzztime $(SOAK_TIME)
	$(GO) test -tags weftcheck ./fabric/core -run '^$$' -fuzz '^FuzzUnits$$' -fuzztime $(SOAK_TIME)

check: format vet race lint tidy arrows ## gofmt, vet, staticcheck, go.mod and the compiler's profile, import arrows, race detector

format:
	@files=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$files" ]; then echo "not formatted:"; echo "$$files"; exit 1; fi

vet:
	$(GO) vet ./...

lint:
	$(GO) tool staticcheck ./...

tidy:
	$(GO) mod tidy -diff
	$(GO) tool preprofile -i cmd/weft/default.pgo -o /dev/null # as the compiler reads it

arrows:
	$(GO) test -vet=off -run '^Test(ImportArrows|Rooms)$$' ./cmd/weft

race:
	@if command -v $${CC:-gcc} >/dev/null 2>&1; then \
		set -e; export CGO_ENABLED=1; \
		echo "$(GO) test -vet=off -race -short -run '$(THREADS)' $(THREADED)"; $(GO) test -vet=off -race -short -run '$(THREADS)' $(THREADED); \
	else echo "no C compiler: race detector left out"; fi

bench: ## run the Go benchmarks ten times, in benchstat's format
	$(GO) test -run '^$$' -bench . -benchmem -count 10 ./...

bench-check: ## count the instructions of a flit-hop by the form of the switch, compiled as the binary is (needs valgrind; two minutes); UPDATE=1 keeps them
	WEFT_INSTRUCTIONS=$(if $(UPDATE),update,check) $(GO) test -pgo=$(CURDIR)/cmd/weft/default.pgo -count 1 -run '^TestInstructions$$' -v ./fabric/core

demo: build ## run the quick start: load-latency curves of a 1056-terminal dragonfly
	$(BIN) run examples/quickstart --out $(RESULTS)/quickstart --force
	@echo "curves: $(RESULTS)/quickstart/results.csv and latency.png, throughput.png"

gallery: build ## run the examples of docs/gallery.md and draw its figures again
	@for picture in docs/gallery/*.svg; do \
		name=$$(basename $$picture .svg); example=$${name%%--*}; figure=$${name##*--}; \
		$(BIN) run examples/$$example --quiet --resume --out $(RESULTS)/gallery/$$example && \
		cp $(RESULTS)/gallery/$$example/$$figure.svg $$picture || exit 1; \
	done

reproduce: build ## reproduce the papers' figures and tables
	$(BIN) reproduce --out $(RESULTS)/papers --resume

verdicts: build ## reproduce the papers in full (or go on), then refresh docs/verdicts.csv and the tables of docs/papers.md
	$(BIN) reproduce --resume --out $(RESULTS)/papers || [ $$? -eq 1 ] # 1: a target is missed
	cp $(RESULTS)/papers/verdicts.csv docs/verdicts.csv
	$(GO) test ./cmd/weft -run TestPapersPage -update

atlas: build ## certify and measure every routing on every topology (or go on), then refresh docs/atlas.md and docs/atlas.csv
	$(BIN) atlas --measure --resume --out $(RESULTS)/atlas
	cp $(RESULTS)/atlas/atlas.md $(RESULTS)/atlas/atlas.csv docs/

golden: ## rewrite golden files and generated documentation
	$(GO) test ./cmd/weft ./cmd/command -update

clean: ## remove what was built and computed here
	rm -rf bin $(RESULTS)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{ printf "  %-15s %s\n", $$1, $$2 }'
