import type { Style } from "../text/style.ts";

/** The result of one check. `warning`: it works, but not as it should. `failed`: something will not work. */
export interface Check {
  readonly name: string;
  readonly state: "fine" | "warning" | "failed";
  /** One line. */
  readonly says: string;
  /** One line: what to do about it. */
  readonly todo?: string;
}

export const okCheck = (name: string, says: string): Check => ({ name, state: "fine", says });
export const warningCheck = (name: string, text: CheckText): Check => ({ name, state: "warning", ...text });
export const failingCheck = (name: string, text: CheckText): Check => ({ name, state: "failed", ...text });

type CheckText = Pick<Check, "says" | "todo">;

export function checksText(checks: readonly Check[], style: Style): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap(({ name, state, says, todo }) => [
    `${style(colours[state], signs[state])} ${name.padEnd(width)}  ${says}`,
    ...(todo === undefined ? [] : [`${" ".repeat(width + 4)}${style("dim", `→ ${todo}`)}`]),
  ]);
  return `${lines.join("\n")}\n${verdictText(checks)}\n`;
}

const signs = { fine: "✓", warning: "!", failed: "✗" } as const;
const colours = { fine: "green", warning: "yellow", failed: "red" } as const;

function verdictText(checks: readonly Check[]): string {
  const count = (state: Check["state"]): number => checks.filter((check) => check.state === state).length;
  if (count("failed") > 0) return `${count("failed")} of ${checks.length} failed`;
  return count("warning") > 0 ? "it works, with warnings" : "all is well";
}
