import { group } from "../command.ts";
import { fsckCommand } from "./sessions/fsck.ts";
import { listCommand } from "./sessions/list.ts";
import { showCommand } from "./sessions/show.ts";

export const sessionsCommand = group({
  name: "sessions",
  summary: "list, show and check sessions",
  commands: [listCommand, showCommand, fsckCommand],
});
