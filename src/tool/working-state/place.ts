import { stabilityOf, type WorkingStatePart } from "../../ports/working-state.ts";
import { gitBranch } from "./git-branch.ts";

export interface PlacePartDeps {
  /** Where the next command runs. */
  readonly cwd: () => string;
}

/** Where the agent stands, which a command may have changed since the session began. */
export const placePart = ({ cwd }: PlacePartDeps): WorkingStatePart => ({
  name: "place",
  stability: stabilityOf.place,
  snapshot: async ({ budgets }) => {
    const here = cwd();
    const branch = await gitBranch(here);
    const text = `Working directory now: ${here}${branch === undefined ? "" : `\nGit branch now: ${branch}`}`;
    const handle = "pwd and git status tell it";
    return { kind: "state", pieces: [{ title: "working directory and branch", text, handle }], budget: budgets.other };
  },
});
