/** Sends or receives once: `node mail-step.ts <folder> send|receive`. Killed at any of its changes to the disk. */
import { receiveAll, sendAll } from "../support/mail-run.ts";

const [, , folder = "", what = ""] = process.argv;
await (what === "send" ? sendAll(folder) : receiveAll(folder));
