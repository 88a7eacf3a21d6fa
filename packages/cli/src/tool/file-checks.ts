import { access, constants, stat } from "node:fs/promises";
import { codeOf } from "./failure.ts";

/** Whether this process may run it. */
export const canRun = (path: string): Promise<boolean> =>
  answers(async () => {
    await access(path, constants.X_OK);
    return true;
  });

/** Through links. */
export const isFolder = (path: string): Promise<boolean> => answers(async () => (await stat(path)).isDirectory());

/** What the system refuses to tell counts as no. */
async function answers(ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return false;
  }
}
