import { dirname } from "node:path";
import type { Act, PermissionRequest } from "../../ports/tools.ts";
import { isInside } from "../inside.ts";
import { parseLine } from "../shell/line.ts";
import { decide, type Policy } from "./decide.ts";
import { literal, parseRules } from "./rule.ts";

/**
 * A rule that a person may want to give for good: one by which this very request would have been allowed. Undefined where
 * no single rule is, as for files that hold the rules. Pure.
 */
export function suggestedRule(policy: Policy, request: PermissionRequest): string | undefined {
  return candidates(policy, request).find((rule) => {
    const { rules } = parseRules({ allow: [rule] });
    const widened = { ...policy.rules, allow: [...policy.rules.allow, ...rules.allow] };
    return decide({ ...policy, rules: widened }, request).kind === "allowed";
  });
}

/** Narrow ones first, but for what nobody wants to allow one by one. */
function candidates(policy: Policy, { tool, acts }: PermissionRequest): readonly string[] {
  const own = acts.flatMap((act) => candidatesFor(policy, act));
  // The name of a tool that touches files or runs commands would be a leave for all of them.
  return acts.every(({ kind }) => kind === "state") ? [...own, tool] : own;
}

function candidatesFor(policy: Policy, act: Act): readonly string[] {
  switch (act.kind) {
    case "read":
      return pathRules(act.path, policy).map((pattern) => `Read(${pattern})`);
    case "write":
      return act.byShell === undefined ? pathRules(act.path, policy).map((pattern) => `Edit(${pattern})`) : [];
    case "shell":
      return commandRules(act.command);
    case "fetch":
      return namesOne(act.host) ? [`WebFetch(domain:${act.host})`] : [];
    case "mcp":
      return namesOne(act.server) && namesOne(act.tool) ? [`mcp__${act.server}__${act.tool}`] : [];
    case "state":
      return [];
  }
}

/** In a rule a `*` stands for others. */
const namesOne = (name: string): boolean => !name.includes("*");

/**
 * Everything in a file's folder; only the file where its folder is a project's, or where the file is outside the project
 * or beside hidden ones. None for what holds keys or decides what programs run: a person looks at each use.
 */
function pathRules(path: string, { roots }: Policy): readonly string[] {
  const [root = "/"] = roots;
  const isOwn = isInside(path, root) && root !== "/";
  const names = (isOwn ? path.slice(root.length) : path).split("/").filter((name) => name !== "");
  if (names.some((name) => secretForm.test(name))) return [];
  const named = (whole: string): string => literal(isOwn ? whole.slice(root.length) : `/${whole}`);
  const folder = dirname(path);
  const isNarrow = !isOwn || names.some((name) => name.startsWith(".")) || roots.some((one) => isInside(one, folder));
  return [isNarrow ? named(path) : `${named(folder)}/**`];
}

/** Repositories' own files, and files in which keys are kept. */
const secretForm =
  /^(?:\.git|\.ssh|\.gnupg|\.aws|\.netrc|\.npmrc|\.pypirc|\.env(?:\..+|rc)?|id_(?:rsa|dsa|ecdsa|ed25519).*|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx)|.*credentials.*|.*secrets?(?:\..+)?)$/i;

/**
 * Of these any use is like any other: they build and test what stands in the project, or put it into the repository. Of
 * every other command the very line is offered; what only reads needs no leave, but for uses that do more.
 */
const likeEachOther: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["cargo", new Set(["build", "check", "clippy", "doc", "fmt", "test"])],
  ["git", new Set(["add", "commit"])],
  ["go", new Set(["build", "test", "vet"])],
  ["npm", new Set(["test"])],
  ["pnpm", new Set(["test"])],
  ["yarn", new Set(["test"])],
]);

/** `git add:*` and the like where any use is like any other; else the very line. */
function commandRules(command: string): readonly string[] {
  const line = parseLine(command);
  if (line.kind === "unclear" || line.commands.length === 0) return [];
  const verbs = line.commands.flatMap(({ words }) => {
    if (words.some(({ kind }, index) => index < 2 && kind !== "plain")) return [];
    const [program = "", verb = ""] = words.map(({ value }) => value);
    return likeEachOther.get(program)?.has(verb) === true ? [`Bash(${program} ${verb}:*)`] : [];
  });
  return [...verbs, ...(/[*\n()]/.test(command) ? [] : [`Bash(${command.trim()})`])];
}
