import type { Presence, WorkingTree } from "../../ports/working-tree.ts";
import type { Millis } from "../../schema/brand.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { MemoryText } from "../../ports/memories.ts";
import { driftFreshMs, driftLookupsMax, driftNamesMax, driftTimeMsMax } from "./limits.ts";
import type { DriftFinding } from "./show-memory.ts";
import { parseMemory } from "./memory-text.ts";

export type NamedThing =
  /** `rooted`: its first folder tells that it is meant from the root. `loose`: a name, or the end of a path. */
  | { readonly kind: "file"; readonly name: string; readonly form: "rooted" | "loose" }
  | { readonly kind: "symbol"; readonly name: string }
  | { readonly kind: "command"; readonly name: string; readonly words: readonly string[] };

/**
 * What a text names of a working tree: paths, identifiers and commands in backticks, and paths with a slash and an
 * extension anywhere. Examples, patterns, placeholders, addresses and blocks of code name nothing: a false alarm costs
 * more trust than a missed one.
 */
export function findNamedThings(text: string): readonly NamedThing[] {
  const things = new Map<string, NamedThing>();
  const add = (thing: NamedThing | undefined): void => {
    if (thing !== undefined && things.size < driftNamesMax) things.set(`${thing.kind} ${thing.name}`, thing);
  };
  const prose = text.replaceAll(/^[ \t]*(`{3,}|~{3,})[\s\S]*?^[ \t]*\1[ \t]*$/gm, "");
  for (const line of prose.split("\n")) {
    if (namesNothing.test(line.replaceAll(/`[^`]*`/g, ""))) continue;
    for (const [, verb, code = ""] of line.matchAll(/(\b(?:run|runs|start|with|via)\s+)?`([^`\n]+)`/gi))
      add(readCode(code.trim(), verb === undefined ? "named" : "run"));
    for (const [path] of line.replaceAll(/`[^`\n]*`|\]\([^)]*\)|https?:\/\/\S+/g, " ").matchAll(barePath))
      add(readPath(path.replace(/[.,;:]+$/, "")));
  }
  return [...things.values()];
}

/** Lines about what is gone, is not there yet, or is only an example. */
const namesNothing =
  /\b(?:e\.g\.|for example|such as|like this|deleted|removed|renamed|no longer|used to|was called|formerly|will be|planned|not yet|instead of|never|don't|do not|outside)\b/i;
const barePath = /(?<![\w@:/.~$-])(?:[\w-]+\/)+[\w.-]+\.[a-z][a-z0-9]{0,4}\b(?![\w*{/(-])/g;

type Mention = "named" | "run";

function readCode(code: string, mention: Mention): NamedThing | undefined {
  if (/\s/.test(code)) return readCommand(code, mention);
  return readPath(code) ?? readSymbol(code);
}

function readPath(code: string): NamedThing | undefined {
  const path = code.replace(/(?::\d+(?:[-:]\d+)?|#L?\d+(?:-L?\d+)?)$/, "").replace(/^\.\//, "");
  if (!/^[\w.@+-]+(?:\/[\w.@+-]+)*\/?$/.test(path) || path.includes("..")) return undefined;
  // A package's name, or a tool's own folder, here or in the user's home.
  if (/^[@.]/.test(path) || /(?:^|\/)(?:node_modules|dist|build|out|target|tmp|coverage)(?:\/|$)/.test(path))
    return undefined;
  const hasSlash = path.includes("/");
  const extension = /\.([a-z][a-z0-9]{0,4})$/.exec(path)?.[1];
  if (/^[^/]+\/$/.test(path)) return undefined;
  if (hasSlash && (extension !== undefined || path.endsWith("/")))
    return { kind: "file", name: path.replace(/\/$/, ""), form: "loose" };
  // `origin/main`, `text/html`, `and/or`: a path only if its first folder exists.
  if (hasSlash) return { kind: "file", name: path, form: "rooted" };
  const isSource = extension !== undefined && sourceExtensions.has(extension) && /^[\w-]{3,}(?:\.[\w-]+)+$/.test(path);
  return isSource ? { kind: "file", name: path, form: "loose" } : undefined;
}

/** Of a bare name: other extensions are as often the name of a kind of file (`SKILL.md`) or of a product (`Node.js`). */
const sourceExtensions: ReadonlySet<string> = new Set(
  "ts tsx mts cts jsx mjs cjs py rb go rs java kt swift c h cc cpp hpp cs php scala sh sql vue svelte".split(" "),
);

/** A call, or a name with a capital or an underscore inside: a plain word may be anything. */
function readSymbol(code: string): NamedThing | undefined {
  const [, name, call] = /^([A-Za-z_$][\w$]{4,80})(\(\))?$/.exec(code) ?? [];
  if (name === undefined) return undefined;
  const isJoined = /^[a-z]+[a-z0-9]*[A-Z]\w*$|^(?:[A-Z][a-z0-9]+){2,}$|^[a-z0-9]+(?:_[a-z0-9]+)+$/.test(name);
  return call !== undefined || isJoined ? { kind: "symbol", name } : undefined;
}

function readCommand(code: string, mention: Mention): NamedThing | undefined {
  if (/[<>|&;$*?{}…"'\\]|\.\.\./.test(code)) return undefined;
  const words = code.split(/\s+/);
  const [program = "", second = "", third = ""] = words;
  if (/^(?:npm|pnpm|yarn|bun)$/.test(program) && second === "run" && third !== "")
    return { kind: "command", name: `${program} run ${third}`, words: [program, "run", third] };
  if (/^(?:make|just)$/.test(program) && /^[\w.-]+$/.test(second) && !second.startsWith("-"))
    return { kind: "command", name: `${program} ${second}`, words: [program, second] };
  // "Run `prettier --check src`": certainly meant to be run, and here. Programs of other machines are only named.
  const isProgram =
    mention === "run" &&
    /^[a-z][a-z0-9_-]{1,30}$/.test(program) &&
    words.slice(1).some((word) => /^--?[a-z]/.test(word));
  return isProgram ? { kind: "command", name: program, words: [program] } : undefined;
}

interface DriftDeps {
  readonly tree: WorkingTree;
  /** Whether it is time to stop. */
  readonly isLate: () => boolean;
}

/**
 * What each text names and the tree certainly lacks, in their order; of texts for which there is no time, nothing. All
 * symbols are searched for at once. Bounded by the limits on names.
 */
async function findDriftInTexts(
  texts: readonly string[],
  { tree, isLate }: DriftDeps,
): Promise<readonly (readonly DriftFinding[])[]> {
  const named = texts.map(findNamedThings);
  const symbols = new Set(named.flat().flatMap(({ kind, name }) => (kind === "symbol" ? [name] : [])));
  const found = symbols.size === 0 ? undefined : await tree.findWords?.([...symbols]);
  const driftByText: DriftFinding[][] = [];
  for (const things of named) {
    const findings: DriftFinding[] = [];
    for (const thing of things) {
      if (isLate()) return driftByText;
      if ((await lookUp(thing, { tree, found })) === "missing") findings.push({ kind: thing.kind, name: thing.name });
    }
    driftByText.push(findings);
  }
  return driftByText;
}

export const findDrift = async (text: string, tree: WorkingTree): Promise<readonly DriftFinding[]> =>
  (await findDriftInTexts([text], { tree, isLate: () => false })).flat();

interface LookUpDeps {
  readonly tree: WorkingTree;
  /** The symbols that exist; undefined if they can't be searched for. */
  readonly found: ReadonlySet<string> | undefined;
}

async function lookUp(thing: NamedThing, { tree, found }: LookUpDeps): Promise<Presence> {
  switch (thing.kind) {
    case "file": {
      const direct = await tree.hasPath(thing.name);
      if (direct !== "missing") return direct;
      if (thing.form === "loose") return tree.hasFileEnding(thing.name);
      const parent = thing.name.slice(0, thing.name.indexOf("/"));
      if ((await tree.hasPath(parent)) !== "there") return "unknown";
      return tree.hasFileEnding(thing.name);
    }
    case "symbol":
      return found === undefined ? "unknown" : found.has(thing.name) ? "there" : "missing";
    case "command":
      return tree.hasCommand(thing.words);
  }
}

/** Checks memories against a tree, each text again only after a while. One for a session. */
export class DriftCheck {
  readonly #deps: ClockDep;
  readonly #tree: WorkingTree;
  readonly #foundByHash = new Map<string, { readonly at: Millis; readonly findings: readonly DriftFinding[] }>();

  constructor(deps: ClockDep, tree: WorkingTree) {
    this.#deps = deps;
    this.#tree = tree;
  }

  /** By path; a memory in which nothing is missing is not in it. Texts beyond the limits on lookups and time are not checked. */
  async check(memories: readonly MemoryText[]): Promise<ReadonlyMap<string, readonly DriftFinding[]>> {
    const now = this.#deps.now();
    const stale: { readonly hash: string; readonly text: string }[] = [];
    let lookups = 0;
    for (const { role, hash, text, path } of memories) {
      const known = this.#foundByHash.get(hash);
      if (role !== "memory" || (known !== undefined && now - known.at < driftFreshMs)) continue;
      if (lookups >= driftLookupsMax) break;
      const { body, description } = parseMemory(text, path);
      lookups += findNamedThings(`${description}\n${body}`).length;
      stale.push({ hash, text: `${description}\n${body}` });
    }
    const found = await findDriftInTexts(
      stale.map(({ text }) => text),
      { tree: this.#tree, isLate: () => this.#deps.now() - now > driftTimeMsMax },
    );
    for (const [at, findings] of found.entries()) this.#foundByHash.set(stale[at]?.hash ?? "", { at: now, findings });
    const driftByPath = new Map<string, readonly DriftFinding[]>();
    for (const { hash, path, role } of memories) {
      const findings = role === "memory" ? this.#foundByHash.get(hash)?.findings : undefined;
      if (findings !== undefined && findings.length > 0) driftByPath.set(path, findings);
    }
    return driftByPath;
  }
}
