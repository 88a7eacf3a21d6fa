import { group } from "../program/command.ts";
import { deleteCommand } from "./sessions/delete-command.ts";
import { exportCommand } from "./sessions/export-command.ts";
import { fsckCommand } from "./sessions/fsck-command.ts";
import { importCommand } from "./sessions/import-command.ts";
import { gcCommand } from "./sessions/gc-command.ts";
import { listCommand } from "./sessions/list-command.ts";
import { showCommand } from "./sessions/show-command.ts";

export const sessionsCommand = group({
  name: "sessions",
  summary: "list, show, check, import, export and delete sessions, collect garbage",
  commands: [listCommand, showCommand, fsckCommand, importCommand, exportCommand, deleteCommand, gcCommand],
});
