import type { GatewayStatus } from "@palimpsest/gateway/internal/operate/status";
import { homeFolder } from "palimpsest/internal/store/files/project";
import { z } from "zod";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode, failure } from "../program/failure.ts";
import { askGateway } from "./ask-gateway.ts";
import { findGateway } from "./gateway-place.ts";

/** What the running gateway says of itself. */
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
    return failure({ code: exitCode.machine, message: `the gateway at ${found.url} gave no status` });
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
  savedUsd: z.number(),
  edits: z.number(),
  lastAt: z.number(),
});

/** A gateway of another version may say more. */
const statusForm = z.looseObject({
  version: z.string(),
  startedAt: z.number(),
  now: z.number(),
  running: z.number(),
  requests: z.number(),
  ownErrors: z.number(),
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
  spendToday: z.array(z.object({ user: z.string(), usd: z.number() })),
  totals: z.object({
    conversations: z.number(),
    inputTokensSent: z.number(),
    inputTokensUsed: z.number(),
    savedUsd: z.number(),
    edits: z.number(),
  }),
  conversations: z.array(rowForm),
}) satisfies z.ZodType<GatewayStatus>;

function renderStatus(status: GatewayStatus, { url, page }: { readonly url: string; readonly page: string }): string {
  const { totals } = status;
  const less = totals.inputTokensSent === 0 ? 0 : 1 - totals.inputTokensUsed / totals.inputTokensSent;
  const lines = [
    `${url}  ${status.requests} requests, ${status.running} running, ${status.ownErrors} errors of its own, ${status.failedOpen} passed unchanged after a failure`,
    `${totals.conversations} conversations: ${Math.round(100 * less)} % fewer input tokens, about ${dollars(totals.savedUsd)} saved, ${totals.edits} edits`,
    ...status.upstream.map(
      ({ api, address, health, lastStatus, lastFailure }) =>
        `${api}: ${health}${describeLast(lastFailure ?? lastStatus)}  ${address}`,
    ),
    ...status.spendToday.filter(({ usd }) => usd > 0).map(({ user, usd }) => `${user}: ${dollars(usd)} today`),
    ...status.conversations
      .slice(0, rowsShown)
      .map(
        ({ id, client = "client", project = "", requests, savedUsd }) =>
          `  ${id}  ${client}  ${requests} requests, about ${dollars(savedUsd)} saved  ${project}`,
      ),
    `Page: ${page}`,
  ];
  return `${lines.join("\n")}\n`;
}

const describeLast = (last: string | number | undefined): string => (last === undefined ? "" : ` (${last})`);
const dollars = (usd: number): string => `${usd <= -0.005 ? "-" : ""}$${Math.abs(usd).toFixed(2)}`;
const rowsShown = 20;
