# slurm-amd-gpu: one non-recursive makefile.
#
#   make deps      install the Debian packages that building and testing need (as root)
#   make           build everything that the compilers at hand can build
#   make demo      start a Slurm cluster of simulated nodes and show the product at work
#   make check     run every test; ends with "N passed, N failed, N skipped"
#
# V=1 shows the commands; SANITIZE=address,undefined or SANITIZE=thread builds apart from the plain build.

prefix        ?= /usr/local
exec_prefix   ?= $(prefix)
bindir        ?= $(exec_prefix)/bin
sbindir       ?= $(exec_prefix)/sbin
libexecdir    ?= $(exec_prefix)/libexec
sysconfdir    ?= /etc
mandir        ?= $(prefix)/share/man
docdir        ?= $(prefix)/share/doc/slurm-amd-gpu
unitdir       ?= /usr/lib/systemd/system
INSTALL       ?= install

CXX           := $(if $(filter default,$(origin CXX)),g++,$(CXX))
CLANG         ?= clang++-19
LLVM_BIN      ?= /usr/lib/llvm-19/bin
CLANG_FORMAT  ?= clang-format-19
CLANG_TIDY    ?= clang-tidy-19

version       := 0.1.0
empty         :=
space         := $(empty) $(empty)
comma         := ,
build         ?= build$(if $(SANITIZE),/sanitize-$(subst $(comma),-,$(SANITIZE)))

CXXFLAGS      ?= -O2 -g1
warnings      := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor -Wimplicit-fallthrough
hardening     := $(if $(SANITIZE),,-D_FORTIFY_SOURCE=2) -fstack-protector-strong -fvisibility=hidden
# GCC takes the instrumented standard library for full of uninitialised values.
sanitize      := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all -Wno-maybe-uninitialized)
compile       := -std=c++20 -fPIC -pthread $(warnings) $(hardening) $(sanitize) -I. -Iagent -DAMD_GPU_VERSION='"$(version)"' -MMD -MP
linking       := -pthread -Wl,-z,relro,-z,now -Wl,--as-needed $(sanitize)

Q             := $(if $(V),,@)
say            = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

objects        = $(patsubst %.cpp,$(build)/obj/%.o,$(1))

# ---- sources -------------------------------------------------------------------------------------------------------
agent_sources   := $(filter-out agent/main.cpp,$(wildcard agent/*.cpp agent/*/*.cpp))
probe_sources   := $(wildcard probes/*.cpp)
# What the plugin shares with the agent needs nothing but libc and libstdc++ (linked statically).
shared_sources  := $(wildcard agent/target/*.cpp agent/placement/*.cpp) agent/service/protocol.cpp agent/service/client.cpp agent/service/exchange.cpp agent/environment/edits.cpp agent/ranges.cpp agent/table.cpp agent/system/host.cpp
plugin_sources  := $(wildcard spank/*.cpp)
sim_sources     := $(wildcard tests/sim/node/*.cpp)
simhip_sources  := $(wildcard tests/sim/hip/*.cpp)
preload_sources := $(wildcard tests/sim/preload/*.cpp)
unit_sources    := $(wildcard tests/unit/*.cpp)
fuzz_sources    := $(wildcard tests/fuzz/*.cpp)

sanitizer_hooks := $(if $(SANITIZE),$(build)/obj/tests/sanitizer_options.o)
agent_libs      := -lhwloc -larchive -lcurl -lcrypto -lmount -lzstd -lz -lfmt -lsystemd -ldl
plugin_libs     := -static-libstdc++ -static-libgcc

programs        := $(build)/bin/amd-gpu-agent $(build)/bin/amd-gpu-probe
plugin          := $(build)/lib/amd_gpu.so
simulator       := $(build)/bin/amd-gpu-sim $(build)/sim/libamdhip64.so.5 $(build)/sim/preload.so
demo_targets    := gfx90a gfx942
demo_program    := $(foreach target,$(demo_targets),$(build)/demo/envs/demo/$(target)/bin/where-am-i)
unit_tests      := $(build)/tests/unit

.PHONY: all test-parts deps demo check check-long bench lint format install uninstall clean FORCE
all: $(programs) $(plugin)
# What the demo and the tests need beside the product.
test-parts: all $(simulator) $(demo_program) $(unit_tests)

# ---- compiling -----------------------------------------------------------------------------------------------------
# Objects depend on this file, which changes only when the way of compiling does. The text is expanded here and now: a
# prerequisite would see the variables of whichever target asks first.
flags_text := $(CXX) $(compile) $(CPPFLAGS) $(CXXFLAGS)
$(build)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(flags_text)' | cmp -s - $@ || echo '$(flags_text)' > $@
FORCE:

$(build)/obj/%.o: %.cpp $(build)/flags
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(compile) $(CPPFLAGS) $(CXXFLAGS) $(last_word) -c -o $@ $<

# Tests spend their time in the code that they test, so their own is compiled for speed of compiling.
$(call objects,$(unit_sources)): compile += -Itests -Iprobes -Wno-conversion
$(call objects,$(unit_sources)): last_word := -O0 -U_FORTIFY_SOURCE
# The unit tests run every fuzzing harness on its corpus, under the name of its file.
$(call objects,$(fuzz_sources)): last_word = -O0 -U_FORTIFY_SOURCE -DLLVMFuzzerTestOneInput=$(basename $(@F))
# The plugin is loaded by every srun and every step: small before fast.
$(call objects,$(plugin_sources) $(shared_sources)): last_word := -ffunction-sections -fdata-sections $(if $(SANITIZE),,-Os)
# Every program of a simulated node loads the preload library: libc alone, no exceptions, never a sanitizer.
$(call objects,$(preload_sources)): compile := $(filter-out -fsanitize% -fno-sanitize% -fno-omit-frame-pointer,$(compile)) -fno-exceptions -fno-rtti
$(call objects,$(sim_sources)):  compile += -DAMD_GPU_SIM_MODELS='"$(CURDIR)/tests/sim/models"'

# ---- the agent and the plugin --------------------------------------------------------------------------------------
$(build)/bin/amd-gpu-agent: $(call objects,agent/main.cpp $(agent_sources) spank/option.cpp spank/option_help.cpp spank/asking.cpp) $(sanitizer_hooks)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(linking) $(LDFLAGS) -o $@ $^ $(agent_libs)

$(plugin): $(call objects,$(plugin_sources) $(shared_sources)) spank/amd_gpu.map
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -shared $(linking) -Wl,--version-script=spank/amd_gpu.map -Wl,--exclude-libs,ALL -Wl,--gc-sections $(LDFLAGS) -o $@ $(filter %.o,$^) $(plugin_libs)

# ---- kernels (begin) -----------------------------------------------------------------------------------------------
# One code object per processor, all in one bundle inside the probe. Code object version 4 loads in every ROCm from 5.0
# on; a name without features loads in every xnack and sramecc mode. Without a compiler for amdgcn the probe is built with
# no kernels and says so when it runs.
kernel_targets  := gfx906 gfx908 gfx90a gfx940 gfx942 gfx1030 gfx1100 gfx1101 gfx1151 gfx1200 gfx1201
kernel_sources  := $(wildcard probes/kernels/*.hip probes/kernels/*.hpp)
amdgcn_compiler := $(shell command -v $(CLANG) >/dev/null 2>&1 && test -x $(LLVM_BIN)/lld && test -x $(LLVM_BIN)/clang-offload-bundler && echo $(CLANG))
kernel_bundle   := $(if $(amdgcn_compiler),$(build)/kernels/kernels.hipfb)
kernel_object   := $(build)/obj/probes/kernels/embed.o

$(build)/kernels/kernels.hipfb: $(kernel_sources)
	$(call say,KERNELS,$(kernel_targets))
	@mkdir -p $(@D)
	$(Q)$(CLANG) -x hip $(addprefix --offload-arch=,$(kernel_targets)) --cuda-device-only -nogpuinc -nogpulib -std=c++20 -O3 \
		-mcode-object-version=4 -Wall -Wextra -Wpedantic -Werror -o $@ probes/kernels/kernels.hip

$(kernel_object): probes/kernels/embed.S $(kernel_bundle)
	$(if $(kernel_bundle),$(call say,EMBED,$(kernel_bundle)),@echo 'amd-gpu-probe gets no kernels: no $(CLANG) with lld and clang-offload-bundler for amdgcn')
	@mkdir -p $(@D)
	$(Q)$(CXX) -c $(if $(kernel_bundle),-DAMD_GPU_KERNELS='"$(kernel_bundle)"') -o $@ $<

$(build)/bin/amd-gpu-probe: $(call objects,$(probe_sources)) $(kernel_object) $(sanitizer_hooks)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(linking) $(LDFLAGS) -o $@ $^ -ldl

# The CPU build of the kernels runs on the machine that builds it, so it may use what that machine has: without a fused
# multiply-add instruction the FP64 chains take a library call per step.
simhip_kernels  := $(build)/obj/tests/sim/hip/kernels.o
$(simhip_kernels): CXXFLAGS += -O3 $(shell grep -qw fma /proc/cpuinfo && grep -qw avx2 /proc/cpuinfo && echo -mavx2 -mfma)
$(simhip_kernels): $(kernel_sources)

$(build)/sim/libamdhip64.so.5: $(call objects,$(simhip_sources) tests/sim/faults.cpp probes/bundle.cpp) tests/sim/hip/exports.map
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -shared $(linking) -Wl,-soname,libamdhip64.so.5 -Wl,--version-script=tests/sim/hip/exports.map $(LDFLAGS) -o $@ $(filter %.o,$^) $(plugin_libs)

# ---- kernels (end) -------------------------------------------------------------------------------------------------

# ---- the simulated node --------------------------------------------------------------------------------------------
$(build)/bin/amd-gpu-sim: $(call objects,$(sim_sources) tests/sim/faults.cpp agent/system/archive.cpp agent/ranges.cpp) $(sanitizer_hooks)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(linking) $(LDFLAGS) -o $@ $^ -larchive

$(build)/sim/preload.so: $(call objects,$(preload_sources))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -shared $(filter-out -fsanitize%,$(linking)) $(LDFLAGS) -o $@ $^ -ldl $(plugin_libs)

# ---- tests ---------------------------------------------------------------------------------------------------------
# The parts of the plugin that need no Slurm.
plugin_pure_sources := $(addprefix spank/,option.cpp option_help.cpp asking.cpp environment_file.cpp plugin_settings.cpp sha256.cpp task.cpp \
                         library_path.cpp loader_list.cpp bounded.cpp program.cpp first_task.cpp job_cache.cpp temporary.cpp mounts.cpp)

$(unit_tests): $(call objects,$(unit_sources) $(fuzz_sources) $(agent_sources) $(filter-out probes/main.cpp,$(probe_sources)) $(plugin_pure_sources) tests/sim/faults.cpp) $(sanitizer_hooks)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(linking) $(LDFLAGS) -o $@ $^ $(agent_libs)

# An environment in two variants: a program, and a library that knows which variant it belongs to.
.PRECIOUS: $(build)/demo/envs/demo/%/lib/libdemo.so
$(build)/demo/envs/demo/%/lib/libdemo.so: tests/demo/library.cpp tests/demo/library.hpp
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -shared -std=c++20 -fPIC $(warnings) $(CXXFLAGS) -DDEMO_TARGET='"$*"' -o $@ $<

$(build)/demo/envs/demo/%/bin/where-am-i: tests/demo/where-am-i.cpp $(build)/demo/envs/demo/%/lib/libdemo.so
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++20 $(warnings) $(CXXFLAGS) -o $@ $< -L$(build)/demo/envs/demo/$*/lib -ldemo -ldl

# Both commands of the README work on a bare Debian 12: they install what is missing before they build.
demo check: have-deps
	@$(MAKE) --no-print-directory -j$(shell nproc) test-parts
	@tests/$(if $(filter demo,$@),demo/demo,run) $(build)

# The long parts: tests that take minutes, the unit and simulated-node tests under the sanitizers, and some minutes of fuzzing.
check-long: check
	@$(unit_tests) '[long]'
	@$(MAKE) --no-print-directory SANITIZE=address,undefined sanitized
	@$(MAKE) --no-print-directory SANITIZE=thread sanitized
	@$(MAKE) --no-print-directory fuzz

.PHONY: sanitized
sanitized: $(unit_tests) $(programs) $(simulator)
	@tests/run $(build) unit simulated

$(build)/bench/load-time: tests/bench/load-time.cpp
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++20 $(warnings) $(CXXFLAGS) -o $@ $< -ldl

# The plugin's side of the agent's socket, measured by itself.
$(build)/bench/activation: $(call objects,spank/asking.cpp spank/option.cpp spank/task_environment.cpp)
$(build)/bench/round-trip $(build)/bench/activation: $(build)/bench/%: tests/bench/%.cpp $(call objects,$(shared_sources))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++20 $(warnings) -I. -Iagent $(CXXFLAGS) -o $@ $^

bench: have-deps
	@$(MAKE) --no-print-directory -j$(shell nproc) test-parts $(addprefix $(build)/bench/,load-time round-trip activation)
	@tests/bench/bench $(build)

# ---- fuzzing -------------------------------------------------------------------------------------------------------
fuzz_seconds ?= 60
fuzzers      := $(patsubst tests/fuzz/%.cpp,$(build)/fuzz/%,$(fuzz_sources))
# What the harnesses call, and what that calls: compiled once with the fuzzer's instrumentation, and each takes its part.
fuzzed_sources := $(wildcard agent/node/*.cpp agent/target/*.cpp agent/snapshot/*.cpp agent/discovery/*.cpp agent/placement/*.cpp) $(plugin_pure_sources) \
                  $(addprefix agent/,ranges.cpp system/files.cpp system/process.cpp system/archive.cpp system/host.cpp system/hwloc.cpp commands/node_text.cpp table.cpp \
                  doctor/checks.cpp doctor/slurm_checks.cpp doctor/hip_checks.cpp doctor/plugin_file.cpp \
                  service/protocol.cpp service/client.cpp service/exchange.cpp service/slurm_gpus.cpp environment/edits.cpp \
                  environment/elf_file.cpp environment/code_objects.cpp environment/variant.cpp system/sha256.cpp \
                  environment/bundle_index.cpp environment/catalogue.cpp environment/sources.cpp environment/edit_tables.cpp environment/prefix.cpp \
                  configuration/document.cpp configuration/values.cpp system/minisign.cpp)
fuzz_compile   := -std=c++20 -g1 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -I. -Iagent -MMD -MP
fuzz_objects   := $(patsubst %.cpp,$(build)/fuzz/obj/%.o,$(fuzzed_sources))

$(build)/fuzz/obj/%.o: %.cpp
	$(call say,FUZZED,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(fuzz_compile) -fsanitize=fuzzer-no-link -c -o $@ $<

$(build)/fuzz/libfuzzed.a: $(fuzz_objects)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(build)/fuzz/%: tests/fuzz/%.cpp $(build)/fuzz/libfuzzed.a
	$(call say,FUZZER,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(fuzz_compile) -fsanitize=fuzzer -o $@ $< $(build)/fuzz/libfuzzed.a -lfmt -larchive -lhwloc -lcrypto -lzstd -lz -ldl

# What a fuzzer finds is kept in the build; what should stay goes to tests/fuzz/corpus, which every unit test run reads.
.PHONY: fuzz
fuzz: $(fuzzers)
	@for fuzzer in $(fuzzers); do \
		echo "fuzzing with $${fuzzer##*/} for $(fuzz_seconds) s"; \
		mkdir -p $$fuzzer.corpus; \
		$$fuzzer $$fuzzer.corpus tests/fuzz/corpus/$${fuzzer##*/} -max_total_time=$(fuzz_seconds) -max_len=16384 -artifact_prefix=$$fuzzer. \
			-print_final_stats=1 >$$fuzzer.log 2>&1 || { tail -n 40 $$fuzzer.log; exit 1; }; \
		grep '^stat::number_of_executed_units' $$fuzzer.log; done

# ---- packages ------------------------------------------------------------------------------------------------------
build_packages := g++ libhwloc-dev libarchive-dev libfmt-dev libsystemd-dev libtomlplusplus-dev nlohmann-json3-dev libcli11-dev libcurl4-openssl-dev libssl-dev libmount-dev libzstd-dev zlib1g-dev libslurm-dev \
                  clang-19 lld-19 llvm-19 clang-tools-19
# Slurm's AutoDetect=rsmi loads librocm_smi64.so by the name that only the development package has.
run_packages   := librocm-smi64-1 librocm-smi-dev libamdhip64-5 squashfs-tools
test_packages  := catch2 bats slurmctld slurmd slurm-client slurm-wlm-rsmi-plugin munge iproute2 procps strace mandoc binutils hwloc-nox shellcheck jq rocm-smi rocminfo python3-minimal nginx-light openssl minisign
bench_packages := lmod tcl
lint_packages  := clang-format-19 clang-tidy-19 libclang-rt-19-dev
all_packages   := $(build_packages) $(run_packages) $(test_packages) $(bench_packages) $(lint_packages)
missing_packages = $(shell dpkg-query -W -f '$${db:Status-Abbrev} $${Package}\n' $(all_packages) 2>/dev/null | \
                   awk '$$1 == "ii" { have[$$2] = 1 } END { n = split("$(all_packages)", want, " "); for (i = 1; i <= n; i++) if (!(want[i] in have)) print want[i] }')

# RUNLEVEL=1 keeps Debian from starting munged and Slurm's daemons: the tests start their own.
deps:
	@missing="$(missing_packages)"; \
	if [ -z "$$missing" ]; then echo 'all packages are installed'; \
	elif [ "$$(id -u)" -ne 0 ]; then echo "to be installed by root: apt-get install --no-install-recommends" $$missing; exit 1; \
	else apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $$missing >/dev/null \
		&& echo "installed:" $$missing; fi

.PHONY: have-deps
have-deps:
	@test -z "$(missing_packages)" || $(MAKE) --no-print-directory deps

# ---- style ---------------------------------------------------------------------------------------------------------
all_sources := $(shell git ls-files '*.cpp' '*.hpp' '*.hip' 2>/dev/null)
lint: have-deps
	@$(CLANG_FORMAT) --dry-run --Werror $(all_sources)
	@$(CLANG_TIDY) --quiet $(filter agent/%.cpp spank/%.cpp probes/%.cpp,$(all_sources)) -- -std=c++20 -I. -Iagent -DAMD_GPU_VERSION='"$(version)"'
	@mandoc -Tlint -W warning man/*.[0-9]

format:
	$(CLANG_FORMAT) -i $(all_sources)

# ---- installing ----------------------------------------------------------------------------------------------------
# Slurm's plugin directory: what the caller says, else what Slurm itself says, else where distributions put it.
SLURM_PLUGIN_DIR ?= $(firstword $(shell pkg-config --variable=plugindir slurm 2>/dev/null) \
                    $(shell scontrol show config 2>/dev/null | awk '$$1 == "PluginDir" { print $$3 }') \
                    $(wildcard /usr/lib/x86_64-linux-gnu/slurm-wlm /usr/lib/x86_64-linux-gnu/slurm /usr/lib64/slurm))

install: all
	@test -n "$(SLURM_PLUGIN_DIR)" || { echo 'where are the plugins of Slurm? make install SLURM_PLUGIN_DIR=/...'; exit 1; }
	$(INSTALL) -D -m 755 $(build)/bin/amd-gpu-agent $(DESTDIR)$(sbindir)/amd-gpu-agent
	$(INSTALL) -D -m 755 $(build)/bin/amd-gpu-probe $(DESTDIR)$(libexecdir)/amd-gpu-probe
	@# Into place by rename: jobs that are starting map the old file or the new one, never half of one.
	$(INSTALL) -D -m 755 $(plugin) $(DESTDIR)$(SLURM_PLUGIN_DIR)/.amd_gpu.so.new
	mv -f $(DESTDIR)$(SLURM_PLUGIN_DIR)/.amd_gpu.so.new $(DESTDIR)$(SLURM_PLUGIN_DIR)/amd_gpu.so
	for page in man/*.[0-9]; do $(INSTALL) -D -m 644 $$page $(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/} || exit 1; done
	for file in etc/floors/*.toml; do $(INSTALL) -D -m 644 $$file $(DESTDIR)$(sysconfdir)/amd-gpu/floors/$${file##*/} || exit 1; done
	$(INSTALL) -d $(DESTDIR)$(sysconfdir)/amd-gpu/environments.d
	$(INSTALL) -D -m 644 etc/environments.d/example.toml.example $(DESTDIR)$(docdir)/examples/environment.toml
	for file in etc/providers/*; do $(INSTALL) -D -m 755 $$file $(DESTDIR)$(docdir)/examples/$${file##*/} || exit 1; done
	$(INSTALL) -D -m 644 etc/environments.d/bundle.toml.example $(DESTDIR)$(docdir)/examples/bundle.toml
	$(INSTALL) -D -m 644 etc/environments.d/guix.toml.example $(DESTDIR)$(docdir)/examples/guix.toml
	$(INSTALL) -D -m 644 etc/plugstack.conf.example $(DESTDIR)$(docdir)/examples/plugstack.conf
	sed 's|@sbindir@|$(sbindir)|' etc/amd-gpu-agent.service > $(build)/amd-gpu-agent.service
	$(INSTALL) -D -m 644 $(build)/amd-gpu-agent.service $(DESTDIR)$(unitdir)/amd-gpu-agent.service
	$(INSTALL) -D -m 644 etc/amd-gpu-agent.socket $(DESTDIR)$(unitdir)/amd-gpu-agent.socket
	@# A site's settings are never overwritten.
	test -e $(DESTDIR)$(sysconfdir)/amd-gpu/amd-gpu.toml || $(INSTALL) -D -m 644 etc/amd-gpu.toml $(DESTDIR)$(sysconfdir)/amd-gpu/amd-gpu.toml

uninstall:
	@grep -qsr amd_gpu.so /etc/slurm/plugstack.conf /etc/slurm/plugstack.conf.d && echo 'take amd_gpu.so out of plugstack.conf first' && exit 1 || true
	rm -f $(DESTDIR)$(SLURM_PLUGIN_DIR)/amd_gpu.so $(DESTDIR)$(sbindir)/amd-gpu-agent $(DESTDIR)$(libexecdir)/amd-gpu-probe
	rm -f $(patsubst man/%,$(DESTDIR)$(mandir)/man?/%,$(wildcard man/*.[0-9]))
	rm -f $(DESTDIR)$(unitdir)/amd-gpu-agent.service $(DESTDIR)$(unitdir)/amd-gpu-agent.socket
	rm -rf $(DESTDIR)$(docdir)

clean:
	rm -rf build

-include $(shell find $(build)/obj $(build)/fuzz -name '*.d' 2>/dev/null)
