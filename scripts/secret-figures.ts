import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createSecretScanner } from "@palimpsest/cli/internal/host/secret-scanner";
import { isArray, isObject, type Json, tryParseJson } from "palimpsest/internal/schema/json";
import { findSecrets, type SecretSpan } from "palimpsest/internal/text/find-secrets";

/**
 * How often the rules for secrets fire on text that holds none: the tracked files of this repository, and with
 * PALIMPSEST_CORPUS the recorded sessions. `npm run example -- scripts/secret-figures.ts` prints the figures of
 * docs/secrets.md, `--show` also where they fired.
 */
interface NamedText {
  readonly name: string;
  readonly text: string;
}

const root = resolve(import.meta.dirname, "..");

function repositoryTexts(): readonly NamedText[] {
  const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trimEnd().split("\n");
  return files
    .filter((file) => !/\.(?:png|gif|ico)$/.test(file))
    .map((name) => ({ name, text: readFileSync(join(root, name), "utf8") }));
}

/** Each text of the sessions once a file: messages, inputs and results, without what is signed or encoded. */
function corpusTexts(corpus: string): readonly NamedText[] {
  const files = globSync("{claude-code,codex,copilot,gemini,opencode,openhands,pi,swe-agent}/*", { cwd: corpus });
  return files.toSorted().flatMap((name) => {
    const texts = new Set<string>();
    const source = readFileSync(join(corpus, name), "utf8");
    for (const line of name.endsWith(".jsonl") ? source.split("\n") : [source]) collect(tryParseJson(line), texts);
    return [...texts].map((text) => ({ name, text }));
  });
}

const encodedFields = new Set(["signature", "thinkingSignature", "encrypted_content", "encrypted", "data", "base64"]);

function collect(value: Json | undefined, into: Set<string>): void {
  if (typeof value === "string") into.add(value);
  else if (isArray(value)) for (const part of value) collect(part, into);
  else if (isObject(value))
    for (const [key, part] of Object.entries(value)) if (!encodedFields.has(key)) collect(part, into);
}

type Scan = (text: string) => Promise<readonly SecretSpan[]> | readonly SecretSpan[];

async function measure(texts: readonly NamedText[], scan: Scan): Promise<string> {
  const started = performance.now();
  const countByKind = new Map<string, number>();
  const places: string[] = [];
  for (const { name, text } of texts)
    for (const { kind, start, end } of await scan(text)) {
      countByKind.set(kind, (countByKind.get(kind) ?? 0) + 1);
      places.push(`    ${name}: ${kind} ${JSON.stringify(text.slice(Math.max(0, start - 40), end + 10))}`);
    }
  const chars = texts.reduce((sum, { text }) => sum + text.length, 0);
  const kinds = [...countByKind].map(([kind, count]) => `${count} ${kind}`).join(", ") || "none";
  const figures = `${texts.length} texts, ${(chars / 1e6).toFixed(1)} million characters, ${Math.round(performance.now() - started)} ms: ${kinds}`;
  return process.argv.includes("--show") ? [figures, ...places].join("\n") : figures;
}

const corpus = process.env["PALIMPSEST_CORPUS"];
const isTest = ({ name }: NamedText): boolean => /\.test\.ts$|^test\/|^bench\/|^examples\//.test(name);
const repository = repositoryTexts();
const groups: readonly (readonly [string, readonly NamedText[]])[] = [
  ["sources, docs, lock file", repository.filter((text) => !isTest(text))],
  ["tests and fixtures", repository.filter(isTest)],
  ...(corpus === undefined ? [] : [["recorded sessions", corpusTexts(corpus)] as const]),
];
const scanner = createSecretScanner();
for (const [name, texts] of groups) {
  console.log(`${name}\n  our rules        ${await measure(texts, findSecrets)}`);
  console.log(`  with secretlint  ${await measure(texts, (text) => scanner.scan(text))}`);
}
