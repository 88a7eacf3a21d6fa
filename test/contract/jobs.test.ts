import { foregroundOnlyJobs, forkJobs } from "../../packages/palimpsest/src/ports/jobs.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { findShell } from "../../packages/cli/src/tool/shell/bash-tool.ts";
import { ShellJobs } from "../../packages/cli/src/tool/shell/shell-jobs.ts";
import { jobsContract } from "./jobs.ts";

jobsContract({
  name: "commands of a shell",
  make: async () => new ShellJobs({ shell: (await findShell()).path, now: () => millis(Date.now()) }),
});
jobsContract({ name: "of a fork", refuses: "it stands where there are none", make: async () => forkJobs });
jobsContract({
  name: "where nothing outlasts the turn",
  refuses: "it stands where there are none",
  make: async () => foregroundOnlyJobs,
});
