# configuration.bash: the configuration files of a test cluster, and what the harness and its commands share. Sourced by
# `inside` and by the commands in bin/. It owns the files below /mnt/etc; it starts nothing.
# shellcheck shell=bash disable=SC2034

readonly controller_port=6817 first_node_port=6818

write_configuration() {
    local last=$((CLUSTER_NODES - 1)) i item
    local range="n[0-$last]" ports="$first_node_port-$((first_node_port + last))"
    ((last > 0)) || range=n0 ports=$first_node_port
    local sockets cores threads
    IFS=: read -r sockets cores threads <<<"$CLUSTER_CPUS"

    { cat /etc/hosts; printf '127.0.0.1 login\n'; } >/mnt/etc/hosts
    mount --bind /mnt/etc/hosts /etc/hosts

    # The model's hardware threads are declared whatever the host has (config_overrides); binding to those that it lacks is made
    # to work by the simulated node, confining to them is not, so ConstrainCores stays off.
    cat >/mnt/etc/slurm.conf <<TEXT
ClusterName=simulated
SlurmctldHost=localhost
SlurmctldPort=$controller_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=/mnt/munge/socket
StateSaveLocation=/mnt/state
SlurmdSpoolDir=/mnt/spool/%n
SlurmctldPidFile=/mnt/state/slurmctld.pid
SlurmdPidFile=/mnt/nodes/%n/slurmd.pid
SlurmctldLogFile=/mnt/log/slurmctld.log
SlurmdLogFile=/mnt/log/slurmd-%n.log
SlurmctldDebug=verbose
SlurmdDebug=verbose
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/cgroup
TaskPlugin=task/affinity,task/cgroup
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PrologFlags=$CLUSTER_PROLOG_FLAGS
PrologEpilogTimeout=60
ReturnToService=2
GresTypes=gpu
KillWait=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=1
PlugStackConfig=/mnt/etc/plugstack.conf
NodeName=$range NodeHostname=localhost NodeAddr=127.0.0.1 Port=$ports Gres=gpu:$CLUSTER_GPU_COUNT RealMemory=1000 Boards=1 SocketsPerBoard=$sockets CoresPerSocket=$cores ThreadsPerCore=$threads State=UNKNOWN
PartitionName=gpu Nodes=$range Default=YES DefCpuPerGPU=$((sockets * cores * threads / CLUSTER_GPU_COUNT)) MaxTime=INFINITE State=UP
TEXT
    if [[ -n $CLUSTER_GRES ]]; then
        cp "$CLUSTER_GRES" /mnt/etc/gres.conf
    else
        printf 'AutoDetect=rsmi\n' >/mnt/etc/gres.conf
    fi
    cat >/mnt/etc/cgroup.conf <<'TEXT'
CgroupPlugin=cgroup/v1
CgroupAutomount=no
ConstrainDevices=yes
ConstrainCores=no
ConstrainRAMSpace=no
TEXT
    : >/mnt/etc/plugstack.conf
    [[ $CLUSTER_PLUGIN_KIND == none ]] ||
        printf '%s /mnt/build/lib/amd_gpu.so %s\n' "$CLUSTER_PLUGIN_KIND" "$CLUSTER_PLUGSTACK" >/mnt/etc/plugstack.conf
    cat >/mnt/etc/amd-gpu/environments.d/demo.toml <<'TEXT'
description = "the demo program and its library"
provider = "prefix"
path = "/mnt/build/demo/envs/demo/{target}"
TEXT
    for ((i = 0; i < CLUSTER_NODES; i++)); do
        write_node "n$i"
    done
}

# The agent's configuration of one node and what the commands need to know about it. Sizes and time are those of a test: the
# simulated devices of all nodes compute on this machine's cores.
write_node() {
    local node=$1 model=$CLUSTER_MODEL item
    for item in $CLUSTER_NODE_MODELS; do
        [[ ${item%%=*} == "$node" ]] && model=${item#*=}
    done
    mkdir -p "/mnt/nodes/$node/state" "/mnt/spool/$node"
    printf '%s\n' "$model" >"/mnt/nodes/$node/model"
    cat >"/mnt/etc/amd-gpu/$node.toml" <<TEXT
[agent]
state_directory = "/mnt/nodes/$node/state"

[slurm]
slurm_conf = "/mnt/etc/slurm.conf"

[probe]
gcd_bytes = "16MiB"
link_bytes = "4MiB"
deadline = 20
floors_directory = "/mnt/etc/amd-gpu/floors"

[environment]
directory = "/mnt/etc/amd-gpu/environments.d"
index = "/mnt/etc/amd-gpu/index"
user_index = "/mnt/work/{user}.variants"

[job]
cache_directory = "/mnt/nodes/$node/caches"
TEXT
}
