import { group } from "../command.ts";
import { diffCommand } from "./trace/diff.ts";
import { listCommand } from "./trace/list.ts";

export const traceCommand = group({
  name: "trace",
  summary: "what went through the simulator: requests, changes, what they cost",
  commands: [listCommand, diffCommand],
});
