# A small front for Meson. `make help` lists what there is.

BUILD ?= build
WERROR ?= false
MESON_ARGS ?=

# clang makes kernels up to three times as fast as gcc 12 does; gcc works too: make CC=gcc
ifeq ($(origin CC),default)
CC := $(if $(shell command -v clang)$(filter demo docs test packages,$(MAKECMDGOALS)),clang,cc)
endif
ifneq ($(filter default undefined,$(origin CXX)),)
CXX := $(if $(filter %clang,$(CC)),$(CC:%clang=%clang++),$(if $(filter %gcc,$(CC)),$(CC:%gcc=%g++),c++))
endif
export CC CXX

# Tests run in folders of their own.
data := SBML_STOCHASTIC_CASES SBML_DISTRIB_CASES SBML_SEMANTIC_CASES BIONETGEN_NETWORKS
$(foreach name,$(data),$(if $($(name)),$(eval export $(name) := $(abspath $($(name))))))

features := -Dsbml=enabled -Dyaml=enabled -Dhdf5=enabled -Dudunits=enabled -Dtiff=enabled -Dsundials=enabled

.PHONY: all build demo dist dist-check test wheel check-long check-layers bench install packages docs format format-check ci clean help configure

all: build

## build      build $(BUILD)/saltus, saltus-bench and the library (`make packages` installs what that needs)
build: configure
	@ninja -C $(BUILD) product

# From scratch when another compiler is asked for.
configure:
	@command -v meson >/dev/null || { echo "meson is missing: 'make packages' installs it" >&2; exit 1; }
	@if [ ! -f $(BUILD)/build.ninja ]; then \
	    meson setup $(BUILD) $(features) -Dwerror=$(WERROR) $(MESON_ARGS) || \
	        { echo "'make packages' installs what is missing" >&2; exit 1; }; \
	elif [ "$$(cat $(BUILD)/.compiler)" != "$(CC)" ]; then \
	    meson setup --wipe $(BUILD) $(features) -Dwerror=$(WERROR) $(MESON_ARGS); \
	fi
	@echo "$(CC)" >$(BUILD)/.compiler

## demo       install what is missing, build, simulate a real model, draw it
demo:
	@tools/packages build run
	@$(MAKE) --no-print-directory build
	@tools/demo $(BUILD)

## test       install what is missing, build, run every test
test:
	@tools/packages build run test
	@$(MAKE) --no-print-directory configure
	@[ -d $(BUILD)/tests ] || meson configure $(BUILD) -Dtests=enabled
	@ninja -C $(BUILD)
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs $(TEST_ARGS); status=$$?; \
	    tools/test_summary $(BUILD) && exit $$status

## dist       pack what is committed: build-dist/saltus-VERSION.tar.xz (without a tag: SNAPSHOT=1)
dist:
	@tools/dist
## dist-check the same, and build, install and test what was packed
dist-check:
	@tools/dist --check

## wheel      make a self-contained wheel for Linux, build-wheel/dist/saltus-*.whl (tools/wheel)
wheel:
	@tools/wheel

## check-long what takes longer than a change can wait: every allocation fails once, random models, notebooks, batch jobs, long fuzzing
check-long: test
	@SALTUS_TEST_LONG=1 meson test -C $(BUILD) --no-rebuild --print-errorlogs -t 40 memory hdf5_damage hdf5_kill resume resume_devices resume_devices_fake cuda_fake cuda_time_fake random_models random_models_fake python
	@SALTUS_TEST_LONG=1 meson test -C $(BUILD) --no-rebuild --print-errorlogs -t 10 --suite statistics --suite conformance
	@tools/packages slurm && { tools/slurm $(BUILD) || [ $$? -eq 77 ]; }
	@FUZZ_SEED=0 FUZZ_SECONDS=$${FUZZ_SECONDS:-600} .ci/run packages asan fuzz
	@[ ! -e .git ] || SNAPSHOT=1 tools/dist --check
	@tools/packages cross && { tools/wheel --check || [ $$? -eq 77 ]; }

## bench      run the benchmarks
bench: build
	@if [ -x bench/run ]; then bench/run $(BUILD); else echo "there is no bench/run" >&2; exit 1; fi

## install    install the command, the library, its header and saltus.pc (PREFIX, DESTDIR)
install: build
	@$(if $(PREFIX),meson configure $(BUILD) -Dprefix="$(PREFIX)" && ninja -C $(BUILD) product)
	meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir "$(abspath $(DESTDIR))")

## packages   install what is needed to build, run and test
packages:
	@tools/packages build run test

## docs       install what is missing, make the site: $(BUILD)/site/html/index.html
docs: export OUT := $(abspath $(BUILD))/site
docs:
	@tools/packages build run docs
	@$(MAKE) --no-print-directory build
	@rm -rf $(OUT) && mkdir -p $(OUT)
	@doxygen docs/Doxyfile
	@PYTHONPATH=$(BUILD)/python sphinx-build -c docs/site -d $(OUT)/pages -nqW --keep-going \
	    -D breathe_projects.saltus=$(OUT)/xml . $(OUT)/html

## check-layers who includes whom in src/ and bench/, against tools/layers.txt
check-layers:
	@tools/check_layers

## format     format every C file and all prose (format-check: only look)
format:
	@tools/format
format-check:
	@tools/format --check

## ci         all that is checked before a change is merged
ci:
	@.ci/run

## clean      remove the build folder
clean:
	rm -rf $(BUILD)

help:
	@sed -n 's/^## /  make /p' Makefile
