import { resolve } from "node:path";
import type { SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { isInside, isInsideAny } from "../resolve-real-path.ts";
import type { ShellWord } from "../shell/shell-word.ts";
import { collectCommands } from "../shell/collect-commands.ts";

interface FailedCommand {
  /** Its output, or the end of it. */
  readonly output: string;
  readonly cwd: string;
  readonly limits: Pick<SandboxLimits, "strength" | "writable" | "hidden" | "shown">;
}

/**
 * A note about a command that failed because the sandbox refused something, judging by the end of its output; undefined
 * if it failed for another reason. `networkFailureNote` covers a refused network. Pure.
 */
export function sandboxFailureNote(failed: FailedCommand): string | undefined {
  const output = failed.output.slice(-lastCharsLooked);
  const refusal = causes.map((cause) => cause({ ...failed, output })).find((one) => one !== undefined);
  return (
    refusal &&
    `the sandbox refused it: ${refusal}. If that is needed, call it again with outside_sandbox: the user is asked`
  );
}

/** Programs report errors at the end of their output: a few kilobytes. */
const lastCharsLooked = 8_000;

type Cause = (failed: FailedCommand) => string | undefined;

const notStarted: Cause = ({ output }) => {
  const message = /^bwrap: (.+)\n?$/.exec(output.trim())?.[1];
  return message && `the command was not started (${message})`;
};

/** Programs change a file by writing, replacing or renaming it, and a mount refuses each with another message. */
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

/** Git does not recognise a repository whose objects are hidden. */
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

/** If a program does not name the file. */
const unnamed = "a file";

/** The path in the last matching line: in quotes, or before the message. */
function findNamedPath(output: string, errorForm: RegExp): string | undefined {
  const line = output
    .split("\n")
    .findLast((one) => errorForm.test(one))
    ?.trim();
  if (line === undefined) return undefined;
  const quoted = [...line.matchAll(/['"‘“`]([^'"’”`]*[/.][^'"’”`]*)['"’”`]/g)].map(([, path]) => path);
  const moved = /'([^']+)' to '[^']+'/.exec(line)?.[1];
  const before = line.slice(0, errorForm.exec(line)?.index).match(/(?:^|[\s(])([^\s:('"]+):\s*[^:]*$/)?.[1];
  return moved ?? quoted.at(-1) ?? before ?? (/(\/[^\s:'"]+)/.exec(line)?.[1] || unnamed);
}

/**
 * A note about a command that failed because it had no network, judging by the end of its output; undefined if it
 * failed for another reason. Pure.
 */
export const networkFailureNote = (output: string): string | undefined =>
  networkFailureForm.test(output.slice(-networkCharsLooked)) ? missingNetwork : undefined;

const missingNetwork =
  "commands in the sandbox have no network; if this one needs it, run it with network: true, and rules or the user decide about each host";

/** Programs report errors at the end of their output: a few kilobytes. */
const networkCharsLooked = 8_000;

/** Messages of the system and of programs if a name can't be resolved or an address not reached. */
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

/**
 * Whether a line runs a program that is known to need the network, so that it can reach the proxy without requesting
 * it. This allows nothing by itself: each host is decided separately. A line that declares that it needs the network
 * counts whatever it runs. Pure.
 */
export const needsNetwork = (command: string): boolean => collectCommands(command).commands.some(isNetworkProgram);

function isNetworkProgram([name, ...args]: readonly ShellWord[]): boolean {
  if (name?.kind !== "plain") return false;
  const program = name.value.slice(name.value.lastIndexOf("/") + 1);
  if (/^python(?:\d(?:\.\d+)?)?$/.test(program)) {
    const module = args.findIndex(({ value }) => value === "-m");
    return module !== -1 && isNetworkProgram(args.slice(module + 1));
  }
  const [verb = ""] = args.flatMap(({ value }) => (value.startsWith("-") ? [] : [value]));
  return anyUse.has(program) || verbsByProgram.get(program)?.has(verb) === true;
}

const anyUse: ReadonlySet<string> = new Set(
  (
    "aria2c bunx composer corepack curl gh glab http https mvn mvnw npx nuget pipx pnpx uvx wget xh yarnpkg " +
    "gradle gradlew pod rebar3"
  ).split(" "),
);

/** The program's first arguments that need the network; an empty word stands for none. */
const verbListByProgram: Readonly<Record<string, string>> = {
  bun: "add create i install outdated publish update upgrade x",
  bundle: "add install lock outdated update",
  cabal: "build get install test update",
  cargo: "add bench build check clippy doc fetch install publish run search test update",
  conda: "create env install search update",
  dart: "pub",
  deno: "add cache install run test upgrade",
  dotnet: "add build publish restore run test tool",
  flutter: "build pub run test",
  gem: "fetch install search update",
  git: "clone fetch lfs ls-remote pull push submodule",
  go: "build generate get install list mod run test tool vet work",
  helm: "dependency pull repo search",
  mamba: "create env install search update",
  mix: "deps.get deps.update do hex.info local.hex local.rebar",
  npm: "add audit ci create exec fund i in info init install install-test it outdated ping pkg publish search show up update upgrade view whoami x",
  opam: "install update upgrade",
  pdm: "add install lock sync update",
  pip: "download index install search wheel",
  pip3: "download index install search wheel",
  playwright: "install",
  pnpm: "add audit create dlx fetch i import info init install install-test it outdated publish up update upgrade view",
  poetry: "add install lock publish search update",
  rustup: "component install target toolchain update",
  sbt: "compile run test update",
  stack: "build install test update",
  swift: "build package run test",
  terraform: "get init providers",
  uv: "add lock pip python run self sync tool venv",
  yarn: " add audit create dlx info init install npm outdated up upgrade",
};

const verbsByProgram: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(verbListByProgram).map(([program, verbs]) => [program, new Set(verbs.split(" "))] as const),
);
