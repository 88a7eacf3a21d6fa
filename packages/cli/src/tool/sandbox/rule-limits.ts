import { dirname } from "node:path";
import type { ShellAction } from "palimpsest/internal/ports/tool";
import { isInside, isInsideAny } from "../resolve-real-path.ts";
import type { RuleRoots, Rule, Rules } from "../permission/rule.ts";
import { findDeniedPaths } from "./denied-paths.ts";
import { FolderNameCache } from "./folder-scanner.ts";
import type { GitFolders } from "./git-folders.ts";
import { GitHistory, mayShowHistory } from "./git-history.ts";

interface RuleLimitsDeps extends RuleRoots {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called for each command: rules may be added while a session is open. */
  readonly rules: () => Rules;
}

interface RuleLimitsInput {
  readonly act: ShellAction;
  /** The files that the command names. Ask rules were already answered for them. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** By repository folder: the project's, and those inside it. */
  readonly gitByFolder: ReadonlyMap<string, GitFolders>;
}

type RuleLimits =
  | {
      readonly kind: "limits";
      readonly hidden: readonly string[];
      /** Hidden files that the command names and only an ask rule covers: the user has allowed them. */
      readonly asked: readonly string[];
      readonly protected: readonly string[];
    }
  | { readonly kind: "refused"; readonly why: string };

type PathRule = Extract<Rule, { kind: "path" }>;

/** Finds the paths that rules about files cover, for the sandbox. One per session, because it caches folders. */
export class RulePathFinder {
  readonly #deps: RuleLimitsDeps;
  readonly #names = new FolderNameCache();
  readonly #history: GitHistory;

  constructor(deps: RuleLimitsDeps) {
    this.#deps = deps;
    this.#history = new GitHistory(deps.env);
  }

  async limits(input: RuleLimitsInput): Promise<RuleLimits> {
    const { roots } = this.#deps;
    const hidden = await this.#findPaths("read", input.reads);
    if (hidden.kind === "refused") return hidden;
    const covered = hidden.paths.find((path) => roots.some((root) => isInside(root, path)));
    if (covered !== undefined) return refuseLimits("a rule forbids to read the whole project");
    const unchanged = await this.#findPaths("write", input.writes);
    if (unchanged.kind === "refused") return unchanged;
    const contents = await this.#findContents(input);
    return {
      kind: "limits",
      hidden: [...hidden.paths, ...contents],
      asked: hidden.asked,
      protected: [...unchanged.paths, ...unchanged.missing],
    };
  }

  async #findPaths(act: PathRule["act"], named: readonly string[]): Promise<FoundPaths | LimitsRefusal> {
    const { roots, home, rules } = this.#deps;
    const { deny, ask } = rules();
    const pathsByUse = { deny: [] as string[], ask: [] as string[] };
    const missing: string[] = [];
    for (const [rule, use] of [
      ...deny.map((one) => [one, "deny"] as const),
      ...ask.map((one) => [one, "ask"] as const),
    ]) {
      if (rule.kind !== "path" || rule.act !== act) continue;
      const found = await findDeniedPaths({ names: this.#names }, { pattern: rule.pattern, roots, home });
      if (found.kind === "too-many") {
        if (roots.some((root) => isInside(root, found.folder)))
          return refuseLimits(
            `the rule ${rule.text} is for files of any folder in ${found.folder}, which holds too many to look at`,
          );
        pathsByUse[use].push(found.folder);
        continue;
      }
      const isAsked = (path: string): boolean => use === "ask" && isInsideAny(path, named);
      pathsByUse[use].push(...found.paths.filter((path) => !isAsked(path)));
      missing.push(...found.missing.filter((path) => !isAsked(path)));
    }
    const { deny: byDenyRules, ask: byAskRules } = pathsByUse;
    const asked = named.filter((path) => isInsideAny(path, byAskRules) && !isInsideAny(path, byDenyRules));
    return { kind: "paths", paths: [...byDenyRules, ...byAskRules], asked, missing };
  }

  /** Object folders of repositories that hold hidden files, unless the line can't show them. */
  async #findContents({ act, gitByFolder }: RuleLimitsInput): Promise<readonly string[]> {
    const { roots, home, rules } = this.#deps;
    const patterns = rules().deny.flatMap((rule) =>
      rule.kind === "path" && rule.act === "read" ? [rule.pattern ?? "**"] : [],
    );
    if (patterns.length === 0) return [];
    const found = await Promise.all(
      [...gitByFolder].map(async ([root, { contents, hooks }]) => {
        const [objects] = contents;
        if (objects === undefined) return [];
        const repository = dirname(objects);
        if (!(await mayShowHistory(act, hooks))) return [];
        return (await this.#history.holds({ root, repository, patterns, roots, home })) ? contents : [];
      }),
    );
    return found.flat();
  }
}

interface FoundPaths extends Pick<Extract<RuleLimits, { kind: "limits" }>, "asked"> {
  readonly kind: "paths";
  readonly paths: readonly string[];
  readonly missing: readonly string[];
}

type LimitsRefusal = Extract<RuleLimits, { kind: "refused" }>;

const refuseLimits = (why: string): LimitsRefusal => ({ kind: "refused", why });
