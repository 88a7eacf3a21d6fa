import { oneLine } from "palimpsest/internal/schema/one-line";
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

/** The day where the user is, as the system prompt and reminders name it: `2026-11-15`. */
export const localDay = (at: number): string => new Date(at).toLocaleDateString("sv-SE");

/** Of a day in that form. */
export const weekday = (day: string): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString("en-US", { weekday: "long", timeZone: "UTC" });
