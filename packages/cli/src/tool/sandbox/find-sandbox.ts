import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile, access, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import type { Sandbox, SandboxSearchOutcome, SandboxUse } from "palimpsest/internal/ports/sandbox";
import { canRun } from "../resolve-real-path.ts";
import { bubblewrap } from "./bubblewrap.ts";
import { sandboxTryCharsMax, sandboxTryMsMax } from "./limits.ts";
import { MountPoints } from "./plan-mounts.ts";
import { seatbelt } from "./seatbelt.ts";
import type { SandboxMode } from "palimpsest/internal/schema/setting-table";

interface FindSandboxInput {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For the files that a sandbox needs; created with the first of them. No command may write in it. */
  readonly folder: string;
  readonly platform?: string;
  readonly arch?: string;
}

/** Finds this machine's sandbox and tries it once. Must not reject. */
export async function findSandbox({
  env,
  folder,
  platform = process.platform,
  arch = process.arch,
}: FindSandboxInput): Promise<SandboxSearchOutcome> {
  if (platform === "darwin") return await trySandbox(seatbelt({ program: sandboxExec }), async () => seatbeltRemedy);
  if (platform !== "linux") return noSandbox(`there is none for ${platform} here`, "run it on Linux or macOS");
  const filter = socketFilter(arch);
  if (filter === undefined) return noSandbox(`there is none for ${arch} processors here`, "run it on x64 or arm64");
  const program = await findProgram("bwrap", env["PATH"] ?? "");
  if (program === undefined) return noSandbox("bubblewrap is not installed", bubblewrapRemedy(await machineFacts()));
  const filterFile = () => ensureFile({ folder, name: "sockets.bpf", data: filter });
  const sandbox = bubblewrap({ program, filterFile, mountPoints: new MountPoints(join(folder, "held")) });
  return await trySandbox(sandbox, async (failure) => bubblewrapRemedy(await machineFacts(), failure));
}

/** Must not reject, if `remedyFor` does not. */
export async function trySandbox(
  sandbox: Sandbox,
  remedyFor: (failure: string) => Promise<string>,
): Promise<SandboxSearchOutcome> {
  const failure = await runTrial(sandbox);
  return failure === undefined ? { kind: "found", sandbox } : noSandbox(failure, await remedyFor(failure));
}

/** Part of macOS: never looked up on PATH. */
const sandboxExec = "/usr/bin/sandbox-exec";
const seatbeltRemedy = `see whether it works by hand: ${sandboxExec} -p '(version 1)(allow default)' /usr/bin/true`;

const noSandbox = (why: string, remedy: string): SandboxSearchOutcome => ({ kind: "none", why, remedy });

/** Standard folders first: PATH may lead into a project. */
async function findProgram(name: string, path: string): Promise<string | undefined> {
  const folders = ["/usr/bin", "/bin", "/usr/local/bin", ...path.split(delimiter).filter((one) => isAbsolute(one))];
  for (const folder of folders) if (await canRun(join(folder, name))) return join(folder, name);
  return undefined;
}

/** Written again only if its content differs, for example after a full disk or by another version. */
async function ensureFile({
  folder,
  name,
  data,
}: {
  readonly folder: string;
  readonly name: string;
  readonly data: Uint8Array;
}): Promise<string> {
  const path = join(folder, name);
  const found = await readFile(path).catch(() => undefined);
  if (found?.equals(data) === true) return path;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporaryPath = `${path}.${randomUUID()}`;
  await writeFile(temporaryPath, data, { flag: "wx" });
  await rename(temporaryPath, path);
  return path;
}

/** The error it fails with; undefined if it works. Must not reject. */
async function runTrial(sandbox: Sandbox): Promise<string | undefined> {
  try {
    const temporary = await mkdtemp(join(tmpdir(), "palimpsest-try-"));
    try {
      return await runInside(sandbox, temporary);
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  } catch (error) {
    const stderrText = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    const [line = ""] = (stderrText || String(error)).split("\n");
    return line.slice(0, sandboxTryCharsMax);
  }
}

/** Runs a command that does nothing. Rejects if it fails; returns the reason if the sandbox refuses it. */
async function runInside(sandbox: Sandbox, temporary: string): Promise<string | undefined> {
  const start = { program: "/bin/sh", args: ["-c", "exit 0"], cwd: "/", env: {} };
  const entry = await sandbox.enter(start, {
    strength: "read-only",
    writable: [],
    protected: [],
    hidden: [],
    shown: [],
    temporary,
    network: { kind: "off" },
  });
  if (entry.kind === "refused") return entry.why;
  const { program, args, cwd, env } = entry.start;
  try {
    await promisify(execFile)(program, args, { cwd, env, timeout: sandboxTryMsMax });
  } finally {
    await entry.leave();
  }
  return undefined;
}

/** The facts that decide whether bubblewrap can work. */
export interface MachineFacts {
  /** The program name of the first one that is installed. */
  readonly packageManager: string | undefined;
  readonly place: "container" | "machine";
  /** Kernel switches such as `kernel.unprivileged_userns_clone`, if they exist. */
  readonly valueBySwitch: ReadonlyMap<string, string>;
}

/**
 * One line on what the user can do to make bubblewrap work. `failure`: its error when it was tried; absent: not
 * installed.
 */
export function bubblewrapRemedy(facts: MachineFacts, failure?: string): string {
  if (failure === undefined) return installRemedy(facts.packageManager);
  if (/unknown option/i.test(failure)) return "install a newer bubblewrap: 0.5 or later";
  if (!/namespace|permission denied|not permitted|uid map|loopback|mount/i.test(failure)) return byHand;
  const closed = closingSwitches.find(({ name, closedBy }) => facts.valueBySwitch.get(name) === closedBy);
  if (facts.place === "container") return containerRemedy;
  if (closed === undefined) return byHand;
  return `let programs make user namespaces: sudo sysctl -w ${closed.name}=${closed.openBy}`;
}

const installRemedy = (packageManager: string | undefined): string => {
  const install = installByManager.get(packageManager ?? "");
  return install === undefined
    ? "install the package bubblewrap, so that bwrap is on PATH"
    : `install bubblewrap: ${install}`;
};

const installByManager: ReadonlyMap<string, string> = new Map([
  ["apt-get", "sudo apt install bubblewrap"],
  ["dnf", "sudo dnf install bubblewrap"],
  ["pacman", "sudo pacman -S bubblewrap"],
  ["zypper", "sudo zypper install bubblewrap"],
  ["apk", "sudo apk add bubblewrap"],
]);

const byHand = "see what bwrap says by hand: bwrap --ro-bind / / --proc /proc --dev /dev --unshare-all true";
const containerRemedy =
  "start the container so that it may make user namespaces: docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined";

/** Each of them alone keeps a user's programs from creating namespaces. */
const closingSwitches = [
  { name: "kernel.apparmor_restrict_unprivileged_userns", closedBy: "1", openBy: "0" },
  { name: "kernel.unprivileged_userns_clone", closedBy: "0", openBy: "1" },
  { name: "user.max_user_namespaces", closedBy: "0", openBy: "15000" },
] as const;

/** Must not reject: an unreadable file counts as missing. */
export async function machineFacts(): Promise<MachineFacts> {
  const managers = await Promise.all(
    [...installByManager.keys()].map(async (name) =>
      (await isThere(join("/usr/bin", name))) || (await isThere(join("/sbin", name))) ? name : undefined,
    ),
  );
  const isContainer = (await isThere("/.dockerenv")) || (await isThere("/run/.containerenv"));
  const values = await Promise.all(closingSwitches.map(async ({ name }) => [name, await readSwitch(name)] as const));
  return {
    packageManager: managers.find((name) => name !== undefined),
    place: isContainer ? "container" : "machine",
    valueBySwitch: new Map(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))),
  };
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const readSwitch = (name: string): Promise<string | undefined> =>
  readFile(join("/proc/sys", name.replaceAll(".", "/")), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );

export function chooseSandboxUse(mode: SandboxMode, found: SandboxSearchOutcome): SandboxUse {
  if (mode === "off") return { kind: "unheld", because: "off" };
  if (found.kind === "found") return { kind: "held", sandbox: found.sandbox };
  const { why, remedy } = found;
  return mode === "required" ? { kind: "refused", why, remedy } : { kind: "unheld", because: "absent", why, remedy };
}

/**
 * A filter of system calls for bubblewrap's `--seccomp`, as the bytes of a classic BPF program.
 *
 * Mounts don't restrict sockets: connecting needs no writable mount, and a program that listens in the home folder (an
 * editor, a file watcher, a package daemon) would run commands outside for anything that connects. So only sockets of
 * the private network can be created; socket pairs are allowed, because both ends are inside. io_uring could create
 * sockets past the filter, and kernel keyrings are shared with the user's other programs.
 */
export function socketFilter(arch: string): Uint8Array | undefined {
  const abis = abisByArch.get(arch);
  return abis && encode([load(offset.arch), ...abis.flatMap(instructionsFor), refuse]);
}

/** One way to call the kernel: a processor has its own, and one for 32-bit programs. */
interface CallAbi {
  /** AUDIT_ARCH_…, as the kernel passes it to the filter. */
  readonly auditArch: number;
  readonly socket: number;
  readonly socketpair: number;
  readonly refused: readonly number[];
  /** Numbers from here on belong to another ABI (x32). */
  readonly end?: number;
}

const ioUringSetup = 425;

const abisByArch: ReadonlyMap<string, readonly CallAbi[]> = new Map([
  [
    "x64",
    [
      {
        auditArch: 0xc0_00_00_3e,
        socket: 41,
        socketpair: 53,
        refused: [248, 249, 250, ioUringSetup],
        end: 0x40_00_00_00,
      },
      // 102 is socketcall, whose arguments a filter can't see.
      { auditArch: 0x40_00_00_03, socket: 359, socketpair: 360, refused: [102, 286, 287, 288, ioUringSetup] },
    ],
  ],
  [
    "arm64",
    [
      { auditArch: 0xc0_00_00_b7, socket: 198, socketpair: 199, refused: [217, 218, 219, ioUringSetup] },
      { auditArch: 0x40_00_00_28, socket: 281, socketpair: 288, refused: [309, 310, 311, ioUringSetup] },
    ],
  ],
]);

const family = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;

/**
 * Offsets in the kernel's `seccomp_data`: both processors are little-endian, so the low half of an argument comes
 * first.
 */
const offset = { call: 0, arch: 4, firstArgument: 16, secondArgument: 24 } as const;

interface Instruction {
  readonly code: number;
  readonly value: number;
  /** Instructions to skip if a comparison fails. */
  readonly skipUnless?: number;
}

const load = (at: number): Instruction => ({ code: 0x20, value: at });
const mask = (bits: number): Instruction => ({ code: 0x54, value: bits });
/** The next `count` instructions apply only to this value. */
const ifEqual = (value: number, count: number): Instruction => ({ code: 0x15, value, skipUnless: count });
const ifAtLeast = (value: number, count: number): Instruction => ({ code: 0x35, value, skipUnless: count });
const allow: Instruction = { code: 0x06, value: 0x7f_ff_00_00 };
/** The call fails with EPERM. */
const refuse: Instruction = { code: 0x06, value: 0x00_05_00_01 };

/** If the call is of this ABI, the instructions end with an answer; otherwise they are skipped. */
function instructionsFor({ auditArch, socket, socketpair, refused, end }: CallAbi): readonly Instruction[] {
  const calls = [
    load(offset.call),
    ...(end === undefined ? [] : [ifAtLeast(end, 1), refuse]),
    ...refused.flatMap((call) => [ifEqual(call, 1), refuse]),
    ...answerByFamily(socket, [family.inet, family.inet6, family.netlink]),
    ...answerForPair(socketpair),
    allow,
  ];
  return [ifEqual(auditArch, calls.length), ...calls];
}

function answerByFamily(call: number, families: readonly number[]): readonly Instruction[] {
  const answer = [load(offset.firstArgument), ...families.flatMap((one) => [ifEqual(one, 1), allow]), refuse];
  return [ifEqual(call, answer.length), ...answer];
}

/**
 * Only types whose two ends stay connected. A datagram socket, which is also what the kernel makes of a raw one, can
 * send to any other by path.
 */
function answerForPair(call: number): readonly Instruction[] {
  const ofType = [
    load(offset.secondArgument),
    mask(socketTypeMask),
    ...connected.flatMap((one) => [ifEqual(one, 1), allow]),
  ];
  const answer = [load(offset.firstArgument), ifEqual(family.unix, ofType.length), ...ofType, refuse];
  return [ifEqual(call, answer.length), ...answer];
}

/** Flags are in the bits above. */
const socketTypeMask = 0xf;
/** SOCK_STREAM and SOCK_SEQPACKET. */
const connected: readonly number[] = [1, 5];

/** In the format of the kernel's `sock_filter`: code, two jumps, value. */
function encode(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(instructions.length * 8));
  for (const [index, { code, value, skipUnless = 0 }] of instructions.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 3, skipUnless);
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
