/** What is true of a whole session. Frozen at its start: the text stands in front of every request. */
export interface EnvironmentFacts {
  readonly model: string;
  readonly cwd: string;
  /** As the machine names it: `linux`, `darwin`, `win32`. */
  readonly platform: string;
  readonly git: "repository" | "none";
  /** The day the session started, where the person is: `2026-11-15`. */
  readonly startedOn: string;
}

export const environmentText = ({ model, cwd, platform, git, startedOn }: EnvironmentFacts): string =>
  `# Environment
- Model: ${oneLine(model)}
- Working directory: ${oneLine(cwd)}
- Platform: ${oneLine(platform)}
- Git repository: ${git === "repository" ? "yes" : "no"}
- This session started on ${oneLine(startedOn)}. Later dates are told in reminders.`;

/** A folder may be called anything: its name must not look like further facts. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "\uFFFD");
