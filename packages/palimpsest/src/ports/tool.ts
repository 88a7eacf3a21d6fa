import type { EntryId, Millis, ToolUseId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { SandboxStrength } from "./sandbox.ts";

/** Something the agent can do. Definitions are part of the cached prefix: the same for a whole session. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input, as the model is shown it. */
  readonly inputSchema: JsonObject;
  /** `read`: changes nothing, may run beside others. `write`: one at a time, in order. */
  readonly effect: "read" | "write";
  /** Longer results are offloaded; the layer's own limit where it is absent. */
  readonly resultCharsMax?: number;
  /** Its output is a file read back: never offloaded again. */
  readonly offload?: "never";
  /** By which hooks know a call with this input, where the name of the tool does not tell what is called. */
  readonly knownAs?: (input: JsonObject) => string | undefined;
  /** What a rule or a person decides about, before anything runs. Wrong input is told to the model. */
  plan(input: JsonObject, context: ToolContext): Promise<ToolPlan>;
}

export type ToolPlan =
  | { readonly kind: "ready"; readonly acts: readonly ToolAction[]; run(signal: AbortSignal): Promise<ToolOutcome> }
  /** The input is wrong, or what it names is not there: the model is told and nothing runs. */
  | { readonly kind: "wrong"; readonly message: string };

/** What running it would touch: permission is asked for each. Paths are real paths. */
export type ToolAction =
  /** `ofCommand`: read by this simple command of the shell line beside it, counted as its parser does. */
  | { readonly kind: "read"; readonly path: string; readonly ofCommand?: number }
  /** `byShell`: by a command of the shell line beside it; `below`: and whatever lies in it, where it is a folder. */
  | { readonly kind: "write"; readonly path: string; readonly byShell?: { readonly reach: "itself" | "below" } }
  | ShellAction
  /** Something is asked of a host of the net; `host` in its one spelling, without a port. */
  | { readonly kind: "fetch"; readonly url: string; readonly host: string }
  /** A tool of a server is called: what that does only the server knows. */
  | { readonly kind: "mcp"; readonly server: string; readonly tool: string }
  /** `skill`: the one that is called for. */
  | { readonly kind: "state"; readonly what: string; readonly skill?: string };

export interface ShellAction {
  readonly kind: "shell";
  readonly command: string;
  /** What a parser of the shell language found it to be; `unknown` where it can't tell. */
  readonly effect: "read-only" | "unknown";
  /** `literal`: the shell expands nothing in it. Absent: it may. */
  readonly words?: "literal";
  /** `told`: the acts beside it name everything that its harmless commands read. `unclear`: perhaps not everything. */
  readonly reads: "told" | "unclear";
  /** `told`: the acts beside it name everything that programs which are known to change files would change. */
  readonly writes: "told" | "unclear";
  /** Absent: nobody has looked, so it may show any file. */
  readonly shows?: ShellDisclosure;
  /** What the operating system will hold it to. Absent: nobody has looked. */
  readonly strength?: SandboxStrength;
  /** Why the model wants it outside of the sandbox, in its own words. Absent: it does not. */
  readonly outsideReason?: string;
}

/** Whose contents a shell line may show. Unlike the `read` acts beside it also by programs that are not known. */
export interface ShellDisclosure {
  readonly files: readonly DisclosedFile[];
  /** `perhaps`: others too, by words that only the shell knows, from the history, or by a program in the line. */
  readonly others: "none" | "perhaps";
}

export interface DisclosedFile {
  /** A real path, or one that a repository once had. */
  readonly path: string;
  /** `below`: and whatever lies in it, if it is a folder. */
  readonly reach: "itself" | "below";
  /** `perhaps`: the word that names it may mean something else. */
  readonly sight: "sure" | "perhaps";
}

export interface ToolOutcome {
  readonly content: string | readonly JsonObject[];
  readonly isError?: boolean;
  /** For people: one line. */
  readonly summary: string;
}

export interface ToolContext {
  readonly toolUse: ToolUseId;
  readonly cwd: string;
  readonly files: ReadFiles;
  readonly now: Millis;
}

/** Which files the agent has seen, in which state: an edit needs a read before it, and a changed file a fresh one. */
export interface ReadFiles {
  get(path: string): ReadFile | undefined;
  set(path: string, read: ReadFile): void;
  delete(path: string): void;
  /** A fork's own. */
  copy(): ReadFiles;
  entries(): Iterable<readonly [string, ReadFile]>;
}

export interface ReadFile {
  /** Of the file's bytes when it was read or written. */
  readonly hash: string;
  readonly modifiedMs: number;
  /** Lines shown, from 1; undefined: all of it. */
  readonly lines?: { readonly from: number; readonly to: number };
  /**
   * The call whose result shows it, or the attachment that put it back behind a boundary: as long as that is in the view,
   * a repeated read need not show it again.
   */
  readonly shownBy: ToolUseId | EntryId;
}

export type PermissionVerdict =
  | { readonly kind: "allowed" }
  /** `reason` is told to the model. */
  | { readonly kind: "denied"; readonly reason: string }
  /**
   * A person has to decide; without one it is denied. `suggestedRules`: those that would have allowed it together.
   * `answeredBy`: present where no hook may answer in the user's place.
   */
  | {
      readonly kind: "ask";
      readonly reason: string;
      readonly suggestedRules?: readonly string[];
      readonly answeredBy?: "user";
    };

export interface PermissionDep {
  /** Must not reject. */
  readonly permit: (request: PermissionRequest) => Promise<PermissionVerdict>;
}

export interface AllowRuleDep {
  /** Makes rules that a person gave count from the next request on. Must not reject. */
  readonly allowAlways: (leave: AllowRuleGrant) => Promise<AllowRuleOutcome>;
  /** What becomes of those that are given for the project, a line for the person who is about to give it. Must not reject. */
  readonly describeProjectRule?: () => Promise<string>;
}

export interface AllowRuleGrant {
  readonly rules: readonly string[];
  /** `session`: in memory, as long as the session is open. `project`: also in the user's own settings, for the project. */
  readonly scope: "session" | "project";
}

export type AllowRuleOutcome =
  /** `warning`: what a person should know of it, as that it could not be written down. */
  | { readonly kind: "kept"; readonly warning?: string }
  /** One of them is no rule: none counts. */
  | { readonly kind: "wrong"; readonly why: string };

export interface PermissionRequest {
  readonly tool: string;
  readonly input: JsonObject;
  readonly acts: readonly ToolAction[];
}
