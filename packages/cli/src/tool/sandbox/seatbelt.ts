import type { ProgramStart, Sandbox, SandboxEntry, SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { isInside } from "../resolve-real-path.ts";
import { sandboxMountsMax, seatbeltProfileBytesMax, seatbeltStringBytesMax } from "./limits.ts";
import { temporaryEnvironment } from "./temporary-folder.ts";
import { proxyEnvironment } from "./network/proxy-environment.ts";

interface SeatbeltDeps {
  /** Of `sandbox-exec`. */
  readonly program: string;
}

/** macOS holds a program by a profile, which it is started with. Nothing is mounted and nothing is left behind. */
export const seatbelt = ({ program }: SeatbeltDeps): Sandbox => ({
  system: "seatbelt",
  enter: async (start, limits) => enterSeatbelt(program, { start, limits }),
});

function enterSeatbelt(
  program: string,
  { start, limits }: { readonly start: ProgramStart; readonly limits: SandboxLimits },
): SandboxEntry {
  const { network, temporary } = limits;
  if (network.kind === "proxy" && network.way.kind !== "loopback")
    return { kind: "refused", why: "the proxy can't be reached: it listens on no port" };
  const profile = seatbeltProfile(limits);
  if (profile.kind === "refused") return profile;
  const env = { ...start.env, ...temporaryEnvironment(temporary) };
  const told =
    network.kind === "proxy" && network.way.kind === "loopback" ? proxyEnvironment(network.way.url, env) : env;
  const args = ["-p", profile.text, start.program, ...start.args];
  return { kind: "ready", start: { ...start, program, args, env: told }, leave: async () => undefined };
}

type Profile = { readonly kind: "profile"; readonly text: string } | { readonly kind: "refused"; readonly why: string };

/**
 * Of the rules that fit, the last one counts, so what is inner stands behind what is outer. Rules are about where a file
 * is, not about its name, so a name that is not there yet is held as well. Pure.
 */
export function seatbeltProfile(limits: SandboxLimits): Profile {
  const count = limits.writable.length + limits.protected.length + limits.hidden.length + limits.shown.length;
  if (count > sandboxMountsMax) return { kind: "refused", why: tooMany };
  const held = planPlaces(limits);
  const tooLong = held.find((place) => Buffer.byteLength(quoteString(anyCaseForm(place))) > seatbeltStringBytesMax);
  if (tooLong !== undefined) return { kind: "refused", why: `${tooLong.path} is too long to be held` };
  const text = [
    ...baseRules,
    ...networkRules(limits.network),
    "(allow file-read*)",
    ...held.flatMap(placeRules),
    ...traversalRules(held),
    ...pinRules(held),
  ].join("\n");
  if (Buffer.byteLength(text) > seatbeltProfileBytesMax) return { kind: "refused", why: tooMany };
  return { kind: "profile", text };
}

const tooMany = "rules and settings name too many files and folders to hold";

type Access = "closed" | "readable" | "writable";

interface ProfilePlace {
  readonly path: string;
  readonly access: Access;
  /** What it lies in. */
  readonly cover: { readonly path: string; readonly access: Access };
}

/** Outer ones first; of two roles of one path the stricter counts. */
function planPlaces({ hidden, protected: kept, writable, shown, temporary }: SandboxLimits): readonly ProfilePlace[] {
  const roleByPath = new Map<string, Role>();
  const put = (paths: readonly string[], role: Role): void => {
    for (const path of paths) if (!roleByPath.has(path)) roleByPath.set(path, role);
  };
  put(hidden, "hidden");
  put(kept, "protected");
  put([...writable, temporary], "writable");
  put(shown, "shown");
  const outerFirst = [...roleByPath].toSorted(([one], [other]) => depth(one) - depth(other));
  const places: ProfilePlace[] = [];
  for (const [path, role] of outerFirst) {
    const cover = places
      .filter((one) => isInside(path, one.path))
      .reduce<ProfilePlace["cover"]>((inner, one) => (one.path.length >= inner.path.length ? one : inner), rootCover);
    const access = accessFor(role, cover.access);
    if (access !== undefined) places.push({ path, access, cover });
  }
  return places;
}

type Role = "hidden" | "protected" | "writable" | "shown";

const rootCover: ProfilePlace["cover"] = { path: "/", access: "readable" };

const depth = (path: string): number => path.split("/").length;

/** Undefined: it is held so already. */
function accessFor(role: Role, cover: Access): Access | undefined {
  switch (role) {
    case "hidden":
      return cover === "closed" ? undefined : "closed";
    case "protected":
      return cover === "writable" ? "readable" : undefined;
    case "writable":
      return cover === "writable" ? undefined : "writable";
    case "shown":
      return cover === "closed" ? "readable" : undefined;
  }
}

function placeRules(place: ProfilePlace): readonly string[] {
  const subpath = `(subpath ${quoteString(place.path)})`;
  const run = place.cover.access === "closed" ? " process-exec" : "";
  switch (place.access) {
    case "writable":
      return [`(allow file-read* file-write*${run} ${subpath})`];
    case "readable":
      return [
        `(allow file-read*${run} ${subpath})`,
        ...(isMakeable(place) ? [`(deny file-write* ${renderNames(place)})`] : []),
      ];
    case "closed":
      return [`(deny file-read* file-write* process-exec ${isMakeable(place) ? renderNames(place) : subpath})`];
  }
}

/** Whether a program could make it, if it is not there yet. */
const isMakeable = ({ cover }: ProfilePlace): boolean => cover.access === "writable";

const renderNames = (place: ProfilePlace): string =>
  `(subpath ${quoteString(place.path)}) (regex ${quoteString(anyCaseForm(place))})`;

/**
 * On a disk that does not tell letters by their case, `.GIT/HOOKS` may be made where `.git/hooks` is looked for. What it
 * lies in is there, and known by the name that it has.
 */
function anyCaseForm({ path, cover }: ProfilePlace): string {
  const start = cover.path === "/" ? "" : cover.path;
  return `^${literalForm(start)}${anyCase(path.slice(start.length))}(/|$)`;
}

/** What is shown inside a hidden folder can be reached: the folders on the way can be looked up, not listed. */
function traversalRules(held: readonly ProfilePlace[]): readonly string[] {
  const passed = held.flatMap(({ path, cover, access }) =>
    cover.access === "closed" && access !== "closed" ? foldersBetween(cover.path, path) : [],
  );
  return literalRule("allow file-read-metadata", passed);
}

/**
 * A rule holds a place only as long as the folders above it keep their names: `mv .git other` would take the hooks to
 * where no rule is. So no folder on the way from a writable one is renamed, removed or made anew.
 */
function pinRules(held: readonly ProfilePlace[]): readonly string[] {
  const pinned = held.flatMap(({ path, cover, access }) => {
    if (access === "writable") return [path];
    return cover.access === "writable" ? foldersBetween(cover.path, path) : [];
  });
  return literalRule("deny file-write-unlink file-write-create", pinned);
}

function literalRule(action: string, paths: readonly string[]): readonly string[] {
  const filters = [...new Set(paths)].map((path) => `(literal ${quoteString(path)})`);
  return filters.length === 0 ? [] : [`(${action} ${filters.join(" ")})`];
}

/** With the outer one, without the inner one. */
function foldersBetween(outer: string, inner: string): readonly string[] {
  const start = outer === "/" ? "" : outer;
  const names = inner
    .slice(start.length + 1)
    .split("/")
    .slice(0, -1);
  return [outer, ...names.map((_, at) => `${start}/${names.slice(0, at + 1).join("/")}`)];
}

function networkRules(network: SandboxLimits["network"]): readonly string[] {
  switch (network.kind) {
    case "off":
      return [];
    case "proxy":
      return network.way.kind === "loopback"
        ? [`(allow network-outbound (remote ip "localhost:${network.way.port}"))`]
        : [];
    case "open":
      return [
        '(allow network-bind (local ip "*:*"))',
        '(allow network-inbound (local ip "*:*"))',
        '(allow network-outbound (remote ip "*:*"))',
        // Names of hosts are looked up by a daemon.
        '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
      ];
  }
}

/** As a string of the profile's language, which is a Scheme: letters beyond ASCII stand as they are. */
function quoteString(text: string): string {
  const escaped = text
    .replaceAll(/["\\]/g, String.raw`\$&`)
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/[\u0000-\u001f\u007f]/g, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return `"${escaped}"`;
}

/** As a regular expression. */
const literalForm = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** Of ASCII's letters: the names that matter have no others. */
const anyCase = (text: string): string =>
  literalForm(text).replaceAll(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);

/**
 * What any program needs to run at all. Left out on purpose: the keychain (com.apple.SecurityServer, securityd), Apple
 * events and services that open things outside, shared memory, terminals, hard links, and variables of the kernel that
 * tell of other processes.
 */
const baseRules: readonly string[] = [
  "(version 1)",
  "(deny default)",
  "(allow process-exec process-fork)",
  "(allow process-info* signal (target same-sandbox))",
  "(allow ipc-posix-sem)",
  '(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))',
  '(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))',
  "(allow mach-lookup",
  ...[
    "com.apple.bsd.dirhelper",
    "com.apple.logd",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
  ].map((name) => `  (global-name "${name}")`),
  ")",
  "(allow sysctl-read",
  ...[
    "hw.activecpu hw.byteorder hw.cacheconfig hw.cachelinesize hw.cpufamily hw.cputype hw.logicalcpu hw.logicalcpu_max",
    "hw.machine hw.memsize hw.model hw.ncpu hw.nperflevels hw.pagesize hw.physicalcpu hw.physicalcpu_max",
    "kern.argmax kern.hostname kern.maxfiles kern.maxfilesperproc kern.maxproc kern.ngroups kern.osproductversion",
    "kern.osrelease kern.ostype kern.osversion kern.secure_kernel kern.usrstack64 kern.version sysctl.proc_cputype",
    "vm.loadavg",
  ].flatMap((line) => line.split(" ").map((name) => `  (sysctl-name "${name}")`)),
  ...["hw.optional.", "hw.perflevel", "machdep.cpu."].map((prefix) => `  (sysctl-name-prefix "${prefix}")`),
  ")",
  "(allow file-ioctl file-read* file-write-data",
  ...["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper"].map(
    (path) => `  (literal "${path}")`,
  ),
  '  (subpath "/dev/fd")',
  ")",
];
