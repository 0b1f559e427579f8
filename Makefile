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
sanitize      := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all)
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
shared_sources  := $(wildcard agent/target/*.cpp) agent/service/protocol.cpp agent/service/client.cpp agent/service/exchange.cpp agent/environment/edits.cpp
plugin_sources  := $(wildcard spank/*.cpp)
sim_sources     := $(wildcard tests/sim/node/*.cpp)
simhip_sources  := $(wildcard tests/sim/hip/*.cpp)
preload_sources := $(wildcard tests/sim/preload/*.cpp)
unit_sources    := $(wildcard tests/unit/*.cpp)

agent_libs      := -lhwloc -lfmt -lsystemd -ldl
plugin_libs     := -static-libstdc++ -static-libgcc

programs        := $(build)/bin/amd-gpu-agent $(build)/bin/amd-gpu-probe
plugin          := $(build)/lib/amd_gpu.so
simulator       := $(build)/bin/amd-gpu-sim $(build)/sim/libamdhip64.so.5 $(build)/sim/preload.so
demo_program    := $(build)/demo/where-am-i
unit_tests      := $(build)/tests/unit

.PHONY: all deps check check-long demo bench lint format install uninstall clean cluster-parts
all: $(programs) $(plugin)
cluster-parts: all $(simulator) $(demo_program)

# ---- compiling -----------------------------------------------------------------------------------------------------
# Objects depend on this file, which changes only when the way of compiling does.
$(build)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CXX) $(compile) $(CPPFLAGS) $(CXXFLAGS)' | cmp -s - $@ || echo '$(CXX) $(compile) $(CPPFLAGS) $(CXXFLAGS)' > $@
FORCE:

$(build)/obj/%.o: %.cpp $(build)/flags
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(compile) $(CPPFLAGS) $(CXXFLAGS) -c -o $@ $<

# Catch2's header and the simulator's data need a little more room than the product's own code.
$(call objects,$(unit_sources)): compile += -Itests -Iprobes -Wno-conversion
# Every program of a simulated node loads the preload library: libc alone, no exceptions, never a sanitizer.
$(call objects,$(preload_sources)): sanitize :=
$(call objects,$(preload_sources)): compile += -fno-exceptions -fno-rtti
$(call objects,$(sim_sources)):  compile += -DAMD_GPU_SIM_MODELS='"$(CURDIR)/tests/sim/models"'

# ---- the agent and the plugin --------------------------------------------------------------------------------------
$(build)/bin/amd-gpu-agent: $(call objects,agent/main.cpp $(agent_sources) spank/option.cpp spank/option_help.cpp spank/asking.cpp)
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

$(build)/bin/amd-gpu-probe: $(call objects,$(probe_sources)) $(kernel_object)
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
$(build)/bin/amd-gpu-sim: $(call objects,$(sim_sources) tests/sim/faults.cpp)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(linking) $(LDFLAGS) -o $@ $^

$(build)/sim/preload.so: $(call objects,$(preload_sources))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -shared $(filter-out -fsanitize%,$(linking)) $(LDFLAGS) -o $@ $^ -ldl $(plugin_libs)

# ---- tests ---------------------------------------------------------------------------------------------------------
# The parts of the plugin that need no Slurm.
plugin_pure_sources := $(addprefix spank/,option.cpp option_help.cpp asking.cpp plugin_settings.cpp task.cpp)

$(unit_tests): $(call objects,$(unit_sources) $(agent_sources) $(filter-out probes/main.cpp,$(probe_sources)) $(plugin_pure_sources) tests/sim/faults.cpp)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(linking) $(LDFLAGS) -o $@ $^ $(agent_libs)

clean:
	rm -rf build

-include $(shell find $(build)/obj -name '*.d' 2>/dev/null)
