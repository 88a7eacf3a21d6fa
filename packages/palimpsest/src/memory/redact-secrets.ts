import type { SecretScanner } from "../ports/secret-scanner.ts";
import type { NotesFile, NotesFileOutcome } from "../ports/session-files.ts";
import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import { findSecrets, maskFindings, type SecretFinding } from "../text/find-secrets.ts";

/** The engine's own rules; they need no dependency and no time to load. */
export const ruleScanner: SecretScanner = { scan: (text) => Promise.resolve(findSecrets(text)) };

interface RedactedText {
  /** Each secret is `[secret: <kind>]`. The same text if there is none. */
  readonly text: string;
  readonly findings: readonly SecretFinding[];
}

export async function redactSecrets(text: string, scanner: SecretScanner): Promise<RedactedText> {
  const findings = await scanner.scan(text);
  return { text: maskFindings(text, findings), findings };
}

/** Redacts every text of a call's input; `kept` are texts that stay as they are, such as the path of a file. */
export async function redactInput(
  input: JsonObject,
  { scanner, kept }: { readonly scanner: SecretScanner; readonly kept: ReadonlySet<string> },
): Promise<JsonObject> {
  const redactValue = async (value: Json): Promise<Json> => {
    if (typeof value === "string") return kept.has(value) ? value : (await redactSecrets(value, scanner)).text;
    if (isArray(value)) return Promise.all(value.map(redactValue));
    return isObject(value) ? redactFields(value) : value;
  };
  const redactFields = async (object: JsonObject): Promise<JsonObject> =>
    Object.fromEntries(
      await Promise.all(Object.entries(object).map(async ([key, value]) => [key, await redactValue(value)] as const)),
    );
  return redactFields(input);
}

/** A file that holds no secret once it was opened or written here, whoever wrote it before. */
export function redactFile(file: NotesFile, scanner: SecretScanner): NotesFile {
  const write = async (text: string): Promise<NotesFileOutcome> =>
    file.write((await redactSecrets(text, scanner)).text);
  return {
    path: file.path,
    open: async (text) => {
      const opened = await file.open((await redactSecrets(text, scanner)).text);
      if (opened.kind === "failed") return opened;
      const { findings } = await redactSecrets(opened.text, scanner);
      return findings.length === 0 ? opened : await write(opened.text);
    },
    write,
  };
}

/** For the user: "2 × github-token, password". Names kinds only, never a secret. */
export function formatFindings(findings: readonly Pick<SecretFinding, "kind">[]): string {
  const countByKind = new Map<string, number>();
  for (const { kind } of findings) countByKind.set(kind, (countByKind.get(kind) ?? 0) + 1);
  return [...countByKind].map(([kind, count]) => (count === 1 ? kind : `${count} × ${kind}`)).join(", ");
}
