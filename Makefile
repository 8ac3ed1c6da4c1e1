# torchport: one entry for everything. `make help` lists it.
#
# Every target works from a clean clone, in any order, and is quick if nothing changed. A fetched
# thing is marked by a stamp inside of it, whose name holds a hash of its inputs. So after .venv or
# deps/node_modules is deleted, it is simply fetched again.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

JOBS ?= 2
FUZZ_SECONDS ?= 60
export PYTHON ?= python3

venv := .venv
py := $(venv)/bin/python
# The default build of torch on Linux, one for CUDA.
cuda_build := build/cuda-build
cuda_py := $(cuda_build)/venv/bin/python
cpp_files = find $(wildcard src include tests fuzz bench) \( -name '*.h' -o -name '*.cpp' \) \
  -not -path '*/fixtures/*' -print0
# Precompiled headers are no reason to compile again.
export CCACHE_SLOPPINESS ?= pch_defines,time_macros
# One build folder or clone does not compile again what another one compiled; the wheel's build is
# another one.
export CCACHE_BASEDIR ?= $(CURDIR)
python_dirs = $(wildcard python tests bench .ci deps)

# Installs a build folder: $(call install,BUILD,ENVIRONMENT). The environment gets the program, and a
# link by which the program finds the checkout's package. The package gets the libraries, in a folder
# for each torch.
define install
cmake --install $(1) --component program --prefix $(2) >/dev/null
cmake --install $(1) --component package --prefix python >/dev/null
cmake --install $(1) --component runtime --prefix python >/dev/null
ln -sfn $(abspath python/torchport) $(2)/torchport
endef

# ONLY=FOLDER limits a step of the gate to what .ci/affected.py has listed there.
listed = $(if $(ONLY),$(strip $(file <$(ONLY)/$(1))))
empty :=
space := $(empty) $(empty)
# The words for ctest: $(call ctest_of,LIST). An empty list is a pattern that no test has.
ctest_of = $(if $(ONLY),-R '^($(subst $(space),|,$(call listed,$(1))))$$' --no-tests=ignore)

# The name of a stamp: $(call stamp,PREFIX,INPUTS)
stamp = $(1).$(shell cat $(2) | sha256sum | cut -c1-16)

parser_stamp := $(call stamp,deps/node_modules/.stamp,deps/package-lock.json)
venv_stamp := $(call stamp,$(venv)/.stamp-packages,deps/requirements.lock)
torch_stamp := $(call stamp,$(venv)/.stamp-torch,deps/torch.txt deps/requirements.lock)
bench_stamp := $(call stamp,$(venv)/.stamp-bench,deps/bench.lock deps/requirements.lock)
cluster_stamp := $(call stamp,build/cluster/.stamp,deps/cluster.txt deps/torch.txt deps/requirements.lock)
suites_stamp := $(call stamp,build/suites/.stamp,deps/suites.txt deps/programs.txt deps/torch.txt deps/requirements.lock)
programs_stamp := $(call stamp,build/programs/.stamp,deps/programs.txt deps/torch.txt deps/requirements.lock)
triton_stamp := $(call stamp,build/triton/.stamp,deps/triton.txt deps/torch.txt deps/requirements.lock)
vscode_stamp := $(call stamp,editors/vscode/node_modules/.stamp,editors/vscode/package-lock.json)
linters_stamp := $(call stamp,build/linters/.stamp,deps/linters.lock)
cuda_stamp := $(call stamp,$(cuda_build)/venv/.stamp-packages,deps/cuda-build.txt)
cuda_package_stamp := $(call stamp,$(cuda_build)/venv/.stamp-torchport,pyproject.toml CMakeLists.txt deps/cuda-build.txt)
package_stamp := $(call stamp,$(venv)/.stamp-torchport,pyproject.toml CMakeLists.txt deps/requirements.lock)
preset_stamp := $(call stamp,build/.stamps/presets,CMakePresets.json cmake/TorchportCompiler.cmake)

##@ Every day

.PHONY: help
help: ## show this page
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: build ## port examples/legacy and train it here, without a GPU
	@bash examples/demo.sh

.PHONY: build
build: compile $(package_stamp) ## compile torchport and install it into .venv
	@$(call install,build/release,$(venv))

.PHONY: test
test: build compile-tests apt-test ecosystem-small $(linters_stamp) ## run the unit tests, then the tests of the program
	@ctest --preset release $(call ctest_of,unit-tests)
	@# Threads that wait for work would take the processor from the other tests' programs. Tests that
	@# nothing may run beside come last (tests/plugins/longest_first.py).
	@$(if $(ONLY),[ -s $(ONLY)/modules ] || exit 0;) \
	  OMP_WAIT_POLICY=passive TORCHPORT_TEST_NVCC_FLAGS=$(test_nvcc_flags) \
	  $(py) -m pytest -q -n $(JOBS) -m "not long" $(pytest_options) $(or $(call listed,modules),tests)
# CUDA programs whose results count are compiled faster so; all of their optimization is for test-all.
test_nvcc_flags := -O1
test-all: test_nvcc_flags :=

.PHONY: durations
durations: ## run the tests and record how long each file takes, which decides their order
	@$(MAKE) test pytest_options=--record-durations

.PHONY: test-all
test-all: test test-long wheel test-ecosystem test-conformance test-programs test-cluster test-triton test-extensions test-cccl test-kinds test-runtime-build test-vsix ## run all tests: every package, operator and library, the wheel from nothing

.PHONY: setup
setup: apt-build $(parser_stamp) $(venv_stamp) $(torch_stamp) ## fetch everything that build, test and demo need

.PHONY: clean
clean: ## delete what was built; keep what was fetched
	@find build -mindepth 1 -maxdepth 1 ! -name ecosystem ! -name cuda-build -exec rm -rf {} + 2>/dev/null || true
	@rm -rf $(cuda_build)/native

.PHONY: distclean
distclean: ## delete everything that git does not track
	@rm -rf build dist $(venv) deps/node_modules .pytest_cache .ruff_cache
	@cd editors/vscode && rm -rf node_modules dist bundled

##@ Quality

.PHONY: lint
lint: format-check lint-python clang-tidy ## check the formatting, the C++ and the Python parts

.PHONY: clang-tidy
clang-tidy: compile compile-tests $(linters_stamp) ## run clang-tidy on the C++ files that changed since it last passed
	@$(py) .ci/clang_tidy.py -j $(JOBS) $(if $(ONLY),--only $(ONLY)/sources)

.PHONY: format-check
format-check: apt-format ## check that every C++ file is formatted
	@$(cpp_files) | xargs -0 -r clang-format-16 --dry-run -Werror

.PHONY: format
format: apt-format $(venv_stamp) ## format the C++ and the Python files
	@$(cpp_files) | xargs -0 -r clang-format-16 -i
	@$(py) -m ruff format --quiet $(python_dirs)

.PHONY: lint-python
lint-python: $(torch_stamp) ## run ruff and mypy on the Python parts
	@$(py) -m ruff check --quiet $(python_dirs)
	@$(py) -m mypy --no-error-summary
	@$(py) -m ruff format --check --quiet $(python_dirs) || \
	  { echo 'Python files are not formatted: make format' >&2; exit 1; }

# clang's sanitizers: one build for AddressSanitizer, UndefinedBehaviorSanitizer and the fuzzers.
.PHONY: asan tsan
asan tsan: apt-build apt-sanitize $(parser_stamp) $(preset_stamp) $(torch_stamp) ## run the unit tests under the sanitizers
	@[ -f build/$@/build.ninja ] || cmake --preset $@
	@deps/progress.py cmake --build --preset $@ -j $(JOBS) $(addprefix --target ,$(call listed,$(sanitized_$@)))
	@ctest --preset $@ $(call ctest_of,$(sanitized_$@))
sanitized_asan := unit-tests
sanitized_tsan := thread-tests

.PHONY: fuzz
fuzz: apt-build apt-sanitize $(parser_stamp) $(preset_stamp) $(torch_stamp) ## fuzz for FUZZ_SECONDS (60), or with FUZZ_RUNS inputs a target
	@[ -f build/asan/build.ninja ] || cmake --preset asan
	@deps/progress.py cmake --build --preset fuzz -j $(JOBS)
	@JOBS=$(JOBS) .ci/fuzz $(if $(FUZZ_RUNS),$(FUZZ_RUNS) runs,$(FUZZ_SECONDS))

.PHONY: test-long
test-long: build ## run the tests that take long and that others mostly cover: ways to compile, plans, recipes, four processes
	@$(py) -m pytest tests -q -m long

.PHONY: test-ecosystem
test-ecosystem: build ecosystem $(linters_stamp) ## check and fix the real packages of tests/ecosystem
	@TORCHPORT_ECOSYSTEM=all $(py) -m pytest tests/ecosystem -q

.PHONY: test-draws
test-draws: build ## judge today's findings by samples of packages that no rule was written from
	@for set in unread later last fourth kept fifth sealed sixth closed; do $(py) tests/ecosystem/fetch.py --set $$set --quiet; done
	@TORCHPORT_ECOSYSTEM=draws $(py) -m pytest tests/ecosystem/test_labels.py -k draw -q -s

.PHONY: test-fixed-imports
test-fixed-imports: build $(torch_stamp) $(linters_stamp) ## import every module of the real packages before and after fixes, and script what can be scripted
	@$(py) tests/ecosystem/fixed_imports.py --jobs $(JOBS) --results build/fixed-imports.json

.PHONY: test-systems
test-systems: build compile-tests apt-systems ## install the wheel in roots of other Debian releases and use it there; as root (5 GB)
	@$(py) tests/systems/run.py

.PHONY: test-generated
test-generated: build apt-systems $(linters_stamp) ## run what container and ci write in clean roots of Debian; as root
	@$(py) tests/scaffold/clean_root.py

# RELEASES="2.15.0 2.12.1" PARTS=commands limits it.
.PHONY: test-releases
test-releases: build ## test the wheel of dist/ beside every supported release of torch (1 GB each, and 3 GB for each CUDA)
	@$(py) tests/releases/run.py $(if $(PARTS),--parts $(PARTS)) $(RELEASES)

# What needs no compiler and no wheel of torch; some 10 MB of headers for each release, once.
.PHONY: check-releases
check-releases: $(venv_stamp) ## compare the sources with the headers of every supported release of torch
	@$(py) deps/check_releases.py --fetch

# RELEASES="2.15.0" limits it; OTHER_PYTHON=/usr/bin/python3.13 is the Python that is not the checkout's.
.PHONY: wheels-smoke
wheels-smoke: wheel ## try the wheel without torch, with another Python, and beside the oldest, the own and the newest release (9 GB once)
	@$(py) tests/releases/smoke.py $(if $(OTHER_PYTHON),--other-python $(OTHER_PYTHON)) $(RELEASES)

# The part of it that takes minutes: the checkout's own release and the newest one, which is for CUDA.
newest_release = $(lastword $(releases))
.PHONY: test-sample
test-sample: build ## test a wheel beside the checkout's release of torch and the newest one (4 GB)
	@$(MAKE) runtime-$(newest_release)
	@$(py) deps/make_wheel.py --into build/sample build/release build/runtimes/$(newest_release)
	@$(py) tests/releases/run.py --wheel build/sample/torchport-*.whl --no-record --parts commands \
	  $(own_release) $(newest_release)

.PHONY: test-programs
test-programs: build $(torch_stamp) $(programs_stamp) ## run and export timm, transformers, accelerate and lightning on virtual devices
	@cmake --install build/release --component program --prefix build/programs >/dev/null
	@build/programs/bin/python -m pytest tests/virtual/test_programs_libraries.py tests/observe/test_models_timm.py tests/observe/test_models_transformers.py tests/place/test_real_models.py \
	  tests/deploy/artefacts/test_export_libraries.py -q

.PHONY: test-cluster
test-cluster: build $(torch_stamp) $(cluster_stamp) ## run artefacts on a local Ray cluster, and read Triton's configurations by its schema
	@build/cluster/bin/python -m pytest tests/deploy/cluster tests/deploy/artefacts/test_triton.py -q

.PHONY: test-triton
test-triton: build $(torch_stamp) $(triton_stamp) ## run Triton's kernels, and packages of them, on virtual devices
	@cmake --install build/release --component program --prefix build/triton >/dev/null
	@rm -f build/triton/lib/*/site-packages/torchport_virtual.pth  # .venv's is read, too
	@build/triton/bin/python -m pytest tests/triton_language -q

.PHONY: test-extensions
test-extensions: build ## build CUDA extensions of PyPI for virtual devices, compare them with plain PyTorch, and check their kernels
	@TORCHPORT_EXTENSIONS=1 $(py) -m pytest tests/extensions -q

.PHONY: test-cccl
test-cccl: build ## compile and run programs with cub and thrust of eight releases of CUDA
	@TORCHPORT_CCCL=1 $(py) -m pytest tests/cuda/test_cccl_releases.py -q

# SUITES="einops timm" limits it.
.PHONY: test-suites
test-suites: build $(torch_stamp) $(suites_stamp) ## run other packages' own test suites without torchport and on virtual devices
	@cmake --install build/release --component program --prefix build/suites >/dev/null
	@rm -f build/suites/lib/*/site-packages/torchport_virtual.pth  # .venv's is read, too
	@$(py) tests/suites/run.py --jobs $(JOBS) $(if $(SUITES),--only $(SUITES))

.PHONY: test-pytorch
test-pytorch: build $(torch_stamp) $(suites_stamp) ## run PyTorch's own device tests on the CPU and on virtual devices: PYTORCH=FOLDER with its sources
	@cmake --install build/release --component program --prefix build/suites >/dev/null
	@rm -f build/suites/lib/*/site-packages/torchport_virtual.pth  # .venv's is read, too
	@$(py) tests/pytorch/run.py $(PYTORCH) --jobs $(JOBS) $(if $(FILES),--only $(FILES)) $(PYTORCH_OPTIONS)
# VIRTUAL=cuda:1 asks virtual devices instead, to try the program. ONLY="memory errors" limits it.
.PHONY: record-device
record-device: ## record how this machine's real GPU behaves, for docs/fidelity.md; needs torch for CUDA in PYTHON
	@$(if $(VIRTUAL),$(venv)/bin/torchport run -q --devices $(VIRTUAL),$(PYTHON)) \
	  tests/fidelity/record.py $(if $(ONLY),--only $(ONLY)) --jobs $(JOBS)

.PHONY: test-fidelity
test-fidelity: build $(torch_stamp) ## compare virtual devices with the recordings of real GPUs in tests/fidelity
	@$(py) tests/fidelity/run.py $(if $(ONLY),--only $(ONLY))

# ONLY=resnet limits it.
.PHONY: test-plan
test-plan: build $(torch_stamp) ## plan the programs whose memory a real GPU measured, and write the table of docs/plan.md
	@$(py) -m pip install -q --no-deps --upgrade --target build/plan -r deps/plan.txt
	@$(py) tests/plan/compare.py --packages build/plan $(if $(ONLY),--only $(ONLY),--write docs/plan.md)

.PHONY: test-plan-others
test-plan-others: build $(torch_stamp) ## ask other estimators of memory for programs that a real GPU measured; FAKEGPU=FOLDER is a checkout of FakeGPU
	@$(py) -m pip install -q --no-deps --upgrade --target build/plan -r deps/plan.txt
	@$(py) -m pip install -q --no-deps --upgrade --target build/plan-others -r deps/plan-others.txt
	@$(py) tests/plan/compare_others.py --packages build/plan:build/plan-others $(if $(FAKEGPU),--fakegpu $(FAKEGPU)) \
	  --answers build/plan-others.json $(if $(ONLY),--only $(ONLY),--write docs/plan.md)

.PHONY: test-plan-published
test-plan-published: build $(torch_stamp) ## plan the programs whose memory others measured and published, and write their table in docs/plan.md
	@$(py) -m pip install -q --no-deps --upgrade --target build/plan -r deps/plan.txt
	@$(py) -m pip install -q --no-deps --upgrade --target build/plan-published -r deps/plan-published.txt
	@$(py) tests/plan/compare_published.py --packages build/plan-published:build/plan $(if $(ONLY),--only $(ONLY),--write docs/plan.md)

.PHONY: bench-cluster
bench-cluster: build $(torch_stamp) $(cluster_stamp) ## measure a Ray cluster of this machine against plain infer
	@cmake --install build/release --component program --prefix build/cluster >/dev/null
	@build/cluster/bin/python bench/cluster.py

.PHONY: test-kinds
test-kinds: build $(torch_stamp) $(programs_stamp) ## export every kind of model of docs/models.md to every format
	@TORCHPORT_KINDS=all build/programs/bin/python -m pytest tests/deploy/kinds -q

.PHONY: test-cuda-build
test-cuda-build: apt-build $(parser_stamp) $(cuda_package_stamp) ## test virtual devices with the default build of torch, which is for CUDA (5 GB)
	@[ -f $(cuda_build)/native/build.ninja ] || cmake -S . -B $(cuda_build)/native -G Ninja \
	  -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DTORCHPORT_TORCH=ON \
	  -DPython3_EXECUTABLE=$(abspath $(cuda_py))
	@cmake --build $(cuda_build)/native -j $(JOBS)
	@$(call install,$(cuda_build)/native,$(cuda_build)/venv)
	@PYTHONPATH=tests/cuda_build $(cuda_py) -m pytest -p known_failures tests/virtual tests/cuda_build -q
	@$(cuda_py) tests/conformance/run.py --dtypes float32 --workers $(JOBS)

.PHONY: test-conformance
test-conformance: build $(torch_stamp) ## test every operator of PyTorch's own database on virtual devices
	@$(py) tests/conformance/run.py --workers $(JOBS)

.PHONY: test-runtime-build
test-runtime-build: build ## compile the libraries for a torch that is not in the table
	@TORCHPORT_RUNTIME_BUILD=1 $(py) -m pytest tests/build/test_runtime_build.py -q

.PHONY: bench
bench: build apt-bench $(bench_stamp) ecosystem ## measure the source tool and virtual devices against others
	@deps/progress.py cmake --build --preset release -j $(JOBS) --target torchport_bench
	@$(py) bench/run.py
	@$(py) bench/server_latency.py
	@$(py) deps/make_wheel.py --into build/bench build/release
	@$(py) bench/install.py build/bench/torchport-*.whl
	@$(py) bench/virtual_start.py
	@$(py) bench/virtual_overhead.py
	@$(py) bench/virtual_programs.py
	@$(py) bench/half_types.py
	@$(py) bench/kernels.py
	@$(py) bench/plan.py
	@$(py) -m pip install -q --no-deps --upgrade --target build/plan -r deps/plan.txt
	@$(py) bench/plan_large.py --packages build/plan
	@$(py) bench/observe_overhead.py
	@$(py) bench/checkpoint_loading.py
	@$(py) bench/deploy_modes.py
	@$(py) bench/deploy_modes.py --virtual
	@$(py) bench/loader_prefetch.py
	@$(py) bench/export_parity.py
	@$(py) bench/host_doctor.py

# The releases of torch that the table has libraries for. The libraries for the checkout's own torch come
# from `make build`, those for the others from folders of their own.
releases = $(shell $(py) deps/fetch_torch.py --list)
own_release := $(shell sed -n 's/^torch==//p' deps/torch.txt)

.PHONY: runtimes
runtimes: compile ## build the libraries for every supported release of torch (0.2 GB each to fetch, 11 MB are kept)
	@for release in $(filter-out $(own_release),$(releases)); do $(MAKE) runtime-$$release; done

# Configures the libraries for a release: $(call configure_release,RELEASE,FOLDER[,OPTIONS])
configure_release = $(py) deps/fetch_torch.py $(1) build/torches/$(1); \
  [ -f $(2)/build.ninja ] || cmake -S . -B $(2) -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DBUILD_TESTING=OFF -DTORCHPORT_TORCH=ON -DTORCHPORT_TORCH_ROOT=$(abspath build/torches)/$(1)/torch \
  -DPython3_EXECUTABLE=$(abspath $(py)) $(3)

runtime-%: compile
	@$(call configure_release,$*,build/runtimes/$*)
	@deps/progress.py cmake --build build/runtimes/$* --target torchport_runtime -j $(JOBS)
	@cmake --install build/runtimes/$* --component runtime --prefix python >/dev/null

# One release for each state of the sources; TURN=2.9.1 chooses another. Only whether it compiles and links
# is asked, so nothing is optimized, and nothing of it is installed. By g++, which compiles on most machines
# of users, and nothing else here.
in_turn := -DCMAKE_CXX_FLAGS_RELEASE="-O0 -DNDEBUG" -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++
.PHONY: runtime-in-turn
runtime-in-turn: apt-build $(parser_stamp) $(venv_stamp) ## compile the libraries for one further release of torch, another one for each commit
	@release=$$($(py) deps/release_in_turn.py $(TURN)); folder=build/in-turn/$$release; \
	$(call configure_release,$$release,$$folder,$(in_turn)); \
	deps/progress.py cmake --build $$folder --target torchport_runtime -j $(JOBS)

.PHONY: wheel
wheel: runtimes ## build the wheel for every supported release of torch, into dist/
	@$(py) deps/make_wheel.py build/release $(patsubst %,build/runtimes/%,$(filter-out $(own_release),$(releases)))

.PHONY: vsix
vsix: vscode-bundle ## build the extension for VS Code, into dist/
	@mkdir -p dist
	@cd editors/vscode && npm run --silent package -- --out ../../dist/

.PHONY: test-vsix
test-vsix: vscode-bundle ## test the extension with the language client of VS Code
	@cd editors/vscode && npm run --silent check && npm run --silent test

##@ Parts

.PHONY: vscode-bundle
vscode-bundle: compile $(vscode_stamp)
	@cd editors/vscode && npm run --silent bundle -- --log-level=warning
	@install -D build/release/bin/torchport editors/vscode/bundled/bin/torchport

# The program and its libraries. Only what runs the unit tests waits for them.
.PHONY: compile compile-tests
compile compile-tests: apt-build $(parser_stamp) $(preset_stamp) $(torch_stamp)
	@[ -f build/release/build.ninja ] || cmake --preset release
	@deps/progress.py cmake --build --preset release -j $(JOBS) $(if $(filter compile-tests,$@),--target torchport_tests)

.PHONY: ecosystem ecosystem-small
ecosystem: $(venv_stamp) ## fetch the real packages of tests/ecosystem
	@$(py) tests/ecosystem/fetch.py --set all
ecosystem-small: $(venv_stamp)
	@$(py) tests/ecosystem/fetch.py --set small --quiet

.PHONY: apt-build apt-test apt-bench apt-format apt-sanitize apt-systems
apt-build apt-test apt-bench apt-format apt-sanitize apt-systems: apt-%:
	@deps/install.sh apt $*

# A stamp of other inputs describes an old state, so it is deleted.
mark = @rm -f $(basename $@).* && mkdir -p $(@D) && touch $@

$(parser_stamp):
	@deps/install.sh parser
	$(mark)

$(venv_stamp):
	@deps/install.sh venv
	$(mark)

$(torch_stamp): $(venv_stamp)
	@deps/install.sh torch
	$(mark)

$(bench_stamp): $(venv_stamp)
	@deps/install.sh bench
	$(mark)

$(programs_stamp): $(torch_stamp)
	@deps/install.sh programs
	$(mark)

$(suites_stamp): $(torch_stamp)
	@deps/install.sh suites
	$(mark)

$(triton_stamp): $(torch_stamp)
	@deps/install.sh triton
	$(mark)

$(cluster_stamp): $(torch_stamp)
	@deps/install.sh cluster
	$(mark)

$(vscode_stamp):
	@deps/install.sh vscode
	$(mark)

$(linters_stamp):
	@deps/install.sh linters
	$(mark)

# The Python package and its metadata, straight from the checkout; `cmake --install` adds the binary.
$(package_stamp): $(venv_stamp)
	@$(py) -m pip --disable-pip-version-check install --quiet --no-build-isolation --no-deps \
	  --config-settings=wheel.cmake=false --editable .
	$(mark)

$(cuda_stamp):
	@deps/install.sh cuda-build
	@rm -f $(cuda_build)/native/build.ninja  # of another torch
	$(mark)

$(cuda_package_stamp): $(cuda_stamp)
	@$(cuda_py) -m pip --disable-pip-version-check install --quiet --no-build-isolation --no-deps \
	  --config-settings=wheel.cmake=false --editable .
	$(mark)

# An old build folder does not pick up changed presets, or another compiler, by itself.
$(preset_stamp):
	@rm -f build/*/build.ninja build/*/CMakeCache.txt
	$(mark)
