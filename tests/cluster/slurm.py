"""A Slurm cluster of one node on the loopback device, from the distribution's packages and without accounting."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

# Jobs find the configuration here alone: what submits them drops Slurm's own variables.
SYSTEM_CONFIG = Path("/etc/slurm/slurm.conf")
SYSTEM_GPUS = SYSTEM_CONFIG.with_name("gres.conf")
MARK = "# Written by the tests of admmbench, which remove it.\n"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")

# Memory limits are held by watching the processes: a container need not have cgroups to write to.
CONFIG = (
    MARK
    + """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill,UsePss
AccountingStorageType=accounting_storage/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
InactiveLimit=0
KillWait=2
MinJobAge=600
OverTimeLimit=0
ReturnToService=2
MaxArraySize=1001
SlurmdDebug=error
SlurmctldDebug=info
GresTypes=gpu,shard
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:1,shard:2 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=60 State=UP
"""
)
# A GPU that two jobs may share. What Slurm has to know of it is that the device is there.
GPUS = MARK + "Name=gpu File=/dev/null\nName=shard Count=2\n"


class Slurm:
    """The daemons, from `start` to `stop`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        folder = self.folder
        for name in ("state", "spool"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        SYSTEM_CONFIG.parent.mkdir(exist_ok=True)
        SYSTEM_CONFIG.write_text(
            CONFIG.format(
                folder=folder,
                host=socket.gethostname().split(".")[0],
                ports=_free_ports(2),
                cpus=os.cpu_count(),
                memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 - 512,
            )
        )
        SYSTEM_GPUS.write_text(GPUS)
        files = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
        self._daemon("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files)
        self._wait(lambda: (folder / "munge.socket").exists(), "munged")
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D")
        self._wait(lambda: "idle" in self.call("sinfo", "--noheader", "--format=%T"), "the node")

    def stop(self) -> None:
        """End every process: jobs first, then the daemons, newest first."""
        if len(self.daemons) == 3:
            self.call("scancel", "--user=root", "--full", "--signal=KILL")
            self.call("scancel", "--user=root")
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for written in (SYSTEM_CONFIG, SYSTEM_GPUS):
            written.unlink(missing_ok=True)

    def call(self, *words: str) -> str:
        """Output of a client program; empty while the controller cannot be reached."""
        done = subprocess.run(words, capture_output=True, text=True)
        return done.stdout

    def _daemon(self, program: str, *options: str) -> None:
        path = shutil.which(program) or f"/usr/sbin/{program}"
        with (self.folder / f"{program}.out").open("wb") as log:
            self.daemons.append(
                subprocess.Popen([path, *options], stdout=log, stderr=subprocess.STDOUT)
            )

    def _wait(self, ready, what: str) -> None:
        deadline = time.monotonic() + 60
        while not ready():
            ended = [daemon.args[0] for daemon in self.daemons if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = "\n".join(
                    f"{path.name}:\n{path.read_text()[-2000:]}"
                    for pattern in ("*.log", "*.out")
                    for path in self.folder.glob(pattern)
                )
                raise RuntimeError(f"{what} did not come up; ended: {ended}\n{logs}")
            time.sleep(0.1)


def missing() -> str:
    """Why there can be no cluster here; empty if there can."""
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    absent = [name for name in PROGRAMS if not shutil.which(name, path=places)]
    if absent:
        return f"Slurm is not installed ({', '.join(absent)}): apt-get install slurm-wlm munge"
    for path in (SYSTEM_CONFIG, SYSTEM_GPUS):
        if path.exists() and not path.read_text().startswith(MARK):
            return f"this machine belongs to a cluster ({path})"
    if os.geteuid() != 0:
        return "slurmd must be started by root"
    return ""


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
