/** Loaded before the command line (`--import`): kills the process as soon as there is a file `KILL_WHEN`. */
import { existsSync } from "node:fs";

const path = process.env["KILL_WHEN"] ?? "";
setInterval(() => {
  if (existsSync(path)) process.kill(process.pid, "SIGKILL");
}, 5).unref();
