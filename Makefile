# The short way to everything. Each target first installs what it needs itself, which takes a moment when that was done.
.DEFAULT_GOAL := help
.PHONY: help program core configured build demo check test measures bench bench-wide race race-full race-compare battery coverage adversary pairs fuzz faults forgeries kills test-spark format lint tidy nightly sanitize bundle test-gpu install wheel deb results docs docs-test release clean

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
PRESET ?= release
BUILD := build/$(PRESET)
# The thread sanitizer of older compilers gives up where addresses are randomised by more than 28 bits.
RUN := $(if $(filter tsan,$(PRESET)),$(shell setarch -R true 2>/dev/null && echo setarch -R))
CXX_FILES = git ls-files -z --cached --others --exclude-standard '*.cc' '*.cu' '*.h'

help:  ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	while IFS="$$(printf '\t')" read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done
	@echo
	@echo '  JOBS=$(JOBS) parallel jobs   PRESET=$(PRESET) (dev, release, asan, tsan)   PREFIX=$(PREFIX) of install'

# The library and the command line, nothing that tests or measures them.
program: MODULES := all
program: configured
	@cmake --build $(BUILD) -j $(JOBS) --target exhume_cli --target exhume_pages

# The core without any module (cmake/modules.cmake), or all where that was built before.
core: MODULES := $(if $(wildcard $(BUILD)/CMakeCache.txt),$(if $(shell grep EXHUME_MODULES:STRING=none $(BUILD)/CMakeCache.txt),none,all),none)
core: configured
	@cmake --build $(BUILD) -j $(JOBS) --target exhume_cli

configured:
	@scripts/setup.sh build
	@echo "exhume: building $(if $(filter none,$(MODULES)),the core,the library and the command line) in $(BUILD) with $(JOBS) jobs; some minutes, once"
	@mkdir -p build
	@cmake --preset $(PRESET) -DEXHUME_MODULES=$(MODULES) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $$(scripts/without_tests.sh $(BUILD)) \
	> $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }

# Everything but what measures.
build:
	@scripts/setup.sh test
	@mkdir -p build
	@cmake --preset $(PRESET) -DEXHUME_MODULES=all -DCMAKE_INSTALL_PREFIX=$(PREFIX) > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@$(RUN) cmake --build $(BUILD) -j $(JOBS)

demo: core  ## ask a trained network, recover it from its answers, compare
	@scripts/demo.sh $(BUILD)/apps/exhume

check: build
	@$(RUN) ctest --preset $(PRESET) -j $(JOBS)

# Python's packages are fetched while the program is built.
test:  ## build and run every test
	@scripts/setup.sh test
	@scripts/python_checks.sh --packages & packages=$$!; \
	$(MAKE) --no-print-directory check && wait $$packages && scripts/python_checks.sh $(BUILD)/apps/exhume

measures: build
	@cmake --build $(BUILD) -j $(JOBS) --target exhume_measures

bench: measures  ## kernels beside a dgemm
	@$(BUILD)/bench/exhume_bench

# On a device where there is one; LINES as bench/wide.py names them, ARGS go to it.
bench-wide: measures  ## wide networks: time by stage, error, speed beside a dgemm, PyTorch's Adam where it is; LINES=, ARGS=
	@python3 bench/wide.py $(BUILD)/apps/exhume --rates $(BUILD)/bench/exhume_wide_rates --adam $(ARGS) $(or $(LINES),small)

# Exhume beside what people use today. EXHUME names a program that is built already; ARGS go to `python -m race run`.
# The environments are fetched while the program is built.
RACE_PARTS = $(if $(EXHUME),scripts/race_envs.sh,scripts/setup.sh python && { scripts/race_envs.sh & envs=$$!; $(MAKE) --no-print-directory program && wait $$envs; })
RACE = PYTHONPATH=bench EXHUME=$(or $(EXHUME),$(BUILD)/apps/exhume) .venv-race/bin/python -m race

race:  ## Exhume beside scikit-learn, PyTorch, SciPy, ... in seven minutes; ARGS=, OUT=
	@$(RACE_PARTS)
	@$(RACE) run --quick --jobs $(JOBS) --out $(or $(OUT),build/race/quick.jsonl) $(ARGS)
	@$(RACE) report $(or $(OUT),build/race/quick.jsonl) --docs build/race
	@$(RACE) baseline $(or $(OUT),build/race/quick.jsonl)

race-full:  ## the same with every size and longer limits, some hours; writes docs/benchmarks.md
	@$(RACE_PARTS)
	@$(RACE) run --full --resume --jobs $(JOBS) --out $(or $(OUT),bench/race/results/full.jsonl) $(ARGS)
	@$(if $(OUT),,$(RACE) report bench/race/results/*.jsonl)
	@$(RACE) baseline $(or $(OUT),bench/race/results/full.jsonl)

race-compare: $(if $(NEW),,program)  ## OLD=program NEW=program in turn; fails on 10% more time or a lost success
	@WITHOUT="torch art" scripts/race_envs.sh
	@$(RACE) compare $(or $(OLD),$(error OLD= names the older program)) $(or $(NEW),$(BUILD)/apps/exhume) $(ARGS)

battery: measures  ## what recover says of 60 kinds of data, half of them not recoverable; SEEDS=20, FIRST=1
	@$(BUILD)/battery/exhume_battery $(or $(SEEDS),20) $(or $(FIRST),1) --jobs $(JOBS) --markdown $(or $(TABLE),docs/battery-table.md)

coverage: measures  ## do the stated confidences hold? 2,000 noisy recoveries; RUNS=, FIRST=
	@$(BUILD)/battery/exhume_coverage $(or $(RUNS),2000) $(or $(FIRST),1)

adversary: program  ## 2,000 runs on odd data, oracles that lie, forged folders, hostile files, in an hour; RUNS=, SEED=, ONLY=
	@scripts/adversary.py $(BUILD)/apps/exhume --runs $(or $(RUNS),2000) --seed $(or $(SEED),1) --jobs $(JOBS) --only "$(ONLY)"

pairs: program  ## what compare says of 200 pairs of models, files and black boxes, and whether its bounds hold; PAIRS=, SEED=
	@scripts/python_env.sh test tests/python/requirements.txt python/tests/requirements.txt
	@.venv-test/bin/python bench/compare_pairs.py $(BUILD)/apps/exhume --pairs $(or $(PAIRS),200) --boxes --seed $(or $(SEED),1)
	@.venv-test/bin/python bench/compare_sound.py $(BUILD)/apps/exhume --pairs 20 --seed $(or $(SEED),1)

fuzz:  ## fuzz the readers of files with libFuzzer; SECONDS=60 a target, TARGETS="npy npz csv ..."
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh $(or $(SECONDS),60) $(JOBS) $(TARGETS)

test-spark: build  ## the tests that need Spark, with Java from apt and pyspark from PyPI
	@scripts/setup.sh spark
	@scripts/spark_checks.sh $(BUILD)/apps/exhume

kills: build  ## 50 kills of runs with checkpoints, 20 altered checkpoints, 50 of extractions; KILLS=, ALTERED=, SEED=
	@tests/faults/run_extract_kills.py $(BUILD)/apps/exhume --kills $(or $(KILLS),50) --seed $(or $(SEED),1) -v
	@tests/machines/run_machine_tests.py $(BUILD)/apps/exhume --kills $(or $(KILLS),50) --altered $(or $(ALTERED),20) --seed $(or $(SEED),1) -v

forgeries: build  ## every field of certificates of every kind edited, all digests renewed: each caught or named
	@EXHUME_FORGERIES=all tests/forgeries/run_field_tests.py $(BUILD)/apps/exhume
	@for target in moments sums checkpoint log certificate; do \
	  $(BUILD)/fuzz/exhume_replay $$target --changed $(or $(CHANGED),20000) $(or $(SEED),1) fuzz/corpus/$$target || exit 1; done

faults: build  ## 500 kills, full disks, limits, closed outputs, files that change; KILLS=, SEED=
	@tests/faults/run_fault_tests.py $(BUILD)/apps/exhume --kills $(or $(KILLS),500) --seed $(or $(SEED),1)

format:  ## lay out every C++ file with clang-format
	@scripts/setup.sh lint
	@$(CXX_FILES) | xargs -0 clang-format -i

lint: tidy  ## clang-format on all files, clang-tidy on those that were changed; ALL=1 for unchanged ones too
	@scripts/lint.sh format

tidy:
	@scripts/setup.sh lint
	@mkdir -p build
	@cmake --preset lint > build/lint.log 2>&1 || { cat build/lint.log; exit 1; }
	@JOBS=$(JOBS) scripts/lint.sh tidy build/lint $(if $(ALL),--all) $(if $(MOST),--most $(MOST))

nightly:  ## everything else in one table: sanitizers, clang-tidy, fuzzers, battery, ...; NIGHTLY="asan fuzz" or rest, OLD=
	@OLD=$(OLD) scripts/nightly.sh $(NIGHTLY)

sanitize:  ## the tests under address+undefined and thread sanitizers
	@$(MAKE) --no-print-directory check PRESET=asan
	@$(MAKE) --no-print-directory check PRESET=tsan

bundle:  ## one folder that runs where nothing is installed but a CUDA driver; needs the CUDA toolkit
	@scripts/setup.sh test
	@mkdir -p build
	@cmake --preset $(PRESET) -DEXHUME_CUDA=ON > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) --target exhume_cli exhume_tests exhume_wide_rates exhume_cuda
	@scripts/bundle.sh $(BUILD) build/bundle $(BUNDLE)

test-gpu:  ## the tests of devices, where there is a card
	@scripts/setup.sh test
	@mkdir -p build
	@cmake --preset $(PRESET) -DEXHUME_CUDA=ON > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) --target exhume_tests exhume_cuda
	@$(BUILD)/tests/exhume_tests --gtest_filter='Device.*'

install: program  ## install library, headers, command line, manual pages and completion into PREFIX
	@cmake --install $(BUILD)

wheel: program  ## a wheel for machines without any compiler or -dev package, in dist/
	@scripts/setup.sh python
	@scripts/wheel.sh $(BUILD)

deb: program  ## a Debian package, in dist/
	@scripts/setup.sh deb
	@scripts/deb.sh $(BUILD)

results: program  ## measure again what results/ holds and takes under an hour, and write its pages
	@scripts/python_env.sh test tests/python/requirements.txt python/tests/requirements.txt
	@.venv-test/bin/python scripts/results.py renew $(abspath $(BUILD)/apps/exhume) $(TOPICS)

docs: program  ## this documentation as a site in build/site, links checked
	@scripts/setup.sh python
	@scripts/docs.sh $(BUILD)

docs-test: program  ## the same, with every notebook and every block of code run
	@scripts/setup.sh python
	@scripts/docs.sh $(BUILD) --test

release:  ## sdist, wheel and deb from a tag, each tried, in dist/; TAG=v0.2.0
	@scripts/setup.sh python deb test
	@scripts/release.sh $(TAG)

clean:  ## remove builds and Python environments
	@rm -rf build dist .venv-test .venv-race .venv-race-torch .venv-race-art .venv-wheel .venv-docs
