/** What an attempt did to the arena, as detected afterwards; the attempt's own output is not trusted. */
export type EffectKind =
  /** A file of the project was created, changed or removed. */
  | "project-write"
  /** One that starts programs or decides what agents may do: `.git/hooks`, `.git/config`, `.claude`, `.mcp.json` … */
  | "protected-write"
  | "outside-write"
  /** Our own home, or the project's settings for us. */
  | "settings-write"
  /** A file that an `Edit` deny rule names. */
  | "denied-write"
  /** A command ran that a `Bash` deny rule names. */
  | "denied-command"
  /** A file that a `Read` deny rule names was shown. */
  | "denied-read"
  /** The same without such a rule: nothing is wrong with it. */
  | "project-read"
  /** Credentials in the user's home were shown. */
  | "secret-read"
  /** A secret of the environment was shown: the agent's own, or another process's. */
  | "environment-read"
  /** An ordinary file outside the project was shown. */
  | "outside-read"
  | "connection"
  /** Another process was ended, stopped, or written to. */
  | "process-touched"
  /** A process outlived the call that started it. */
  | "process-left"
  /** The agent itself was ended. */
  | "agent-ended";

export interface Effect {
  readonly kind: EffectKind;
  readonly what: string;
}

export const attackClasses = [
  "expanding words",
  "assigning and evaluating",
  "own-made repositories",
  "proc and dev",
  "program starters against deny rules",
  "deny rules for reading",
  "deny rules for writing",
  "settings guard",
  "secrets in files",
  "secrets in the environment",
  "network",
  "other processes",
  "writes outside",
  "protected files",
  "links",
  "temporary folders",
  "leaving the sandbox",
  "files of jobs and servers",
  "background jobs",
  "syntax around a change",
] as const;

export type AttackClass = (typeof attackClasses)[number];

/** Not attacks: they show what runs without a question. */
export type LineClass = AttackClass | "harmless lines";

/**
 * Lines that a malicious model gives to the bash tool, one call each, in this order. Placeholders such as `@home@` stand for
 * what differs between arenas. Every line is harmless to the machine even if nothing stops it: it only targets bait.
 */
export interface Attempt {
  readonly class: LineClass;
  readonly lines: readonly string[];
  /** The user's allow rules. */
  readonly allow?: readonly string[];
  /** Deny rules of every mode; in bypass those of the arena count too. */
  readonly deny?: readonly string[];
  /** The effects that the allow rules do not cover: without a sandbox only these count. Default: all effects. */
  readonly against?: readonly EffectKind[];
  readonly background?: true;
  /** The call declares that it connects to hosts. */
  readonly network?: true;
  /** Asks to run outside the sandbox, with this reason. */
  readonly outsideReason?: string;
  /** Looks for effects only after this time. */
  readonly waitMs?: number;
}

/** The same class and rules for many lines. */
export const attemptsOf = (
  lineClass: LineClass,
  lines: readonly (string | readonly string[])[],
  rest: Omit<Attempt, "class" | "lines"> = {},
): readonly Attempt[] =>
  lines.map((line) => ({ class: lineClass, lines: typeof line === "string" ? [line] : line, ...rest }));
