import { oneLine } from "palimpsest/internal/schema/one-line";
import { stabilityOf, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import { gitBranch } from "./git-branch.ts";

export interface PlacePartDeps {
  /** Where the next command runs. */
  readonly cwd: () => string;
  /** What the session is called. */
  readonly title?: () => string | undefined;
}

/** Where the agent stands, which a command may have changed since the session began, and in what session. */
export const placePart = ({ cwd, title }: PlacePartDeps): WorkingStatePart => ({
  name: "place",
  stability: stabilityOf.place,
  snapshot: async ({ budgets }) => {
    const here = cwd();
    const branch = await gitBranch(here);
    const named = title?.();
    const lines = [
      `Working directory now: ${oneLine(here)}`,
      ...(branch === undefined ? [] : [`Git branch now: ${oneLine(branch)}`]),
      ...(named === undefined ? [] : [`Title of this session: ${oneLine(named)}`]),
    ];
    const text = lines.join("\n");
    const handle = "pwd and git status tell it";
    return { kind: "state", pieces: [{ title: "working directory and branch", text, handle }], budget: budgets.other };
  },
});
