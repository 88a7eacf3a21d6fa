import { it } from "vitest";
import { expectAllGoOn, type KillPathName, killPaths } from "../scenario/support/killed-compaction.ts";

it.each(Object.keys(killPaths) as KillPathName[])(
  "a compaction by %s killed at every write: the session goes on, nothing is lost or doubled",
  (path) => expectAllGoOn(path),
);
