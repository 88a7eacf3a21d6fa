import {
  describeHealth,
  formatDollars,
  formatShare,
  type GatewayStatus,
} from "@palimpsest/gateway/internal/operate/status";
import { homeFolder } from "palimpsest/internal/store/files/project";
import { z } from "zod";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode, failure } from "../program/failure.ts";
import { rowsShown } from "./limits.ts";
import { formatNumber, quantity, shortId } from "../text/format.ts";
import { type Column, table } from "../text/table.ts";
import { askGateway, findGateway } from "../host/gateway/gateway-place.ts";

/** Prints the status of the running gateway. */
export async function showStatus({ env, out }: CommandContext, format: "text" | "json"): Promise<Outcome> {
  const found = await findGateway(homeFolder(env));
  if (found.kind !== "running")
    return failure({
      code: found.kind === "absent" ? exitCode.notFound : exitCode.refused,
      message: found.message,
      hint: "Start one with `palimpsest gateway`, or a client through it with `palimpsest run claude`.",
    });
  const answer = await askGateway({ ...found, path: "/palimpsest/status.json" });
  const parsed = answer?.status === 200 ? statusForm.safeParse(answer.value) : undefined;
  if (parsed?.success !== true)
    return failure({ code: exitCode.machine, message: `the gateway at ${found.url} returned no status` });
  const page = `${found.url}/palimpsest/status#${found.secret}`;
  if (format === "json") await out.json({ url: found.url, pid: found.pid, page, ...parsed.data });
  else await out.write(renderStatus(parsed.data, { url: found.url, page }));
  return exitCode.fine;
}

const rowForm = z.object({
  id: z.string(),
  user: z.string(),
  client: z.string().optional(),
  project: z.string().optional(),
  model: z.string(),
  requests: z.number(),
  inputTokensSent: z.number(),
  inputTokensUsed: z.number(),
  savedUsd: z.number().nullable(),
  edits: z.number(),
  windowShareMax: z.number(),
  lastAt: z.number(),
  since: z.number(),
});

/** Loose: a gateway of another version may send more fields. */
const statusForm = z.looseObject({
  version: z.string(),
  startedAt: z.number(),
  now: z.number(),
  running: z.number(),
  requests: z.number(),
  gatewayErrors: z.number(),
  // Absent in the status of an older gateway.
  refused: z.number().default(0),
  unanswered: z.number().default(0),
  failedOpen: z.number(),
  upstream: z.array(
    z.object({
      api: z.string(),
      address: z.string(),
      health: z.enum(["healthy", "failing", "unknown"]),
      lastStatus: z.number().optional(),
      lastFailure: z.string().optional(),
      lastAt: z.number().optional(),
    }),
  ),
  spendToday: z.array(z.object({ user: z.string(), usd: z.number().nullable(), unpriced: z.number() })),
  totals: z.object({
    conversations: z.number(),
    inputTokensSent: z.number(),
    inputTokensUsed: z.number(),
    savedUsd: z.number().nullable(),
    savedUnknown: z.number(),
    edits: z.number(),
    windowShareMax: z.number(),
  }),
  summary: z.string(),
  conversations: z.array(rowForm),
}) satisfies z.ZodType<GatewayStatus>;

function renderStatus(status: GatewayStatus, { url, page }: { readonly url: string; readonly page: string }): string {
  const { requests, running, refused, unanswered, gatewayErrors, failedOpen, conversations } = status;
  const problems = [
    ...(refused === 0 ? [] : [`${formatNumber(refused)} refused`]),
    ...(unanswered === 0 ? [] : [`${formatNumber(unanswered)} without a reply of the upstream`]),
    ...(gatewayErrors === 0 ? [] : [quantity(gatewayErrors, "gateway error")]),
    ...(failedOpen === 0 ? [] : [`${quantity(failedOpen, "request")} forwarded unchanged after a gateway error`]),
  ];
  const lines = [
    url,
    `since its start, ${formatSince(status)}: ${[quantity(requests, "request"), `${formatNumber(running)} running`, ...problems].join(", ")}`,
    status.summary,
    ...status.upstream.map((one) => `${one.api}: ${describeHealth(one)}  ${one.address}`),
    ...status.spendToday.filter(({ usd }) => usd !== 0).map((spend) => describeSpend(spend)),
    ...(conversations.length === 0 ? [] : ["", table(columns, conversations.slice(0, rowsShown).map(toCells))]),
    `Page: ${page}`,
  ];
  return `${lines.join("\n")}\n`;
}

const describeSpend = ({ user, usd, unpriced }: GatewayStatus["spendToday"][number]): string => {
  const others = unpriced === 0 ? "" : `${quantity(unpriced, "reply")} without a known price`;
  if (usd === null) return `${user}: cost not known today (${others})`;
  return `${user}: ${formatDollars(usd)} today${others === "" ? "" : `, plus ${others}`}`;
};

/** By the gateway's clock. */
const formatSince = ({ startedAt }: GatewayStatus): string =>
  `${new Date(startedAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const columns: readonly Column[] = [
  { title: "session" },
  { title: "client" },
  { title: "requests", align: "right" },
  { title: "largest request without edits (% of window)", align: "right" },
  { title: "edits", align: "right" },
  { title: "saved", align: "right" },
  { title: "project" },
];

const toCells = (row: GatewayStatus["conversations"][number]): readonly string[] => [
  shortId(row.id),
  row.client ?? "-",
  formatNumber(row.requests),
  formatShare(row.windowShareMax),
  formatNumber(row.edits),
  formatDollars(row.savedUsd),
  row.project ?? "-",
];
