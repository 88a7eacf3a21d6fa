import type { AgentCompacting } from "./compacting.ts";
import type { Leaves } from "./leaves.ts";
import type { JobsAndServers } from "./jobs-and-servers.ts";
import type { News, SettingsNewsBox } from "./settings-news.ts";
import type { Agent } from "./agent.ts";

interface NewsAside {
  readonly settings: SettingsNewsBox;
  readonly leaves: Leaves;
  readonly compacting: AgentCompacting;
  readonly beside: JobsAndServers;
}

/** What came up beside the turns, for the user. */
export const newsAside = ({ settings, leaves, compacting: { notes }, beside }: NewsAside): readonly News[] => [
  { code: "settings", take: () => settings.take(leaves.given()) },
  { code: "notes-wishes", take: () => notes?.takeWarnings() ?? [] },
  { code: "mcp-server", take: beside.takeWarnings },
];

/** What runs beside the turns, for showing it and for ending it. */
type BesideTurns = Pick<
  Agent,
  "sandbox" | "jobs" | "jobControl" | "handOverJobs" | "serversSettled" | "aside" | "stopAside"
>;

export const besideTurns = (
  { jobs, handOver, sandbox, serversSettled }: JobsAndServers,
  { notes, preparation }: AgentCompacting,
): BesideTurns => ({
  serversSettled,
  sandbox,
  jobs: () => jobs?.list() ?? [],
  jobControl: jobs,
  handOverJobs: handOver,
  aside: () => ({
    notes: notes?.state === "running" ? "running" : "idle",
    preparation: preparation?.state ?? "none",
  }),
  stopAside: async () => void (await Promise.all([notes?.stop(), preparation?.cancel()])),
});
