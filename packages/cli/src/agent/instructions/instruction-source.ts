import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type FetchOutcome,
  type InstructionFiles,
  instructionFiles,
} from "palimpsest/internal/memory/instruction-files";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { makeFolder, replaceFile } from "palimpsest/internal/store/files/disk";
import { z } from "zod";
import { getWithin, type Net } from "../../tool/web/get-page.ts";
import { decodeText } from "../../tool/file/text-file.ts";
import { webUrlCharsMax } from "../../tool/web/limits.ts";
import { addressBytesMax, addressFreshMs, addressRedirectsMax, addressTimeoutMs, addressUsableMs } from "../limits.ts";
import { localDay } from "../system-prompt/render-system-prompt.ts";

interface InstructionSourceInput extends ClockDep {
  /** Absent: of addresses only copies of earlier times count. */
  readonly net?: Net | undefined;
  /** Copies are kept below it. */
  readonly home: string;
  /** How long a session waits for an address. Absent: `addressTimeoutMs`. */
  readonly timeoutMs?: number;
}

/** The disk, and the addresses that the settings name. */
export const instructionSource = (input: InstructionSourceInput): Required<InstructionFiles> => ({
  ...instructionFiles,
  fetch: (url) => fetchInstruction(input, url),
});

const copyShape = z.object({
  url: z.string(),
  text: z.string(),
  /** When the address first had this text, as an ISO time. */
  fetched: z.iso.datetime(),
  /** When the address last had it, as an ISO time. */
  checked: z.iso.datetime(),
  etag: z.string().optional(),
  lastModified: z.string().optional(),
});
type Copy = z.infer<typeof copyShape>;

/**
 * Gets an address, or its copy of an earlier time if it can't be reached. A copy of the last day is used at once and
 * refreshed in the background. Its day is the one since which the text is the same, so that the prompt stays the same too.
 * Must not reject.
 */
async function fetchInstruction(input: InstructionSourceInput, url: string): Promise<FetchOutcome> {
  const path = join(input.home, "instruction-copies", `${hash("sha256", url)}.json`);
  const copy = await readCopy(path, url);
  const at = input.now();
  const age = copy === undefined ? Number.NaN : at - Date.parse(copy.checked);
  if (copy === undefined || !(age >= 0 && age < addressUsableMs))
    return await refreshCopy(input, { url, path, copy, at });
  if (age >= addressFreshMs && input.net !== undefined) void refreshCopy(input, { url, path, copy, at });
  return toText(copy);
}

interface RefreshInput {
  readonly url: string;
  /** Of the copy. */
  readonly path: string;
  readonly copy: Copy | undefined;
  readonly at: number;
}

/** Must not reject. */
async function refreshCopy(
  { net, timeoutMs = addressTimeoutMs }: InstructionSourceInput,
  { url, path, copy, at }: RefreshInput,
): Promise<FetchOutcome> {
  const got =
    net === undefined ? failure("the network is not used here") : await getAddress(net, { url, copy, timeoutMs });
  if (got.kind === "failed")
    return copy === undefined ? got : { ...toText(copy), notice: `${url}: ${got.why}; ${copyText(copy, at)} is used` };
  const checked = new Date(at).toISOString();
  const isSame = copy !== undefined && (got.kind === "unchanged" || got.text === copy.text);
  const current: Copy | undefined = isSame
    ? { ...copy, ...(got.kind === "unchanged" ? {} : got.version), checked }
    : got.kind === "unchanged"
      ? undefined
      : { url, text: got.text, fetched: checked, checked, ...got.version };
  if (current === undefined) return failure("the host sent nothing");
  await writeCopy(path, current);
  return toText(current);
}

const failure = (why: string) => ({ kind: "failed", why }) as const;

const toText = ({ text, fetched }: Copy) => ({ kind: "text", text, fetchedOn: localDay(Date.parse(fetched)) }) as const;

function copyText({ checked }: Copy, now: number): string {
  const hours = Math.max(0, Math.floor((now - Date.parse(checked)) / 3_600_000));
  const age = hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
  return `the copy of ${localDay(Date.parse(checked))}, ${age} old,`;
}

type AddressOutcome =
  | { readonly kind: "text"; readonly text: string; readonly version: Pick<Copy, "etag" | "lastModified"> }
  | { readonly kind: "unchanged" }
  | { readonly kind: "failed"; readonly why: string };

async function getAddress(
  net: Net,
  { url, copy, timeoutMs }: { readonly url: string; readonly copy: Copy | undefined; readonly timeoutMs: number },
): Promise<AddressOutcome> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || parsed.protocol !== "https:" || url.length > webUrlCharsMax)
    return failure("it is no https address");
  if (parsed.username !== "" || parsed.password !== "") return failure("an address must not hold a password");
  const outcome = await getWithin(net, {
    url: parsed,
    signal: new AbortController().signal,
    limits: { ...addressLimits, timeoutMs },
    known: copy,
  });
  switch (outcome.kind) {
    case "body": {
      const decoded = decodeText(outcome.bytes);
      if (decoded === undefined) return failure("it is not UTF-8 text");
      if (/^text\/html/i.test(outcome.contentType)) return failure("it is a web page, not a text");
      return { kind: "text", text: decoded.text, version: outcome.version };
    }
    case "moved":
      return failure(`it redirects to ${outcome.to}, which is no https address`);
    case "unchanged":
    case "failed":
      return outcome;
  }
}

const addressLimits = {
  bytesMax: addressBytesMax,
  redirectsMax: addressRedirectsMax,
  mayFollow: (_from: URL, to: URL): boolean => to.protocol === "https:" && to.username === "" && to.password === "",
};

/** Undefined if there is none, or it is not for this address. */
async function readCopy(path: string, url: string): Promise<Copy | undefined> {
  try {
    const copy = copyShape.parse(JSON.parse(await readFile(path, "utf8")));
    return copy.url === url ? copy : undefined;
  } catch {
    return undefined;
  }
}

/** Must not reject: without a copy the address is asked again. */
async function writeCopy(path: string, copy: Copy): Promise<void> {
  try {
    await makeFolder(dirname(path));
    await replaceFile({ path, data: Buffer.from(`${JSON.stringify(copy)}\n`), sync: "unsynced" });
  } catch {
    // The text counts all the same.
  }
}
