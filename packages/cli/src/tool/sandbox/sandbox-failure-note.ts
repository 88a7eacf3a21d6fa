import { resolve } from "node:path";
import type { SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { isInside, isInsideAny } from "../resolve-real-path.ts";

interface FailedCommand {
  /** What it wrote, or the end of it. */
  readonly output: string;
  readonly cwd: string;
  readonly limits: Pick<SandboxLimits, "strength" | "writable" | "hidden" | "shown">;
}

/**
 * What to tell of a command that failed because the sandbox refused something, as far as its last words show; undefined:
 * it failed by something else. A refused network is told by `networkFailureNote`. Pure.
 */
export function sandboxFailureNote(failed: FailedCommand): string | undefined {
  const output = failed.output.slice(-lastCharsLooked);
  const what = causes.map((cause) => cause({ ...failed, output })).find((one) => one !== undefined);
  return (
    what && `the sandbox refused it: ${what}. If that is needed, call it again with outside_sandbox: the user is asked`
  );
}

/** What programs say at their end: some kilobytes. */
const lastCharsLooked = 8_000;

type Cause = (failed: FailedCommand) => string | undefined;

const notStarted: Cause = ({ output }) => {
  const said = /^bwrap: (.+)\n?$/.exec(output.trim())?.[1];
  return said && `the command was not started (${said})`;
};

/** Programs change a file by writing, replacing or renaming it: a mount refuses each in other words. */
const notWritable: Cause = ({ output, cwd, limits: { strength, writable } }) => {
  const path = findNamedPath(
    output,
    /read-only file system|EROFS|device or resource busy|EBUSY|\b(?:Errno|error) 30\b/i,
  );
  if (path === undefined) return undefined;
  if (strength === "read-only") return `${path} can't be written by a command that runs without a question`;
  return path !== unnamed && isInsideAny(resolve(cwd, path), writable)
    ? `${path} can't be changed, because other programs run what it says or a rule forbids it`
    : `${path} can't be written, only the project and the temporary folder can`;
};

const hiddenFile: Cause = ({ output, cwd, limits }) => {
  const path = findNamedPath(output, /permission denied|EACCES/i);
  if (path === undefined) return undefined;
  const longest = (places: readonly string[]): number =>
    Math.max(-1, ...places.filter((one) => isInside(resolve(cwd, path), one)).map((one) => one.length));
  return longest(limits.hidden) > longest(limits.shown) ? `${path} is hidden from commands` : undefined;
};

/** A repository whose objects can't be reached is none for git. */
const historyHidden: Cause = ({ output, limits }) =>
  /not a git repository/i.test(output) && limits.hidden.some((path) => path.endsWith("/objects"))
    ? "the repository's history holds files that a deny rule hides, so git can't read it here"
    : undefined;

const socketDenied: Cause = ({ output }) =>
  /\b(?:listen|bind|connect|socket)\b[^\n]*(?:EPERM|operation not permitted)|(?:EPERM|operation not permitted)[^\n]*\bsocket/i.test(
    output,
  )
    ? "it can't open Unix sockets"
    : undefined;

const causes: readonly Cause[] = [notStarted, notWritable, historyHidden, hiddenFile, socketDenied];

/** Where a program does not say which. */
const unnamed = "a file";

/** The path in the last line that says so: in quotes, or before the words. */
function findNamedPath(output: string, words: RegExp): string | undefined {
  const line = output
    .split("\n")
    .findLast((one) => words.test(one))
    ?.trim();
  if (line === undefined) return undefined;
  const quoted = [...line.matchAll(/['"‘“`]([^'"’”`]*[/.][^'"’”`]*)['"’”`]/g)].map(([, path]) => path);
  const moved = /'([^']+)' to '[^']+'/.exec(line)?.[1];
  const before = line.slice(0, words.exec(line)?.index).match(/(?:^|[\s(])([^\s:('"]+):\s*[^:]*$/)?.[1];
  return moved ?? quoted.at(-1) ?? before ?? (/(\/[^\s:'"]+)/.exec(line)?.[1] || unnamed);
}

/**
 * What to tell of a command that had no network and failed by it, as far as its last words show; undefined: it failed
 * by something else. Pure.
 */
export const networkFailureNote = (output: string): string | undefined =>
  networkFailureForm.test(output.slice(-networkCharsLooked)) ? missingNetwork : undefined;

const missingNetwork =
  "commands in the sandbox have no network; if this one needs it, run it with network: true, and rules or the user decide about each host";

/** What programs say at their end: some kilobytes. */
const networkCharsLooked = 8_000;

/** As the system and programs call it when no name can be looked up and no address is reached. */
const networkFailureForm = new RegExp(
  [
    String.raw`Could not resolve (?:host|proxy)`,
    "Temporary failure in name resolution",
    "Name or service not known",
    "nodename nor servname provided",
    "getaddrinfo",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
    "Network is unreachable",
    "No route to host",
    "network is unreachable",
    "no such host",
    "dial (?:tcp|udp)",
    "failed to lookup address",
    "unable to resolve host",
    "Failed to establish a new connection",
    "UnknownHostException",
  ].join("|"),
);
