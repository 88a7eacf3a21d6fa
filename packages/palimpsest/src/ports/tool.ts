import type { EntryId, Millis, ToolUseId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { SandboxStrength } from "./sandbox.ts";

/** Something the agent can do. Definitions are part of the cached prefix, so they stay the same for a whole session. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input, as shown to the model. */
  readonly inputSchema: JsonObject;
  /** `read`: changes nothing, may run concurrently. `write`: one at a time, in order. */
  readonly effect: "read" | "write";
  /** Longer results are offloaded. Absent: the layer's own limit. */
  readonly resultCharsMax?: number;
  /** Its output comes from a file, so it is never offloaded again. */
  readonly offload?: "never";
  /** The name that hooks see for a call with this input, if the tool's name does not say what is called. */
  readonly knownAs?: (input: JsonObject) => string | undefined;
  /** Returns what a rule or the user decides about, before anything runs. The model is told of wrong input. */
  plan(input: JsonObject, context: ToolContext): Promise<ToolPlan>;
}

export type ToolPlan =
  | { readonly kind: "ready"; readonly acts: readonly ToolAction[]; run(signal: AbortSignal): Promise<ToolOutcome> }
  /** The input is wrong, or names something that does not exist: the model is told and nothing runs. */
  | { readonly kind: "wrong"; readonly message: string };

/** One thing that a run would touch. Each needs permission. Paths are real paths. */
export type ToolAction =
  /**
   * `ofCommand`: the index of the simple command, in the shell line of the same call, that reads it; counted as the
   * parser does.
   */
  | { readonly kind: "read"; readonly path: string; readonly ofCommand?: number }
  /**
   * `byShell`: written by a command of the shell line of the same call; `below`: includes everything in it, if it is a
   * folder.
   */
  | { readonly kind: "write"; readonly path: string; readonly byShell?: { readonly reach: "itself" | "below" } }
  | ShellAction
  /** A request to a host on the network. `host` is normalised and has no port. */
  | { readonly kind: "fetch"; readonly url: string; readonly host: string }
  /** A call of a server's tool. Only the server knows what it does. */
  | { readonly kind: "mcp"; readonly server: string; readonly tool: string }
  /** `skill`: the skill that is called. */
  | { readonly kind: "state"; readonly what: string; readonly skill?: string };

export interface ShellAction {
  readonly kind: "shell";
  readonly command: string;
  /** The shell parser's verdict; `unknown` if it can't tell. */
  readonly effect: "read-only" | "unknown";
  /** `literal`: the shell expands nothing in it. Absent: it may. */
  readonly words?: "literal";
  /** `known`: the other acts of the call name everything that its harmless commands read. `unclear`: perhaps not everything. */
  readonly reads: "known" | "unclear";
  /** `known`: the other acts of the call name everything that programs known to change files would change. */
  readonly writes: "known" | "unclear";
  /** Absent: not analysed, so it may show any file. */
  readonly shows?: ShellDisclosure;
  /** The sandbox that the operating system will enforce. Absent: not determined. */
  readonly strength?: SandboxStrength;
  /** Why the model wants to run it outside the sandbox, in its own words. Absent: it does not want to. */
  readonly outsideReason?: string;
}

/** The files whose contents a shell line may show. Unlike the `read` acts, this includes files shown by unknown programs. */
export interface ShellDisclosure {
  readonly files: readonly DisclosedFile[];
  /** `perhaps`: other files too, through words that only the shell can expand, from the history, or by a program in the line. */
  readonly others: "none" | "perhaps";
}

export interface DisclosedFile {
  /** A real path, or a path from a repository's history. */
  readonly path: string;
  /** `below`: includes everything in it, if it is a folder. */
  readonly reach: "itself" | "below";
  /** `perhaps`: the word that names it may mean something else. */
  readonly sight: "sure" | "perhaps";
}

export interface ToolOutcome {
  readonly content: string | readonly JsonObject[];
  readonly isError?: boolean;
  /** One line for the user. */
  readonly summary: string;
}

export interface ToolContext {
  readonly toolUse: ToolUseId;
  readonly cwd: string;
  readonly files: ReadFiles;
  readonly now: Millis;
}

/** The files that the agent has read, and in which state: an edit needs an earlier read, and a changed file a new one. */
export interface ReadFiles {
  get(path: string): ReadFile | undefined;
  set(path: string, read: ReadFile): void;
  delete(path: string): void;
  /** An independent copy for a fork. */
  copy(): ReadFiles;
  entries(): Iterable<readonly [string, ReadFile]>;
}

export interface ReadFile {
  /** Of the file's bytes when it was read or written. */
  readonly hash: string;
  readonly modifiedMs: number;
  /** Lines shown, counted from 1; undefined: the whole file. */
  readonly lines?: { readonly from: number; readonly to: number };
  /**
   * The call whose result shows the file, or the attachment that restored it after a boundary. While that is in the
   * view, a repeated read need not show the file again.
   */
  readonly shownBy: ToolUseId | EntryId;
}

export type PermissionVerdict =
  | { readonly kind: "allowed" }
  /** `reason` is for the model. */
  | { readonly kind: "denied"; readonly reason: string }
  /**
   * The user has to decide; without a user it is denied. `suggestedRules`: the rules that together would have allowed
   * it. `answeredBy`: present if no hook may answer in the user's place.
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
  /** Puts rules that the user granted into force from the next request on. Must not reject. */
  readonly allowAlways: (grant: AllowRuleGrant) => Promise<AllowRuleOutcome>;
  /** One line that tells the user, before the grant, what happens to rules that are granted for the project. Must not reject. */
  readonly describeProjectRule?: () => Promise<string>;
}

export interface AllowRuleGrant {
  readonly rules: readonly string[];
  /** `session`: in memory, while the session is open. `project`: also saved in the user's own settings, for this project. */
  readonly scope: "session" | "project";
}

export type AllowRuleOutcome =
  /** `warning`: for the user, for example that the rules could not be saved. */
  | { readonly kind: "kept"; readonly warning?: string }
  /** One of them is not a valid rule, so none takes effect. */
  | { readonly kind: "wrong"; readonly why: string };

export interface PermissionRequest {
  readonly tool: string;
  readonly input: JsonObject;
  readonly acts: readonly ToolAction[];
}
