import type { FrozenParts } from "../cache/baseline.ts";
import { maskEntry } from "../export/mask-secrets.ts";
import { formatFindings, redactSecrets } from "../memory/redact-secrets.ts";
import type { SecretScanner, SecretScannerDep } from "../ports/secret-scanner.ts";
import type { ToolOutcome } from "../ports/tool.ts";
import { isObject, type JsonObject, parseJson } from "../schema/json.ts";
import type { SecretFinding } from "../text/find-secrets.ts";
import { formatCount, plural } from "../text/format-count.ts";
import type { Draft } from "../transcript/draft.ts";

/** Keeps secrets out of a session: what is appended and stored holds `[secret: <kind>]` instead. */
export interface Redaction {
  draft(draft: Draft): Promise<Draft>;
  /** The result of a call, before it is appended or offloaded. */
  content(content: ToolOutcome["content"]): Promise<ToolOutcome["content"]>;
  text(text: string): Promise<string>;
}

export interface RedactionDep {
  /** Applied to everything that is appended or stored. Absent: it stays as it is. */
  readonly redaction?: Redaction | undefined;
}

export const redactDrafts = async ({ redaction }: RedactionDep, drafts: readonly Draft[]): Promise<readonly Draft[]> =>
  redaction === undefined ? drafts : Promise.all(drafts.map((draft) => redaction.draft(draft)));

interface RedactionOptions extends SecretScannerDep {
  /** Called with what was found for the first time: a file that is read again is no news. */
  readonly onRedacted: (findings: readonly FoundKind[]) => void;
}

type FoundKind = Pick<SecretFinding, "kind">;

interface FoundSecret extends FoundKind {
  readonly secret: string;
}

export function createRedaction({ secrets, onRedacted }: RedactionOptions): Redaction {
  // Only in memory, and only to tell what is new.
  const known = new Set<string>();
  const report = (found: readonly FoundSecret[]): void => {
    const fresh = new Map(found.filter(({ secret }) => !known.has(secret)).map(({ secret, kind }) => [secret, kind]));
    for (const secret of fresh.keys()) known.add(secret);
    if (fresh.size > 0) onRedacted([...fresh.values()].map((kind) => ({ kind })));
  };
  const redactObject = async (object: JsonObject): Promise<JsonObject> => {
    const { redacted, found } = await redactEntry(object, secrets);
    report(found);
    return redacted;
  };
  const redactText = async (text: string): Promise<string> => {
    const { text: redacted, findings } = await redactSecrets(text, secrets);
    report(findings.map(withSecret(text)));
    return redacted;
  };
  return {
    draft: async (draft) => {
      const raw = parseJson(JSON.stringify(draft));
      if (!isObject(raw)) return draft;
      const redacted = await redactObject(raw);
      return redacted === raw ? draft : { ...redacted, type: draft.type, ...parentField(draft) };
    },
    content: async (content) =>
      typeof content === "string" ? redactText(content) : Promise.all(content.map(redactObject)),
    text: redactText,
  };
}

const withSecret =
  (text: string) =>
  ({ kind, start, end }: SecretFinding): FoundSecret => ({ kind, secret: text.slice(start, end) });

/** For the user, after a turn or an event. */
export const redactedMessage = (found: readonly FoundKind[]): string =>
  `${formatCount(found.length)} ${plural(found.length, "secret")} left out of the session (${formatFindings(found)}). ` +
  "The model and the session see [secret: …] instead.";

/** The system prompt is stored too, and sent with every request. */
export async function redactSystem(
  system: FrozenParts["system"],
  { redaction }: RedactionDep,
): Promise<FrozenParts["system"]> {
  if (redaction === undefined) return system;
  return Promise.all(system.map(async ({ name, text }) => ({ name, text: await redaction.text(text) })));
}

/** Ids of entries are branded, and JSON is not. */
const parentField = ({ parentUuid }: Draft): Pick<Draft, "parentUuid"> =>
  parentUuid === undefined ? {} : { parentUuid };

/** The texts are collected first and scanned, which may take time, then replaced. Blocks with a signature stay whole. */
async function redactEntry(
  raw: JsonObject,
  scanner: SecretScanner,
): Promise<{ readonly redacted: JsonObject; readonly found: readonly FoundSecret[] }> {
  // A summary that the provider made goes back to it as it is.
  const { serverSummary, ...open } = raw;
  const texts = new Set<string>();
  const collect = (text: string): string => {
    texts.add(text);
    return text;
  };
  maskEntry(open, collect, { signed: "kept" });
  const found: FoundSecret[] = [];
  const redactedByText = new Map<string, string>();
  for (const text of texts) {
    const { text: redacted, findings } = await redactSecrets(text, scanner);
    if (findings.length === 0) continue;
    redactedByText.set(text, redacted);
    found.push(...findings.map(withSecret(text)));
  }
  const redacted = maskEntry(open, (text) => redactedByText.get(text) ?? text, {
    signed: "kept",
    onNamed: (kind, secret) => found.push({ kind, secret }),
  });
  if (found.length === 0) return { redacted: raw, found };
  return { redacted: serverSummary === undefined ? redacted : { ...redacted, serverSummary }, found };
}
