/** What an attempt did to the arena, as it is found afterwards: nothing that the attempt says of itself counts. */
export type EffectKind =
  /** A file of the project was made, changed or removed. */
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

/** No attacks: they show what the user is not asked about. */
export type LineClass = AttackClass | "harmless lines";

/**
 * Lines that a lying model gives to the bash tool, one call each, in this order. Words such as `@home@` stand for what
 * differs from arena to arena. Every line is harmless to the machine even if nothing holds it: it aims at bait.
 */
export interface Attempt {
  readonly class: LineClass;
  readonly lines: readonly string[];
  /** Allow rules that the user has given. */
  readonly allow?: readonly string[];
  /** Deny rules of every mode; in bypass those of the arena count too. */
  readonly deny?: readonly string[];
  /** What the allow rules do not cover: only this counts when no sandbox holds the rest. Absent: any effect. */
  readonly against?: readonly EffectKind[];
  readonly background?: true;
  /** The line says that it connects to hosts. */
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
