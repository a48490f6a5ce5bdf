# The short way to everything. Each target sets the machine up first, which takes a moment when that was done.
.DEFAULT_GOAL := help
.PHONY: help setup build demo check test bench battery coverage fuzz faults format lint sanitize bundle test-gpu install clean

JOBS ?= 2
PREFIX ?= /usr/local
PRESET ?= release
BUILD := build/$(PRESET)
# The thread sanitizer of older compilers gives up where addresses are randomised by more than 28 bits.
RUN := $(if $(filter tsan,$(PRESET)),$(shell setarch -R true 2>/dev/null && echo setarch -R))
CXX_FILES = git ls-files -z --cached --others --exclude-standard '*.cc' '*.h'

help:  ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	while IFS="$$(printf '\t')" read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done
	@echo
	@echo '  JOBS=$(JOBS) parallel jobs   PRESET=$(PRESET) (dev, release, asan, tsan)   PREFIX=$(PREFIX) of install'

setup:
	@scripts/setup.sh

build: setup
	@mkdir -p build
	@cmake --preset $(PRESET) -DCMAKE_INSTALL_PREFIX=$(PREFIX) > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@$(RUN) cmake --build $(BUILD) -j $(JOBS)

demo: build  ## plant a network, recover it from its samples, compare
	@scripts/demo.sh $(BUILD)/apps/exhume

check: build
	@$(RUN) ctest --preset $(PRESET) -j $(JOBS)

test: check  ## build and run every test
	@scripts/python_checks.sh $(BUILD)/apps/exhume

bench: build  ## kernels beside a dgemm, recover beside scikit-learn
	@$(BUILD)/bench/exhume_bench
	@scripts/python_env.sh bench bench/requirements.txt
	@.venv-bench/bin/python bench/compare_sklearn.py $(BUILD)/apps/exhume

battery: build  ## what recover says of 60 kinds of data, half of them not recoverable; SEEDS=20, FIRST=1
	@$(BUILD)/battery/exhume_battery $(or $(SEEDS),20) $(or $(FIRST),1) --jobs $(JOBS) --markdown docs/battery-table.md

coverage: build  ## do the stated confidences hold? 200 noisy recoveries
	@$(BUILD)/battery/exhume_coverage $(or $(RUNS),200) $(or $(FIRST),1)

fuzz:  ## fuzz the readers of files with libFuzzer; SECONDS=60 a target, TARGETS="npy npz csv ..."
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh $(or $(SECONDS),60) $(JOBS) $(TARGETS)

faults: build  ## 500 kills, full disks, limits, closed outputs, files that change; KILLS=, SEED=
	@tests/faults/run_fault_tests.py $(BUILD)/apps/exhume --kills $(or $(KILLS),500) --seed $(or $(SEED),1)

format: setup  ## lay out every C++ file with clang-format
	@$(CXX_FILES) | xargs -0 clang-format -i

lint: setup  ## clang-format and clang-tidy; ALL=1 for unchanged files too
	@cmake --preset lint > /dev/null
	@scripts/lint.sh $(if $(ALL),--all) build/lint

sanitize: setup  ## the tests under address+undefined and thread sanitizers
	@$(MAKE) --no-print-directory check PRESET=asan
	@$(MAKE) --no-print-directory check PRESET=tsan

bundle: setup  ## one folder that runs where nothing is installed but a CUDA driver; needs the CUDA toolkit
	@cmake --preset cuda > build/cuda.log 2>&1 || { cat build/cuda.log; exit 1; }
	@cmake --build build/cuda -j $(JOBS) --target exhume_cli exhume_tests exhume_cuda
	@scripts/bundle.sh build/cuda build/bundle $(BUNDLE)

test-gpu:  ## the tests of devices, where there is a card
	@cmake --preset cuda > build/cuda.log 2>&1 || { cat build/cuda.log; exit 1; }
	@cmake --build build/cuda -j $(JOBS) --target exhume_tests exhume_cuda
	@build/cuda/tests/exhume_tests --gtest_filter='Device.*'

install: build  ## install library, headers and command line into PREFIX
	@cmake --install $(BUILD)

clean:  ## remove builds and Python environments
	@rm -rf build .venv-test .venv-bench
