import { group } from "../command.ts";
import { exportCommand } from "./sessions/export.ts";
import { fsckCommand } from "./sessions/fsck.ts";
import { importCommand } from "./sessions/import.ts";
import { gcCommand } from "./sessions/gc.ts";
import { listCommand } from "./sessions/list.ts";
import { showCommand } from "./sessions/show.ts";

export const sessionsCommand = group({
  name: "sessions",
  summary: "list, show, check, import and export sessions, collect garbage",
  commands: [listCommand, showCommand, fsckCommand, importCommand, exportCommand, gcCommand],
});
