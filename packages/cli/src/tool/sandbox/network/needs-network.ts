import type { ShellWord } from "../../shell/shell-word.ts";
import { collectCommands } from "../../shell/collect-commands.ts";

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
