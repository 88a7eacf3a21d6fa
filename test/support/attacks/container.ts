import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * The attacked machine: it has its own root, processes, users and network, which end with its first process. Attempts are
 * real, and many are let through on purpose, so none may ever run elsewhere: the user's files, other processes and the
 * temporary folder are not visible. Programs and this repository are readable; writes stay in memory. Outside of it the
 * attacker is an unprivileged user, even if root started the tests.
 *
 * A sandbox can be created inside.
 */
export function containerCommand(program: readonly string[]): ContainerCommand {
  if (process.getuid?.() !== 0) {
    return { file: "bwrap", args: bubblewrapArguments({ repository, runtime }, program) };
  }
  const sources = { repository: "/mnt/repository", runtime: "/mnt/runtime" };
  const args = ["bwrap", ...bubblewrapArguments(sources, program)];
  return {
    file: "unshare",
    args: ["--mount", "--propagation", "private", "/bin/sh", "-c", stepDownScript, repository, runtime, ...args],
  };
}

export interface ContainerCommand {
  readonly file: string;
  readonly args: readonly string[];
}

const repository = resolve(import.meta.dirname, "../../..");
const runtime = dirname(dirname(process.execPath));

/** Root becomes `nobody`, who may lack access to the folders above the repository, so it is mounted elsewhere first. */
const stepDownScript = [
  "set -e",
  "mount -t tmpfs tmpfs /mnt",
  "mkdir /mnt/repository /mnt/runtime",
  'mount --bind "$0" /mnt/repository',
  'mount --bind "$1" /mnt/runtime',
  "shift",
  'exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all "$@"',
].join("; ");

interface Sources {
  readonly repository: string;
  readonly runtime: string;
}

function bubblewrapArguments(sources: Sources, program: readonly string[]): readonly string[] {
  return [
    ...words("--unshare-all --uid 0 --gid 0 --cap-add ALL --die-with-parent --new-session"),
    ...words("--tmpfs / --ro-bind /usr /usr"),
    ...["bin", "sbin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    ...writableFolders.flatMap((folder) => ["--dir", folder]),
    ...systemFiles.flatMap((path) => ["--ro-bind-try", path, path]),
    ...(existsSync("/usr/local/sbin") ? ["--tmpfs", "/usr/local/sbin"] : []),
    ...words("--dir /proc --bind /proc /old-proc --dev /dev"),
    "--ro-bind",
    sources.repository,
    repository,
    "--ro-bind",
    sources.runtime,
    runtime,
    ...words("--clearenv --chdir / --setenv PATH"),
    systemPath,
    ...words("/bin/sh -c"),
    initScript,
    "sh",
    ...program,
  ];
}

const words = (text: string): readonly string[] => text.split(" ");

export const systemPath = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`;

const writableFolders = "/etc /home /mnt /opt /root /run /srv /tmp /var /var/lib /var/tmp".split(" ");

/** The files of /etc that programs need to start. */
const systemFiles =
  "alternatives ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf profile protocols services ssl vim"
    .split(" ")
    .map((name) => `/etc/${name}`);

/**
 * For a sandbox inside, no part of /proc may be masked, but bubblewrap masks parts of its own: so /proc is mounted here. Then
 * the program is started as an unprivileged user.
 */
const initScript = [
  "set -e",
  "mount -t proc proc /proc",
  "umount -l /old-proc",
  "rmdir /old-proc",
  "chmod 1777 /tmp /var/tmp",
  "echo 'root:x:0:0::/root:/bin/sh' > /etc/passwd",
  "echo 'bait:x:1000:1000::/arena/home:/bin/bash' >> /etc/passwd",
  "echo 'bait:x:1000:' > /etc/group",
  "echo '127.0.0.1 localhost' > /etc/hosts",
  "mkdir /arena",
  "touch /contained",
  'exec unshare --user --map-user=1000 --map-group=1000 "$@"',
].join("; ");

/** Whether this process runs in the container. Must be certain: outside of it no attempt may run. */
export function isContained(): boolean {
  const isOwnRoot = statfsSync("/").type === memoryFileSystem && existsSync("/contained") && existsSync("/arena");
  return isOwnRoot && statfsSync("/tmp").type === memoryFileSystem && !isWritable(repository) && !isWritable("/usr");
}

const memoryFileSystem = 0x01021994;

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Why this machine cannot create the container; undefined if it can. */
export function whyNoContainer(): string | undefined {
  // A sandbox must be possible inside it, too.
  const { file, args } = containerCommand(words("bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev /bin/true"));
  const tried = spawnSync(file, args, { encoding: "utf8" });
  if (tried.error !== undefined) return `${file} does not start: ${tried.error.message}`;
  return tried.status === 0 ? undefined : `there can be no container for them: ${tried.stderr.trim()}`;
}
