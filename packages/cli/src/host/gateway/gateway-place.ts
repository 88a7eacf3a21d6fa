import { randomBytes, randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { ReleaseOutcome } from "@palimpsest/gateway/internal/operate/gateway-state";
import { gatewayProof } from "@palimpsest/gateway/internal/operate/gateway-proof";
import { isSameSecret } from "@palimpsest/gateway/internal/operate/users";
import { makeFolder, readSmallFile, replaceFile } from "palimpsest/internal/store/files/disk";
import { homeFolder } from "palimpsest/internal/store/files/project";
import { fileLeases } from "palimpsest/internal/store/files/file-leases";
import { millis } from "palimpsest/internal/schema/brand";
import { lookAtProcess } from "palimpsest/internal/store/files/look-at-process";
import { createSocketSecret, readSocketSecret } from "palimpsest/internal/store/files/socket-secret";
import { type Json, tryParseJson } from "palimpsest/internal/schema/json";
import { z } from "zod";

/** `<home>/gateway`: what a running gateway keeps there, readable for its owner alone. */
export const gatewayFolder = (home: string): string => join(home, "gateway");

const recordPath = (home: string): string => join(gatewayFolder(home), "running.json");

const recordForm = z.object({
  pid: z.int().positive(),
  /** Tells the process from a later one with the same id; absent if the system does not say. */
  started: z.string().optional(),
  url: z.url(),
});
type GatewayRecord = z.infer<typeof recordForm>;

export type SecretOutcome =
  | { readonly kind: "secret"; readonly secret: string }
  | { readonly kind: "unsafe"; readonly message: string };

/** Stays the same across starts, so that bookmarks and metrics scrapers are set up once. */
export async function openSecret(home: string): Promise<SecretOutcome> {
  const folder = gatewayFolder(home);
  await makeFolder(folder);
  let read = await readSocketSecret(folder);
  if (read.kind === "missing") {
    await createSocketSecret(folder);
    read = await readSocketSecret(folder);
  }
  return read.kind === "secret" ? read : { kind: "unsafe", message: read.message };
}

export interface FoundGateway {
  readonly kind: "running";
  readonly url: string;
  readonly pid: number;
  /** As in its record. */
  readonly started?: string | undefined;
  readonly secret: string;
}

export type FindOutcome =
  | FoundGateway
  /** `busy`: its process runs, but does not answer. `message`: one line, without a full stop. */
  | { readonly kind: "absent" | "busy" | "unsafe"; readonly message: string };

/** Finds the gateway of this home. It must prove that it knows the secret before a client sends it a key. */
export async function findGateway(home: string): Promise<FindOutcome> {
  const record = await readRecord(home);
  if (record === undefined) return { kind: "absent", message: "no gateway is running" };
  const secret = await readSocketSecret(gatewayFolder(home));
  if (secret.kind !== "secret") return { kind: "unsafe", message: secret.message.replace(/\.$/, "") };
  const nonce = randomBytes(32).toString("hex");
  const proof = await askProof(record.url, nonce);
  if (proof === undefined)
    return { kind: "busy", message: `the gateway at ${record.url} (process ${record.pid}) is not responding` };
  return isSameSecret(proof, gatewayProof(secret.secret, nonce))
    ? { ...record, kind: "running", secret: secret.secret }
    : { kind: "unsafe", message: `what answers at ${record.url} is not the gateway of this home` };
}

export interface GatewayHold {
  /** The address is known once the gateway listens. */
  announce(url: string): Promise<void>;
  release(): Promise<void>;
}

export type HoldOutcome =
  | ({ readonly kind: "held" } & GatewayHold)
  /** `message`: one line, without a full stop. */
  | { readonly kind: "taken"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

/** Allows one gateway per home, because only one process may write spend.json. A lock whose process has ended is ignored. */
export async function holdPlace(home: string): Promise<HoldOutcome> {
  const deps = { now: () => millis(Date.now()), uuid: randomUUID };
  const acquired = await fileLeases({ deps, folder: gatewayFolder(home) }).acquire("gateway");
  if (acquired.kind === "failed") return { kind: "failed", message: acquired.message.replace(/\.$/, "") };
  if (acquired.kind === "busy") {
    const other = await readRecord(home);
    const place = other === undefined ? `held by ${acquired.holder}` : `at ${other.url} (process ${other.pid})`;
    return { kind: "taken", message: `a gateway is already running, ${place}` };
  }
  const { pid } = process;
  const state = await lookAtProcess(pid);
  const started = state.kind === "alive" ? state.started : undefined;
  const announce = (url: string): Promise<void> => {
    const record = { pid, ...(started === undefined ? {} : { started }), url } satisfies GatewayRecord;
    const data = Buffer.from(`${JSON.stringify(record)}\n`);
    return replaceFile({ path: recordPath(home), data, sync: "unsynced" });
  };
  // A placeholder address until the gateway listens, so that other commands wait instead of starting a second one.
  await announce("http://127.0.0.1:0");
  return {
    kind: "held",
    announce,
    release: async () => {
      await rm(recordPath(home), { force: true });
      await acquired.lease.release();
    },
  };
}

/** Undefined if there is none, or if its process has ended. */
async function readRecord(home: string): Promise<GatewayRecord | undefined> {
  const text = await readSmallFile(recordPath(home), recordBytesMax);
  const record = text === undefined ? undefined : recordForm.safeParse(tryParseJson(text)).data;
  if (record === undefined) return undefined;
  return (await isAlive(record)) ? record : undefined;
}

/** Whether the same process still runs, and not a later one with its id. */
export async function isAlive({ pid, started }: Pick<GatewayRecord, "pid" | "started">): Promise<boolean> {
  const state = await lookAtProcess(pid);
  return state.kind === "alive" && (started === undefined || state.started === undefined || state.started === started);
}

async function askProof(url: string, nonce: string): Promise<string | undefined> {
  const answer = await askGateway({ url, path: `/palimpsest/health?nonce=${nonce}` });
  return proofForm.safeParse(answer?.value).data?.proof;
}

const proofForm = z.object({ proof: z.string() });

export interface GatewayAnswer {
  readonly status: number;
  readonly value: Json | undefined;
}

/**
 * Asks a gateway of this machine for one of its own pages; undefined if there is no answer. Its certificate is not checked,
 * since it may be for another name: `findGateway` makes it prove who it is.
 */
export async function askGateway({
  url,
  path,
  secret,
  method = "GET",
}: {
  readonly url: string;
  readonly path: string;
  readonly method?: "GET" | "POST" | undefined;
  readonly secret?: string | undefined;
}): Promise<GatewayAnswer | undefined> {
  const { request } = url.startsWith("https:") ? await import("node:https") : await import("node:http");
  const headers = { host: "localhost", ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }) };
  return await new Promise((resolve) => {
    const leave = (): void => resolve(undefined);
    const asked = request(
      `${url}${path}`,
      { method, timeout: answerMsMax, rejectUnauthorized: false, headers, agent: false },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
          if (text.length > answerCharsMax) response.destroy();
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, value: tryParseJson(text) }));
        response.on("error", leave).on("close", leave);
      },
    )
      .on("error", leave)
      // Otherwise the open connection would keep this process running.
      .on("timeout", () => asked.destroy());
    asked.end();
  });
}

/** A gateway on this machine answers within milliseconds; one that takes longer hangs. */
const answerMsMax = 2_000;

/** A status with all its rows has some 100 KB; a longer answer is not from a gateway. */
const answerCharsMax = 4 * 1024 * 1024;

/** Asks the gateway of this home to close a conversation. `not-active` also if no gateway runs: then another program has it. */
export async function releaseSession(
  { env }: { readonly env: Readonly<Record<string, string | undefined>> },
  session: string,
): Promise<ReleaseOutcome> {
  const found = await findGateway(homeFolder(env));
  if (found.kind !== "running") return "not-active";
  const path = `/palimpsest/release?session=${encodeURIComponent(session)}`;
  const answer = await askGateway({ ...found, path, method: "POST" });
  return releaseForm.safeParse(answer?.value).data?.outcome ?? "not-active";
}

const releaseForm = z.object({ outcome: z.enum(["released", "running", "not-active"]) });

/** The record has three short fields; a larger file is not one of ours. */
const recordBytesMax = 4_096;
