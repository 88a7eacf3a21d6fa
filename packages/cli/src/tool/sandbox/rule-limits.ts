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
  /** Asked for each command: rules may be written while a session is open. */
  readonly rules: () => Rules;
}

interface RuleLimitsInput {
  readonly act: ShellAction;
  /** What the command names. Rules that ask were asked about it. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** By the folder that is a repository: the project's, and those inside it. */
  readonly gitByFolder: ReadonlyMap<string, GitFolders>;
}

type RuleLimits =
  | {
      readonly kind: "limits";
      readonly hidden: readonly string[];
      /** What the command names of that, where the rule only asks: the user was asked. */
      readonly asked: readonly string[];
      readonly protected: readonly string[];
    }
  | { readonly kind: "refused"; readonly why: string };

type PathRule = Extract<Rule, { kind: "path" }>;

/** What rules about files hold, as paths for the sandbox. One for a session: it keeps what it has read of folders. */
export class RulePathFinder {
  readonly #deps: RuleLimitsDeps;
  readonly #names = new FolderNameCache();
  readonly #history: GitHistory;

  constructor(deps: RuleLimitsDeps) {
    this.#deps = deps;
    this.#history = new GitHistory(deps.env);
  }

  async limits(question: RuleLimitsInput): Promise<RuleLimits> {
    const { roots } = this.#deps;
    const hidden = await this.#paths("read", question.reads);
    if (hidden.kind === "refused") return hidden;
    const covered = hidden.paths.find((path) => roots.some((root) => isInside(root, path)));
    if (covered !== undefined) return refuseLimits("a rule forbids to read the whole project");
    const kept = await this.#paths("write", question.writes);
    if (kept.kind === "refused") return kept;
    const contents = await this.#contents(question);
    return {
      kind: "limits",
      hidden: [...hidden.paths, ...contents],
      asked: hidden.asked,
      protected: [...kept.paths, ...kept.missing],
    };
  }

  async #paths(act: PathRule["act"], named: readonly string[]): Promise<FoundPaths | LimitsRefusal> {
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
    const { deny: denied, ask: askedAbout } = pathsByUse;
    const asked = named.filter((path) => isInsideAny(path, askedAbout) && !isInsideAny(path, denied));
    return { kind: "paths", paths: [...denied, ...askedAbout], asked, missing };
  }

  /** Objects of repositories that hold what is not to be read, unless the line can't show them. */
  async #contents({ act, gitByFolder }: RuleLimitsInput): Promise<readonly string[]> {
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
