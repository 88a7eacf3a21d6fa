/** The thread in which a chat's project is indexed: catches up once, and ends. */
import { workerData } from "node:worker_threads";
import { z } from "zod";
import type { RecallThreadData } from "./background-recall.ts";
import { openProjectRecall } from "./project-recall.ts";
import { openWorkspace } from "./workspace.ts";

const dataShape = z.object({ env: z.record(z.string(), z.string().optional()), cwd: z.string() });
await catchUp(dataShape.parse(workerData));

async function catchUp({ env, cwd }: RecallThreadData): Promise<void> {
  const workspace = openWorkspace({ env, cwd });
  const project = await workspace.project();
  if (project.kind === "failed") return;
  const opened = await openProjectRecall({ project, home: workspace.home, env });
  if (opened.kind !== "open") return;
  await opened.index.catchUp();
  await opened.index.close();
}
