import type { ProgramStart, Sandbox, SandboxEntry, SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { isInside } from "../resolve-real-path.ts";
import { sandboxMountsMax, seatbeltProfileBytesMax, seatbeltStringBytesMax } from "./limits.ts";
import { temporaryEnvironment } from "./temporary-folder.ts";
import { proxyEnvironment } from "./network/proxy-environment.ts";

interface SeatbeltDeps {
  /** Path of `sandbox-exec`. */
  readonly program: string;
}

/** macOS confines a program by a profile that it is started with. Nothing is mounted and nothing is left behind. */
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
  const proxiedEnv =
    network.kind === "proxy" && network.way.kind === "loopback" ? proxyEnvironment(network.way.url, env) : env;
  const args = ["-p", profile.text, start.program, ...start.args];
  return { kind: "ready", start: { ...start, program, args, env: proxiedEnv }, leave: async () => undefined };
}

type Profile = { readonly kind: "profile"; readonly text: string } | { readonly kind: "refused"; readonly why: string };

/**
 * The last matching rule wins, so rules for inner paths follow those for outer ones. Rules apply to paths whether or
 * not they exist, so files that don't exist yet are covered too. Pure.
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
  /** The place that contains it. */
  readonly cover: { readonly path: string; readonly access: Access };
}

/** Outer ones first; if a path has two roles, the stricter wins. */
function planPlaces({
  hidden,
  protected: protectedPaths,
  writable,
  shown,
  temporary,
}: SandboxLimits): readonly ProfilePlace[] {
  const roleByPath = new Map<string, Role>();
  const put = (paths: readonly string[], role: Role): void => {
    for (const path of paths) if (!roleByPath.has(path)) roleByPath.set(path, role);
  };
  put(hidden, "hidden");
  put(protectedPaths, "protected");
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

/** Undefined: its cover already provides it. */
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

/** Whether a program could create it, if it does not exist yet. */
const isMakeable = ({ cover }: ProfilePlace): boolean => cover.access === "writable";

const renderNames = (place: ProfilePlace): string =>
  `(subpath ${quoteString(place.path)}) (regex ${quoteString(anyCaseForm(place))})`;

/**
 * On a case-insensitive disk, `.GIT/HOOKS` may be created in place of `.git/hooks`. The covering folder exists and is
 * known by its actual name.
 */
function anyCaseForm({ path, cover }: ProfilePlace): string {
  const start = cover.path === "/" ? "" : cover.path;
  return `^${literalForm(start)}${anyCase(path.slice(start.length))}(/|$)`;
}

/** Makes files shown inside a hidden folder reachable: the folders on the way can be traversed but not listed. */
function traversalRules(held: readonly ProfilePlace[]): readonly string[] {
  const traversed = held.flatMap(({ path, cover, access }) =>
    cover.access === "closed" && access !== "closed" ? foldersBetween(cover.path, path) : [],
  );
  return literalRule("allow file-read-metadata", traversed);
}

/**
 * A rule protects a path only as long as the folders above it keep their names: `mv .git other` would take the hooks to
 * a path without rules. So no folder on the way from a writable one may be renamed, removed or created.
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

/** Includes the outer folder but not the inner one. */
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
        // A daemon resolves host names.
        '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
      ];
  }
}

/** A string literal of the profile language, which is a Scheme: characters beyond ASCII stay as they are. */
function quoteString(text: string): string {
  const escaped = text
    .replaceAll(/["\\]/g, String.raw`\$&`)
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/[\u0000-\u001f\u007f]/g, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return `"${escaped}"`;
}

/** Escapes a text for a regular expression. */
const literalForm = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** Only ASCII letters: the names that matter have no others. */
const anyCase = (text: string): string =>
  literalForm(text).replaceAll(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);

/**
 * What any program needs to run at all. Left out on purpose: the keychain (com.apple.SecurityServer, securityd), Apple
 * events and services that open things outside, shared memory, terminals, hard links, and kernel variables that reveal
 * other processes.
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
